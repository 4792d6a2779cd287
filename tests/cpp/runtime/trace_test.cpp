// SPDX-License-Identifier: Apache-2.0
// Traces of calls with the real kernels: what is in them, in which order, and what there is no room for. Layer: tests.
#include <algorithm>
#include <map>
#include <vector>

#include "framework/runtime/status_payload.h"
#include "runtime/ranks.h"
#include "runtime/round_trip.h"

namespace {

using namespace ascend_deepep;
using namespace ascend_deepep::test;
using twin::CaptureEvent;
using twin::CaptureKind;

constexpr uint64_t kRoom = 1 << 16;

std::vector<CaptureEvent> of_kind(const Trace& trace, CaptureKind kind) {
    std::vector<CaptureEvent> found;
    for (const CaptureEvent& event : trace.events) {
        if (event.kind == kind) found.push_back(event);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.from_ns < b.from_ns; });
    return found;
}

using Core = std::pair<uint32_t, uint32_t>;  // call and core

std::map<Core, std::vector<CaptureEvent>> by_core(const std::vector<CaptureEvent>& events) {
    std::map<Core, std::vector<CaptureEvent>> cores;
    for (const CaptureEvent& event : events)
        cores[{event.call, event.core}].push_back(event);
    return cores;
}

// Spans of a core follow each other.
void check_disjoint(const std::vector<CaptureEvent>& spans) {
    for (size_t i = 0; i < spans.size(); ++i) {
        CHECK(spans[i].from_ns <= spans[i].to_ns);
        CHECK(i == 0 || spans[i - 1].to_ns <= spans[i].from_ns);
    }
}

void check_cores(const Trace& trace, uint32_t num_cores) {
    const auto stages = by_core(of_kind(trace, CaptureKind::kStage));
    CHECK_EQ(stages.size(), trace.calls.size() * num_cores);
    for (const auto& [core, spans] : stages) {
        check_disjoint(spans);
        CHECK_EQ(spans.front().stage, static_cast<uint32_t>(Stage::kEntry));
        CHECK_EQ(spans.back().stage, static_cast<uint32_t>(Stage::kExit));
        CHECK(trace.calls[core.first].from_ns <= spans.front().from_ns);
        CHECK(spans.back().to_ns <= trace.calls[core.first].to_ns);
    }
    std::vector<CaptureEvent> inner = of_kind(trace, CaptureKind::kWait);
    const std::vector<CaptureEvent> pauses = of_kind(trace, CaptureKind::kPause);
    CHECK(!inner.empty());
    inner.insert(inner.end(), pauses.begin(), pauses.end());
    std::sort(inner.begin(), inner.end(), [](const auto& a, const auto& b) { return a.from_ns < b.from_ns; });
    for (const auto& [core, spans] : by_core(inner)) {
        check_disjoint(spans);
        for (const CaptureEvent& span : spans) {
            const auto& around = stages.at(core);
            CHECK(std::any_of(around.begin(), around.end(), [&](const CaptureEvent& stage) {
                return stage.from_ns <= span.from_ns && span.to_ns <= stage.to_ns;
            }));
        }
    }
}

TEST(a_trace_has_the_cores_the_entries_and_what_was_read) {
    run_ranks(2, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        RoundTrip(*communicator, 8, 0).run();
        const Counters before = communicator->counters();
        CHECK(communicator->start_trace(kRoom).ok());
        RoundTrip(*communicator, 8, 1).run();
        Trace trace;
        CHECK(communicator->stop_trace(&trace).ok());
        const Counters after = communicator->counters();

        CHECK_EQ(trace.dropped, 0U);
        CHECK_EQ(trace.calls.size(), size_t{2});
        CHECK(trace.calls[0].kind == OperationKind::kDispatch && trace.calls[1].kind == OperationKind::kCombine);
        CHECK_EQ(trace.calls[0].inputs.front()[0], std::string("x"));
        CHECK_EQ(trace.calls[0].inputs.front()[2], std::string("8,64"));
        check_cores(trace, communicator->options().num_cores);

        const auto wqes = of_kind(trace, CaptureKind::kWqe);
        CHECK_EQ(wqes.size(), after.wqes_dispatch - before.wqes_dispatch);
        for (const CaptureEvent& wqe : wqes) {
            CHECK(wqe.from_ns <= wqe.executed_ns && wqe.executed_ns <= wqe.to_ns);
            CHECK_EQ(wqe.peer, 1 - rank.rank());
            CHECK_EQ(std::string(region_name(trace.layout, wqe.offset)), std::string("dispatch half"));
        }
        CHECK_EQ(of_kind(trace, CaptureKind::kDoorbell).size(), after.doorbells_dispatch - before.doorbells_dispatch);
        // Two operations tell two ranks each, this one too; four rows return to the peer. What was written is read: by
        // symmetry as many messages, rows and copies.
        const auto puts = of_kind(trace, CaptureKind::kPut);
        const auto is_message = [&](const CaptureEvent& event) {
            return std::string(region_name(trace.layout, event.offset)) == "control ring";
        };
        CHECK_EQ(std::count_if(puts.begin(), puts.end(), is_message), 4);
        CHECK_EQ(puts.size(), size_t{4} + (after.rows - before.rows));
        const auto reads = of_kind(trace, CaptureKind::kRead);
        CHECK_EQ(std::count_if(reads.begin(), reads.end(), is_message), 4);
        CHECK_EQ(reads.size(), puts.size() + wqes.size());
    });
}

TEST(what_finds_no_room_in_a_trace_is_counted) {
    run_ranks(2, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        CHECK(communicator->start_trace(10).ok());
        RoundTrip(*communicator, 8, 0).run();
        Trace trace;
        CHECK(communicator->stop_trace(&trace).ok());
        CHECK_EQ(trace.events.size(), size_t{10});
        CHECK(trace.dropped > 10);
        CHECK_EQ(trace.calls.size(), size_t{2});
    });
}

TEST(without_a_trace_nothing_is_kept) {
    run_ranks(2, [](const Rank& rank) {
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        Trace trace;
        CHECK(!communicator->stop_trace(&trace).ok());
        CHECK(!communicator->start_trace(0).ok());
        CHECK(!communicator->start_trace(kMaxTraceEvents + 1).ok());
        RoundTrip(*communicator, 8, 0).run();
        CHECK(communicator->start_trace(kRoom).ok());
        CHECK(!communicator->start_trace(kRoom).ok());
        CHECK(communicator->stop_trace(&trace).ok());
        CHECK(trace.events.empty() && trace.calls.empty());
        RoundTrip(*communicator, 8, 0).run();
        const op_host::Status again = communicator->stop_trace(&trace);
        CHECK_EQ(status_payload(again).class_name, std::string("ArgumentError"));
    });
}

TEST(a_trace_of_a_broken_communicator_can_be_read) {
    run_ranks(2, [](const Rank& rank) {
        CommunicatorOptions options = rank.options();
        options.timeout_ms = 200;
        const auto communicator = Communicator::create(options, rank.all_gather());
        if (rank.rank() == 0) {
            CHECK(communicator->start_trace(kRoom).ok());
            RoundTrip trip(*communicator, 8, 0);
            CHECK(!trip.dispatch().ok());  // rank 1 does not call
            Trace trace;
            CHECK(communicator->stop_trace(&trace).ok());
            CHECK_EQ(trace.calls.size(), size_t{1});
            const auto idles = of_kind(trace, CaptureKind::kIdle);
            uint64_t idle_ns = 0;
            for (const CaptureEvent& idle : idles)
                idle_ns += idle.to_ns - idle.from_ns;
            CHECK(idle_ns > 100'000'000);  // of the 200 ms that it waited
        }
        rank.barrier();
    });
}

}  // namespace
