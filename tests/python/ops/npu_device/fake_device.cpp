// SPDX-License-Identifier: Apache-2.0
//
// Memory, device guard and the few ATen operators that the tests need. Layer: tests.
#include "fake_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>

#include <map>
#include <mutex>

namespace fake {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
constexpr c10::DeviceIndex kNumDevices = 2;
constexpr size_t kPageBytes = 4096;

thread_local c10::DeviceIndex current_index = 0;

struct Memory {
    std::recursive_mutex mutex;
    std::map<void*, size_t> blocks;
    int num_open = 0;

    void protect(int protection) {
        for (const auto& [address, bytes] : blocks)
            TORCH_CHECK(::mprotect(address, bytes, protection) == 0, "mprotect failed");
    }
};

Memory& memory() {
    static auto* instance = new Memory;  // tensors may outlive static objects
    return *instance;
}

void release(void* address) {
    const std::lock_guard<std::recursive_mutex> lock(memory().mutex);
    const auto found = memory().blocks.find(address);
    ::munmap(address, found->second);
    memory().blocks.erase(found);
}

struct FakeAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override {
        const c10::Device device(kType, current_index);
        if (bytes == 0) return {nullptr, device};
        const size_t size = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
        const std::lock_guard<std::recursive_mutex> lock(memory().mutex);
        const int protection = memory().num_open > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
        void* address = ::mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        TORCH_CHECK(address != MAP_FAILED, "mmap failed");
        memory().blocks[address] = size;
        return {address, address, &release, device};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, size_t bytes) const override {
        const DeviceAccess access;
        default_copy_data(to, from, bytes);
    }
};
FakeAllocator allocator;

struct FakeGuard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return kType; }
    c10::Device exchangeDevice(c10::Device device) const override {
        const c10::Device before = getDevice();
        current_index = device.index();
        return before;
    }
    c10::Device getDevice() const override { return {kType, current_index}; }
    void setDevice(c10::Device device) const override { current_index = device.index(); }
    void uncheckedSetDevice(c10::Device device) const noexcept override { current_index = device.index(); }
    c10::Stream getStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
    c10::Stream exchangeStream(c10::Stream stream) const override { return getStream(stream.device()); }
    c10::DeviceIndex deviceCount() const noexcept override { return kNumDevices; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, FakeGuard)

struct FakeHooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
    c10::DeviceIndex deviceCount() const override { return kNumDevices; }
    c10::DeviceIndex getCurrentDevice() const override { return current_index; }
    void setCurrentDevice(c10::DeviceIndex device) const override { current_index = device; }
};

const bool is_hooked = [] {
    at::RegisterPrivateUse1HooksInterface(new FakeHooks);  // for the life of the process
    return true;
}();

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> /*layout*/,
                 std::optional<at::Device> device, std::optional<bool> /*pin_memory*/,
                 std::optional<at::MemoryFormat> format) {
    const c10::OptionalDeviceGuard guard(device);
    return at::detail::empty_generic(size, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                     at::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> /*layout*/, std::optional<at::Device> device,
                         std::optional<bool> /*pin_memory*/) {
    const c10::OptionalDeviceGuard guard(device);
    return at::detail::empty_strided_generic(
        size, stride, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), at::dtype_or_default(dtype));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool /*non_blocking*/) {
    const DeviceAccess access;
    as_cpu(to).copy_(as_cpu(from));
    return to;
}

at::Tensor& zero(at::Tensor& self) {
    const DeviceAccess access;
    as_cpu(self).zero_();
    return self;
}

}  // namespace

DeviceAccess::DeviceAccess() {
    const std::lock_guard<std::recursive_mutex> lock(memory().mutex);
    if (memory().num_open++ == 0) memory().protect(PROT_READ | PROT_WRITE);
}

DeviceAccess::~DeviceAccess() {
    const std::lock_guard<std::recursive_mutex> lock(memory().mutex);
    if (--memory().num_open == 0) memory().protect(PROT_NONE);
}

int64_t live_blocks() {
    const std::lock_guard<std::recursive_mutex> lock(memory().mutex);
    return static_cast<int64_t>(memory().blocks.size());
}

at::Tensor as_cpu(const at::Tensor& tensor) {
    if (tensor.is_cpu()) return tensor;
    return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                         at::TensorOptions().dtype(tensor.dtype()).device(at::kCPU));
}

c10::DeviceIndex current_device() {
    return current_index;
}

}  // namespace fake

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", &fake::empty);
    m.impl("empty_strided", &fake::empty_strided);
    m.impl("_copy_from", &fake::copy_from);
    m.impl("zero_", &fake::zero);
    m.impl("as_strided", &at::native::as_strided_tensorimpl);
    m.impl("view", &at::native::view);
}
