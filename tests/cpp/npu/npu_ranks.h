// SPDX-License-Identifier: Apache-2.0
// Ranks as processes, each with a fake device over heaps that all of them map. Layer: tests.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "fake_device.h"
#include "runtime/ranks.h"
#include "runtime/round_trip.h"

namespace ascend_deepep::test {

constexpr uint64_t kFakeHeapBytes = uint64_t{64} << 20;

inline void run_npu_ranks(uint32_t num_ranks, const std::function<void(const Rank&, FakeDevice&)>& body) {
    SharedHeaps heaps(num_ranks, kFakeHeapBytes);
    run_ranks(num_ranks, [&](const Rank& rank) {
        FakeDevice& device = FakeDevice::instance();
        device.start(&heaps, rank.rank());
        body(rank, device);
    });
}

inline CommunicatorOptions npu_options(const Rank& rank, const std::string& name = "test") {
    CommunicatorOptions options = rank.options(name);
    options.target = op_host::kNpuTarget;
    return options;
}

inline std::shared_ptr<Communicator> npu_communicator(const Rank& rank, const std::string& name = "test") {
    return Communicator::create(npu_options(rank, name), rank.all_gather());
}

// Fails the test with the status' own words.
inline void check_ok(const op_host::Status& status) {
    CHECK_EQ(status.message, std::string());
    CHECK(status.ok());
}

// One dispatch and one combine, enqueued; the tensors live until the round does.
inline std::unique_ptr<RoundTrip> enqueue_round(Communicator& communicator, int64_t tokens, int64_t shift) {
    auto round = std::make_unique<RoundTrip>(communicator, tokens, shift);
    check_ok(round->dispatch());
    check_ok(round->combine());
    return round;
}

// Rows that a rank receives in a dispatch of `tokens` tokens a rank.
inline int32_t expected_rows(const Communicator& communicator, int64_t tokens, int64_t shift) {
    const CommunicatorLimits& limits = communicator.options().limits;
    const uint32_t local = limits.num_experts / limits.num_ranks;
    int32_t rows = 0;
    for (int64_t token = 0; token < tokens; ++token) {
        const auto expert = static_cast<uint32_t>((token + shift) % limits.num_experts);
        rows += expert / local == communicator.options().rank ? static_cast<int32_t>(limits.num_ranks) : 0;
    }
    return rows;
}

inline double seconds_of(const std::function<void()>& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace ascend_deepep::test
