// SPDX-License-Identifier: Apache-2.0
//
// The entries of the operator package run on the twin (package/kernels.cpp): exact round trips with and without
// weights, tensors that a call need not have, and a refusal, whose tensors they must not touch. Layer: tests.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "check.h"
#include "runtime/ranks.h"
#include "runtime/round_trip.h"

using namespace ascend_deepep;
using namespace ascend_deepep::test;

namespace {

constexpr uint32_t kRanks = 2;

uint64_t entries_run() {
    void* library = ::dlopen(ASCEND_DEEPEP_PACKAGE_KERNELS, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return 0;
    return reinterpret_cast<uint64_t (*)()>(::dlsym(library, "num_package_entries"))();
}

void on_ranks(const std::function<void(const Rank&, Communicator&)>& body) {
    run_ranks(kRanks, [&](const Rank& rank) {
        ::setenv("ASCEND_DEEPEP_KERNELS", ASCEND_DEEPEP_PACKAGE_KERNELS, 1);
        const auto communicator = Communicator::create(rank.options(), rank.all_gather());
        body(rank, *communicator);
        CHECK(entries_run() > 0);
        rank.barrier();
    });
}

}  // namespace

TEST(package_entries_make_exact_round_trips) {
    on_ranks([](const Rank&, Communicator& communicator) {
        for (int64_t shift = 0; shift < 4; ++shift)
            RoundTrip(communicator, 16 - shift, shift).run();
        // Every core runs the entry once an operation.
        CHECK_EQ(entries_run(), uint64_t{8} * communicator.options().num_cores);
    });
}

TEST(package_entries_sum_plainly_without_weights) {
    on_ranks([](const Rank&, Communicator& communicator) {
        RoundTrip trip(communicator, 8, 1);
        trip.combine_call.expert_scales.shape = {0};
        trip.expert_scales.clear();
        trip.run();
    });
}

// Tokens 1 to 6 of 8 are active, and every output of theirs is the token's row twice: its expert's, and a shared one's.
TEST(package_entries_take_masks_weights_and_waits) {
    on_ranks([](const Rank& rank, Communicator& communicator) {
        const bool mask[8] = {false, true, true, true, true, true, true, false};
        std::vector<int64_t> waits(kRanks, 0);
        RoundTrip trip(communicator, 8, 1);
        trip.x_active_mask = mask;
        trip.shared_expert_x = trip.x.data();
        trip.performance_info = waits.data();
        trip.dispatch_call.x_active_mask = trip.combine_call.x_active_mask = tensor(Dtype::kBool, {8});
        trip.dispatch_call.performance_info = trip.combine_call.performance_info = tensor(Dtype::kInt64, {kRanks});
        trip.dispatch_call.expert_scales = trip.combine_call.expert_scales;
        trip.combine_call.shared_expert_x = tensor(Dtype::kBf16, {8, kHidden});
        for (const bool is_dispatch : {true, false}) {
            rank.barrier();
            if (rank.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
            CHECK((is_dispatch ? trip.dispatch() : trip.combine()).ok());
            CHECK(rank.rank() != 0 || waits[1] > 10'000);
            waits.assign(kRanks, 0);
        }
        CHECK(trip.num_rows > 0);
        for (size_t row = 0; row < trip.expand_scales.size(); ++row)
            CHECK_EQ(trip.expand_scales[row], row < trip.num_rows ? 1.0F : -7.0F);
        for (size_t i = 0; i < trip.x.size(); ++i)
            CHECK_EQ(trip.x_out[i], mask[i / kHidden] ? trip.x[i] + 0x80 : 0);  // bf16: one more in the exponent
    });
}

TEST(package_entries_pass_a_refusal_on_and_the_next_call_is_exact) {
    on_ranks([](const Rank& rank, Communicator& communicator) {
        RoundTrip trip(communicator, 8, 0);
        if (rank.rank() == 1) trip.dispatch_call.expert_ids.dtype = Dtype::kInt64;
        const op_host::Status status = trip.dispatch();
        CHECK_EQ(status.refusal.code, Code::kBadDtype);
        CHECK_EQ(status.refusal.rank, 1U);
        RoundTrip(communicator, 8, 2).run();
    });
}
