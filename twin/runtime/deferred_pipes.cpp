// SPDX-License-Identifier: Apache-2.0
// FIFOs of the sim policy's pipes.
// Layer: twin/runtime.
#include "twin/runtime/deferred_pipes.h"

#include <utility>

namespace ascend_deepep::twin {

void DeferredPipes::push(Pipe pipe, std::function<void()> work) {
    Fifo& fifo = fifos_[index(pipe)];
    fifo.entries.push_back({Pipe::kS, 0, std::move(work)});
    ++fifo.issued;
    ++pending_;
}

void DeferredPipes::push_wait(Pipe pipe, Pipe source, uint64_t position) {
    if (source == Pipe::kS || source == pipe || fifos_[index(source)].done >= position) {
        return;
    }
    Fifo& fifo = fifos_[index(pipe)];
    fifo.entries.push_back({source, position, nullptr});
    ++fifo.issued;
    ++pending_;
}

void DeferredPipes::drain(Pipe pipe, uint64_t position) {
    Fifo& fifo = fifos_[index(pipe)];
    while (fifo.done < position) {
        Entry entry = std::move(fifo.entries.front());
        fifo.entries.pop_front();
        --pending_;
        if (entry.work) {
            entry.work();
        } else {
            drain(entry.source, entry.position);
        }
        ++fifo.done;
    }
}

void DeferredPipes::drain_all() {
    for (Pipe pipe : {Pipe::kMte3, Pipe::kV, Pipe::kMte2}) {
        drain(pipe, fifos_[index(pipe)].issued);
    }
}

bool DeferredPipes::advance(Pipe pipe) {
    Fifo& fifo = fifos_[index(pipe)];
    if (fifo.entries.empty()) return false;
    const Entry& front = fifo.entries.front();
    if (!front.work && fifos_[index(front.source)].done < front.position) return false;
    drain(pipe, fifo.done + 1);
    return true;
}

bool DeferredPipes::advance() {
    bool ran = false;
    for (Pipe pipe : {Pipe::kMte3, Pipe::kV, Pipe::kMte2}) {
        ran = advance(pipe) || ran;
    }
    return ran;
}

void DeferredPipes::clear() {
    for (Fifo& fifo : fifos_) {
        fifo.entries.clear();
        fifo.issued = 0;
        fifo.done = 0;
    }
    pending_ = 0;
}

}  // namespace ascend_deepep::twin
