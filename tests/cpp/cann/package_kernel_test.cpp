// SPDX-License-Identifier: Apache-2.0
//
// The entries of the operator package run on the twin (package/kernels.cpp): exact round trips with and without
// weights, tensors that a call need not have, quantised rows with their scales, and a refusal, whose tensors they must
// not touch. Layer: tests.
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

// Whole numbers up to 127 times a power of two: int8 holds them exactly, with that power as their scale.
int whole(uint32_t rank, int64_t token, int64_t column) {
    if (column == 0) return 127;
    return static_cast<int>((rank * 31 + token * 7 + column * 5) % 255) - 127;
}
float power(int64_t token) {
    return static_cast<float>(1 << token % 4);
}
uint16_t bf16_bits(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return static_cast<uint16_t>(bits >> 16);
}

// Dispatches `trip`'s call with scales on both sides; `check_row` gets the place of each row received and its origin.
template <typename CheckRow>
void check_rows(RoundTrip& trip, const void* x, const void* scales, void* dynamic_scales, const CheckRow& check_row) {
    DispatchBuffers buffers = trip.dispatch_buffers();
    buffers.x = x;
    buffers.scales = scales;
    buffers.dynamic_scales = dynamic_scales;
    CHECK(trip.communicator.dispatch(trip.dispatch_call, buffers, &trip.num_rows).ok());
    CHECK_EQ(trip.num_rows, 8U);  // 8 experts on 2 ranks, a token of each rank for each
    for (uint32_t row = 0; row < trip.num_rows; ++row)
        check_row(row, static_cast<uint32_t>(trip.assist_info[3 * row]), trip.assist_info[3 * row + 1]);
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
        trip.dispatch_call.attributes.global_bs = trip.combine_call.attributes.global_bs = 0;  // as a mask wants
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

TEST(package_entries_quantise) {
    on_ranks([](const Rank& rank, Communicator& communicator) {
        RoundTrip trip(communicator, 8, 1);
        CHECK(trip.dispatch().ok());  // makes the buffers
        for (int64_t i = 0; i < 8 * kHidden; ++i)
            trip.x[i] =
                bf16_bits(static_cast<float>(whole(rank.rank(), i / kHidden, i % kHidden)) * power(i / kHidden));
        trip.dispatch_call.quant_mode = 2;
        std::vector<float> scales(trip.expand_scales.size(), -7.0F);
        const auto* received = reinterpret_cast<const int8_t*>(trip.expand_x.data());
        check_rows(trip, trip.x.data(), nullptr, scales.data(), [&](uint32_t row, uint32_t source, int32_t token) {
            CHECK_EQ(scales[row], power(token));
            for (int64_t i = 0; i < kHidden; ++i)
                CHECK_EQ(int{received[row * kHidden + i]}, whole(source, token, i));
        });
        CHECK_EQ(scales[trip.num_rows], -7.0F);

        // Static: one factor, of a power of two.
        const float factor = 0.5F;
        trip.dispatch_call.quant_mode = 1;
        trip.dispatch_call.scales = tensor(Dtype::kFp32, {1});
        for (int64_t i = 0; i < 8 * kHidden; ++i)
            trip.x[i] = bf16_bits(static_cast<float>(whole(rank.rank(), i / kHidden, i % kHidden)) * 2.0F);
        check_rows(trip, trip.x.data(), &factor, nullptr, [&](uint32_t row, uint32_t source, int32_t token) {
            for (int64_t i = 0; i < kHidden; ++i)
                CHECK_EQ(int{received[row * kHidden + i]}, whole(source, token, i));
        });
    });
}

TEST(package_entries_pass_quantised_tokens_and_their_scales) {
    on_ranks([](const Rank& rank, Communicator& communicator) {
        constexpr int64_t kColumns = 2;
        RoundTrip trip(communicator, 8, 1);
        CHECK(trip.dispatch().ok());  // makes the buffers
        trip.dispatch_call.x = tensor(Dtype::kE4m3, {8, kHidden});
        trip.dispatch_call.scales = tensor(Dtype::kE8m0, {8, kColumns});
        std::vector<int8_t> x(8 * kHidden), scales(8 * kColumns);
        for (int64_t token = 0; token < 8; ++token) {
            for (int64_t i = 0; i < kHidden; ++i)
                x[token * kHidden + i] = static_cast<int8_t>(whole(rank.rank(), token, i));
            for (int64_t i = 0; i < kColumns; ++i)
                scales[token * kColumns + i] = static_cast<int8_t>(rank.rank() * 64 + token * kColumns + i);
        }
        std::vector<int8_t> dynamic_scales(trip.expand_scales.size() * kColumns, -7);
        const auto* received = reinterpret_cast<const int8_t*>(trip.expand_x.data());
        check_rows(trip, x.data(), scales.data(), dynamic_scales.data(),
                   [&](uint32_t row, uint32_t source, int32_t token) {
                       for (int64_t i = 0; i < kHidden; ++i)
                           CHECK_EQ(int{received[row * kHidden + i]}, whole(source, token, i));
                       for (int64_t i = 0; i < kColumns; ++i)
                           CHECK_EQ(int64_t{dynamic_scales[row * kColumns + i]}, source * 64 + token * kColumns + i);
                   });
        CHECK_EQ(int{dynamic_scales[trip.num_rows * kColumns]}, -7);
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
