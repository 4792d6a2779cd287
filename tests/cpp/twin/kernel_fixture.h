// SPDX-License-Identifier: Apache-2.0
// Runs a lambda as a kernel on the twin, with hooks that record what the machine asked for.
// Layer: tests. Compiled once per policy.
#pragma once

#include <functional>
#include <vector>

#include "kernel_operator.h"
#include "op_kernel/port/port.h"
#include "simt_api/asc_bf16.h"
#include "simt_api/asc_simt.h"
#include "tests/cpp/rule_check.h"
#include "twin/runtime/launch.h"

namespace ascend_deepep::twin_test {

namespace rules = twin::rules;
using twin::KernelFault;

constexpr bool kIsSim = twin::Policy::kDeferred;

struct TestHooks : twin::GmHooks {
    twin::WindowMap windows;
    void* device_register = nullptr;
    uint64_t register_value = 0;
    std::vector<size_t> window_writes;
    std::vector<size_t> window_reads;
    const uint8_t* forbidden = nullptr;
    uint64_t idles = 0;
    uint64_t steps = 0;
    std::function<void()> on_idle;

    twin::WindowMap window_map() const override { return windows; }
    void window_write(void* dst, const void* src, size_t bytes) override {
        window_writes.push_back(bytes);
        std::memcpy(dst, src, bytes);
    }
    void window_read(void* dst, const void* src, size_t bytes) override {
        window_reads.push_back(bytes);
        std::memcpy(dst, src, bytes);
    }
    bool device_store(void* addr, uint64_t value, unsigned) override {
        if (addr != device_register) {
            return false;
        }
        register_value = value;
        return true;
    }
    void check_access(const void* p, size_t bytes, bool) override {
        const auto* at = static_cast<const uint8_t*>(p);
        if (forbidden != nullptr && at <= forbidden && forbidden < at + bytes) {
            twin::raise_fault({"GM access", &rules::kGmKnownRange, bytes, 0, "check the address"});
        }
    }
    void idle() override {
        ++idles;
        if (on_idle) {
            on_idle();
        }
    }
    void step() override { ++steps; }
};

using Kernel = std::function<void()>;

inline void run_kernel(const Kernel& kernel, uint32_t num_cores = 1, twin::GmHooks* hooks = nullptr,
                       uint32_t ub_bytes = twin::kUbMaxDynamicBytes) {
    TestHooks plain;
    twin::LaunchConfig config;
    config.num_cores = num_cores;
    config.dyn_ubuf_bytes = ub_bytes;
    config.kernel_name = "test_kernel";
    Kernel copy = kernel;
    twin::launch(
        config, [](uint8_t* tiling) { (*reinterpret_cast<Kernel*>(tiling))(); }, reinterpret_cast<uint8_t*>(&copy),
        hooks != nullptr ? *hooks : plain);
}

// The kernel breaks `rule`; a plain kernel runs afterwards on the same thread.
#define CHECK_FAULT(rule, ...)                                                           \
    do {                                                                                 \
        CHECK_REFUSED(rule, ascend_deepep::twin_test::run_kernel([&] { __VA_ARGS__; })); \
        ascend_deepep::twin_test::run_kernel([] {});                                     \
    } while (false)

// One 32 B aligned array of GM.
template <typename T, size_t kCount>
struct GmArray {
    alignas(512) T values[kCount] = {};
    AscendC::GlobalTensor<T> tensor() {
        AscendC::GlobalTensor<T> result;
        result.SetGlobalBuffer(values, kCount);
        return result;
    }
};

// A TPipe with one buffer, which most tests need.
template <typename T>
struct Scratch {
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    AscendC::LocalTensor<T> tensor;
    explicit Scratch(uint32_t count) {
        pipe.InitBuffer(buffer, count * static_cast<uint32_t>(sizeof(T)));
        tensor = buffer.Get<T>();
    }
    T* data() { return reinterpret_cast<T*>(tensor.GetPhyAddr()); }
};

// A TPipe with two queues of two buffers each.
struct Queues {
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> queue;
    AscendC::TQueBind<AscendC::TPosition::VECIN, AscendC::TPosition::VECOUT, 1> other;
    Queues() {
        pipe.InitBuffer(queue, 2, 64);
        pipe.InitBuffer(other, 2, 64);
    }
};

template <AscendC::HardEvent event>
inline void sync(int32_t id = EVENT_ID0) {
    AscendC::SetFlag<event>(id);
    AscendC::WaitFlag<event>(id);
}

}  // namespace ascend_deepep::twin_test
