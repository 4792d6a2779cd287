// SPDX-License-Identifier: Apache-2.0
// A SIMT function of op_kernel/quant on a row in the twin's UB, and what it left there. Layer: tests.
#pragma once

#include "tests/cpp/quant/rows.h"
#include "tests/cpp/twin/kernel_fixture.h"

namespace ascend_deepep::quant_test {

// The two types of a row: the kernel's, and its format in the model.
struct Bf16 {
    using Kernel = bfloat16_t;
    static const Format& format() { return bf16(); }
};
struct Fp16 {
    using Kernel = half;
    static const Format& format() { return fp16(); }
};

constexpr uint32_t kThreads[] = {1, 64, 1024};
constexpr uint8_t kUntouched = 0xA5;

// UB as a SIMT function finds it. Each part begins at a multiple of 32 B.
struct Ub {
    uint8_t* image;
    uint4* row;
    float2* factors;
    uint32_t* scratch;
};

// An image of 512 B blocks, and what is in it after `body(ub)` ran on a core.
class Image {
  public:
    template <typename Body>
    Image(uint32_t data_bytes, const std::vector<uint16_t>& row, const std::vector<float>& factors, Body body)
        : bytes_((data_bytes + 479) / 480 * 512) {
        twin_test::run_kernel([&] {
            const uint32_t row_bytes = static_cast<uint32_t>(row.size() * 2);
            const uint32_t factor_bytes = (static_cast<uint32_t>(factors.size() * 4) + 31) / 32 * 32;
            twin_test::Scratch<uint8_t> scratch(static_cast<uint32_t>(bytes_.size()) + row_bytes + factor_bytes + 4096);
            uint8_t* base = scratch.data();
            std::memset(base, kUntouched, bytes_.size());
            uint8_t* at = base + bytes_.size();
            std::memcpy(at, row.data(), row_bytes);
            if (!factors.empty()) std::memcpy(at + row_bytes, factors.data(), factors.size() * 4);
            body(Ub{base, reinterpret_cast<uint4*>(at), reinterpret_cast<float2*>(at + row_bytes),
                    reinterpret_cast<uint32_t*>(at + row_bytes + factor_bytes)});
            AscendC::PipeBarrier<PIPE_ALL>();
            std::memcpy(bytes_.data(), base, bytes_.size());
        });
    }

    std::vector<uint8_t> data(uint32_t logical, uint32_t count) const {
        std::vector<uint8_t> result;
        for (uint32_t i = logical; i < logical + count; ++i)
            result.push_back(bytes_[i / 480 * 512 + i % 480]);
        return result;
    }

    // Bytes as they lie, for a result that is no image.
    std::vector<uint8_t> raw(uint32_t begin, uint32_t count) const {
        return {bytes_.begin() + begin, bytes_.begin() + begin + count};
    }

    // Bytes outside of the data ranges [0, values) and [scales, end) that were written.
    uint32_t strayed(uint32_t values, uint32_t scales, uint32_t end) const {
        uint32_t count = 0;
        for (uint32_t i = 0; i < bytes_.size(); ++i) {
            const uint32_t logical = i / 512 * 480 + i % 512;
            const bool is_flag = i % 512 >= 480;
            const bool is_ours = !is_flag && (logical < values || (logical >= scales && logical < end));
            count += !is_ours && bytes_[i] != kUntouched;
        }
        return count;
    }

  private:
    std::vector<uint8_t> bytes_;
};

}  // namespace ascend_deepep::quant_test
