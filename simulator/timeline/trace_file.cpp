// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/timeline/trace_file.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "op_host/messages.h"
#include "simulator/timeline/places.h"
#include "simulator/timeline/trace_text.h"

namespace ascend_deepep::simulator {
namespace {

using sim::Timeline;

constexpr uint32_t kHostThread = 1;
constexpr uint32_t kFirstCore = 2;
constexpr uint32_t kQueueThreads = 1000;  // 100 a queue
constexpr uint32_t kLinkThreads = 200000;
constexpr uint32_t kMostLanes = 100;

const char* stage_text(uint32_t stage) {
    return op_host::stage_name(static_cast<Stage>(stage));
}

// Threads for spans that overlap: the first one that is free.
class Lanes {
  public:
    uint32_t take(uint32_t rank, uint32_t first, uint64_t from, uint64_t to) {
        std::vector<uint64_t>& free_at = free_at_[{rank, first}];
        uint32_t lane = 0;
        while (lane < free_at.size() && free_at[lane] > from && lane + 1 < kMostLanes)
            ++lane;
        if (lane == free_at.size()) free_at.push_back(0);
        free_at[lane] = std::max(free_at[lane], to);
        return first + lane;
    }

  private:
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> free_at_;  // by rank and first thread
};

std::string of_communicator(uint32_t number) {
    return number == 0 ? "" : " of communicator " + std::to_string(number);
}

class TraceFile {
  public:
    TraceFile(const Timeline& timeline, const sim::World& world) : timeline_(timeline), world_(world) {}

    std::string text() {
        add_hosts();
        add_cores();
        add_wqes();
        add_writes();
        add_wake_ups();
        for (const Timeline::Fault& fault : timeline_.faults()) {
            out_.instant({fault.rank, kHostThread}, std::string(sim::sim_fault_name(world_.fault().kind)), fault.at);
        }
        return out_.end();
    }

  private:
    static TraceThread core_thread(uint32_t rank, uint32_t core) { return {rank, kFirstCore + core}; }

    // Threads of a communicator stand together, behind those of the one before.
    uint32_t number_of(uint32_t communicator, uint32_t peer) const {
        return communicator * timeline_.num_ranks() + peer;
    }
    uint32_t queue_thread(const Timeline::Wqe& wqe) const {
        return kQueueThreads + kMostLanes * (number_of(wqe.communicator, 0) * kMaxQueuesPerPeer + wqe.queue);
    }
    uint32_t link_thread(const Timeline::Write& write) const {
        return kLinkThreads + kMostLanes * number_of(write.communicator, write.to);
    }

    void add_hosts() {
        for (uint32_t rank = 0; rank < timeline_.num_ranks(); ++rank) {
            out_.name_process(rank, "rank " + std::to_string(rank));
            out_.name_thread({rank, kHostThread}, "host");
        }
        for (const Timeline::Call& call : timeline_.calls())
            out_.span({call.rank, kHostThread}, "call", call.name, call.from, call.to, {});
    }

    // A core is named by its roles: what it did besides coming and going.
    void add_cores() {
        std::map<std::pair<uint32_t, uint32_t>, std::set<uint32_t>> roles;
        for (const Timeline::Stage& stage : timeline_.stages()) {
            std::set<uint32_t>& of_core = roles[{stage.rank, stage.core}];
            const auto which = static_cast<Stage>(stage.stage);
            if (which != Stage::kNone && which != Stage::kEntry && which != Stage::kExit) of_core.insert(stage.stage);
            out_.span(core_thread(stage.rank, stage.core), "stage", stage_text(stage.stage), stage.from, stage.to, {});
            if (stage.first_output != Timeline::kNever)
                out_.instant(core_thread(stage.rank, stage.core), "first output", stage.first_output);
        }
        for (uint32_t rank = 0; rank < timeline_.num_ranks(); ++rank) {
            for (uint32_t core = 0; core < timeline_.num_cores(); ++core) {
                std::string name = "core " + std::to_string(core);
                for (uint32_t role : roles[{rank, core}])
                    name += std::string(" ") + stage_text(role);
                out_.name_thread(core_thread(rank, core), name);
            }
        }
        for (const Timeline::Wait& wait : timeline_.waits()) {
            std::string watched;
            for (uint64_t line : wait.lines)
                watched += (watched.empty() ? "" : "; ") + line_name(world_, line);
            out_.span(core_thread(wait.rank, wait.core), "wait", "waits", wait.from, wait.to,
                      {{"stage", stage_text(wait.stage)}, {"for", watched}});
        }
    }

    void add_wqes() {
        for (const Timeline::Wqe& wqe : timeline_.wqes()) {
            const uint32_t queues = world_.communicator(wqe.communicator).config().queues_per_peer;
            const std::string number = queues == 1 ? "" : std::to_string(wqe.queue % queues) + " ";
            const std::string queue =
                "queue " + number + "to rank " + std::to_string(wqe.peer) + of_communicator(wqe.communicator);
            const TraceThread thread{wqe.rank, lanes_.take(wqe.rank, queue_thread(wqe), wqe.fetched, wqe.completed)};
            out_.name_thread(thread, queue);
            wqe_threads_.push_back(thread);
            out_.span(thread, "wqe", "WQE " + std::to_string(wqe.index), wqe.fetched, wqe.completed,
                      {{"executed", TraceText::time(wqe.executed)}});
            if (wqe.doorbell == Timeline::kNone) continue;
            const Timeline::Doorbell& bell = timeline_.doorbells()[wqe.doorbell];
            out_.flow("doorbell", {core_thread(bell.rank, bell.core), bell.at}, {thread, wqe.fetched});
        }
    }

    void add_writes() {
        for (const Timeline::Write& write : timeline_.writes()) {
            const TraceThread thread{write.from, lanes_.take(write.from, link_thread(write), write.left, write.landed)};
            out_.name_thread(thread,
                             "writes to rank " + std::to_string(write.to) + of_communicator(write.communicator));
            write_threads_.push_back(thread);
            out_.span(thread, "write", line_name(world_, sim::first_line(write.communicator) + write.offset),
                      write.left, write.landed, {{"bytes", std::to_string(write.bytes)}});
            if (write.wqe != Timeline::kNone) {
                out_.flow("execute", {wqe_threads_[write.wqe], write.left}, {thread, write.left});
            } else if (write.core != Timeline::kNone) {
                out_.flow("put", {core_thread(write.from, write.core), write.left}, {thread, write.left});
            }
        }
    }

    // From what changed a watched line to the core that looked again.
    void add_wake_ups() {
        for (const Timeline::WakeUp& wake_up : timeline_.wake_ups()) {
            TracePoint from{core_thread(wake_up.from, wake_up.core), wake_up.at};
            if (wake_up.source == Timeline::Source::kWrite) {
                from.thread = write_threads_[wake_up.index];
                from.at = std::max(from.at, timeline_.writes()[wake_up.index].left);
            } else if (wake_up.source == Timeline::Source::kWqe) {
                from.thread = wqe_threads_[wake_up.index];
            }
            const TracePoint to{core_thread(wake_up.woken_rank, wake_up.woken_core),
                                std::max(wake_up.woken_at, from.at)};
            out_.flow(line_name(world_, wake_up.line), from, to);
        }
    }

    const Timeline& timeline_;
    const sim::World& world_;
    TraceText out_;
    Lanes lanes_;
    std::vector<TraceThread> wqe_threads_;    // as timeline_.wqes()
    std::vector<TraceThread> write_threads_;  // as timeline_.writes()
};

}  // namespace

std::string trace_json(const sim::Timeline& timeline, const sim::World& world) {
    return TraceFile(timeline, world).text();
}

void write_trace_file(const std::string& path, const sim::Timeline& timeline, const sim::World& world) {
    std::ofstream file(path, std::ios::binary);
    file << trace_json(timeline, world);
    file.close();
    if (!file) throw std::runtime_error(path + ": cannot write the timeline");
}

}  // namespace ascend_deepep::simulator
