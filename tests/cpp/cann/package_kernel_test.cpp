// SPDX-License-Identifier: Apache-2.0
//
// The entries of the operator package run on the twin (package/kernels.cpp): exact round trips with and without
// weights, and a refusal, whose tensors they must not touch. Layer: tests.
#include <dlfcn.h>

#include <cstdlib>

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
