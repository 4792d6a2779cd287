// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/binding/timeline.h"

#include <vector>

#include "framework/runtime/trace.h"
#include "op_host/messages.h"

namespace ascend_deepep::simulator {
namespace {

namespace py = pybind11;
using sim::Timeline;

constexpr const char* kLists[] = {"calls", "stages", "waits", "pauses", "idles", "doorbells", "wqes", "puts", "reads"};

class RankLists {
  public:
    RankLists(const Timeline& timeline, const CommunicatorLimits& limits, uint32_t queues_per_peer)
        : timeline_(timeline),
          layout_(window_layout(limits)),
          queues_per_peer_(queues_per_peer),
          begins_(timeline.num_ranks()),
          ranks_(timeline.num_ranks()) {
        for (py::dict& rank : ranks_) {
            for (const char* name : kLists)
                rank[name] = py::list();
            rank["dropped"] = 0;
        }
    }

    py::list take() {
        add_calls();
        add_cores();
        add_engine();
        py::list all;
        for (const py::dict& rank : ranks_)
            all.append(rank);
        return all;
    }

  private:
    py::list list(uint32_t rank, const char* name) { return ranks_[rank][name]; }

    // The last call of the rank that had begun by then.
    uint32_t call_at(uint32_t rank, uint64_t ns) const {
        uint32_t call = 0;
        for (uint32_t i = 0; i < begins_[rank].size() && begins_[rank][i] <= ns; ++i)
            call = i;
        return call;
    }
    static const char* stage(uint32_t number) { return op_host::stage_name(static_cast<Stage>(number)); }

    void add_calls() {
        for (const Timeline::Call& call : timeline_.calls()) {
            begins_[call.rank].push_back(call.from);
            list(call.rank, "calls")
                .append(py::make_tuple(call.name, call.from, call.to, timeline_.num_cores(), py::list()));
        }
    }

    void add_cores() {
        for (const Timeline::Stage& s : timeline_.stages())
            list(s.rank, "stages")
                .append(py::make_tuple(s.core, call_at(s.rank, s.from), stage(s.stage), s.from, s.to));
        for (const Timeline::Wait& w : timeline_.waits()) {
            list(w.rank, "waits")
                .append(py::make_tuple(w.core, call_at(w.rank, w.from), stage(w.waiting.stage), w.waiting.peer, w.from,
                                       w.to));
        }
        for (const Timeline::Read& r : timeline_.data_reads())
            list(r.rank, "reads").append(py::make_tuple(r.core, call_at(r.rank, r.at), r.offset, r.bytes, r.at));
        // The producer index of a doorbell: behind the last entry that it announced.
        std::vector<uint32_t> producers(timeline_.doorbells().size(), 0);
        for (const Timeline::Wqe& wqe : timeline_.wqes()) {
            if (wqe.doorbell != Timeline::kNone) producers[wqe.doorbell] = wqe.index + 1;
        }
        for (size_t i = 0; i < producers.size(); ++i) {
            const Timeline::Doorbell& d = timeline_.doorbells()[i];
            list(d.rank, "doorbells")
                .append(py::make_tuple(d.core, call_at(d.rank, d.at), d.queue / queues_per_peer_, d.queue, producers[i],
                                       d.at));
        }
    }

    void add_engine() {
        std::vector<const Timeline::Write*> of_wqe(timeline_.wqes().size(), nullptr);
        for (const Timeline::Write& w : timeline_.writes()) {
            if (w.wqe != Timeline::kNone) {
                of_wqe[w.wqe] = &w;
                continue;
            }
            list(w.from, "puts")
                .append(py::make_tuple(w.core, call_at(w.from, w.left), w.to, w.offset, w.bytes, w.left, w.landed,
                                       region_name(layout_, w.offset)));
        }
        for (size_t i = 0; i < of_wqe.size(); ++i) {
            const Timeline::Wqe& e = timeline_.wqes()[i];
            const Timeline::Write none{0, 0, 0, 0, 0, e.executed, e.executed, 0, 0};
            const Timeline::Write& w = of_wqe[i] == nullptr ? none : *of_wqe[i];
            list(e.rank, "wqes")
                .append(py::make_tuple(py::none(), call_at(e.rank, e.fetched), e.peer, e.queue, e.index, e.fetched,
                                       e.executed, e.completed, w.left, w.landed, w.offset, w.bytes,
                                       region_name(layout_, w.offset)));
        }
    }

    const Timeline& timeline_;
    WindowLayout layout_;
    uint32_t queues_per_peer_;
    std::vector<std::vector<uint64_t>> begins_;
    std::vector<py::dict> ranks_;
};

}  // namespace

py::list timeline_list(const Timeline& timeline, const CommunicatorLimits& limits, uint32_t queues_per_peer) {
    return RankLists(timeline, limits, queues_per_peer).take();
}

}  // namespace ascend_deepep::simulator
