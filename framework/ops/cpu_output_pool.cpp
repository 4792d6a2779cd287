// SPDX-License-Identifier: Apache-2.0
//
// The pool of output blocks. Layer: framework.
#include "framework/ops/cpu_output_pool.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <numeric>
#include <vector>

#include "framework/ops/arguments.h"

namespace ascend_deepep::ops {
namespace {

// torch_from_blob came with torch 2.11; the libraries load into 2.10 too, so it is looked up, not linked.
using FromBlob = AOTITorchError (*)(void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides,
                                    int64_t storage_offset, int32_t dtype, int32_t device_type, int32_t device_index,
                                    AtenTensorHandle* result, int32_t layout, const uint8_t* opaque_metadata,
                                    int64_t opaque_metadata_size, void (*deleter)(void* data, void* context),
                                    void* deleter_context);

constexpr size_t kHugePageBytes = size_t{2} << 20;
constexpr size_t kGranuleBytes = size_t{64} << 10;
constexpr size_t kMinLookedAtBytes = size_t{16} << 20;

// What a block takes of memory. An output has room for every row that could come, a multiple of those that do, and the
// rest of it is never touched; a small one counts as a whole.
size_t touched_bytes(void* data, size_t bytes) {
    if (bytes < kMinLookedAtBytes) return bytes;
    static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((bytes + page - 1) / page);
    if (mincore(data, bytes, pages.data()) != 0) return bytes;
    const auto resident = std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
    return static_cast<size_t>(resident) * page;
}

class OutputPool {
  public:
    void* take(size_t bytes) {
        {
            const std::lock_guard lock(mutex_);
            for (auto block = idle_.rbegin(); block != idle_.rend(); ++block) {
                if (block->bytes != bytes) continue;
                void* data = block->data;
                idle_bytes_ -= block->touched;
                idle_.erase(std::next(block).base());
                return data;
            }
        }
        void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data == MAP_FAILED) throw std::bad_alloc();
        // Fewer page faults at first touch; a kernel without huge pages refuses, which costs nothing else.
        if (bytes >= kHugePageBytes) madvise(data, bytes, MADV_HUGEPAGE);
        return data;
    }

    void give_back(void* data, size_t bytes) {
        const size_t touched = touched_bytes(data, bytes);
        const std::lock_guard lock(mutex_);
        idle_.push_back({data, bytes, touched});
        idle_bytes_ += touched;
        while (idle_bytes_ > kMaxIdleBytes) {
            munmap(idle_.front().data, idle_.front().bytes);
            idle_bytes_ -= idle_.front().touched;
            idle_.pop_front();
        }
    }

    size_t idle_bytes() {
        const std::lock_guard lock(mutex_);
        return idle_bytes_;
    }

  private:
    struct Block {
        void* data;
        size_t bytes;
        size_t touched;
    };

    std::mutex mutex_;
    std::list<Block> idle_;  // oldest first
    size_t idle_bytes_ = 0;
};

// Never destroyed: tensors may outlive every static object.
OutputPool& pool() {
    static OutputPool& instance = *new OutputPool;
    return instance;
}

void give_back(void* data, void* context) {
    pool().give_back(data, reinterpret_cast<size_t>(context));
}

// Sizes of slowly varying batches share blocks: eight classes per power of two.
size_t block_bytes(size_t bytes) {
    size_t granule = kGranuleBytes;
    while (granule * 16 < bytes)
        granule *= 2;
    return (bytes + granule - 1) / granule * granule;
}

}  // namespace

torch::stable::Tensor make_output(std::initializer_list<int64_t> shape, int32_t dtype) {
    static const auto from_blob = reinterpret_cast<FromBlob>(dlsym(RTLD_DEFAULT, "torch_from_blob"));
    const auto ndim = static_cast<int64_t>(shape.size());
    const int64_t numel = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    const size_t bytes = static_cast<size_t>(numel) * aoti_torch_dtype_element_size(dtype);
    if (from_blob == nullptr || bytes < kMinPooledBytes) {
        return empty_tensor(shape, dtype, aoti_torch_device_type_cpu(), 0);
    }
    const std::array<int64_t, 2> strides{ndim == 2 ? std::max<int64_t>(shape.begin()[1], 1) : 1, 1};
    const size_t block = block_bytes(bytes);
    void* data = pool().take(block);
    AtenTensorHandle handle = nullptr;
    const AOTITorchError error =
        from_blob(data, ndim, shape.begin(), strides.data(), 0, dtype, aoti_torch_device_type_cpu(), -1, &handle,
                  aoti_torch_layout_strided(), nullptr, 0, &give_back, reinterpret_cast<void*>(block));
    if (error != AOTI_TORCH_SUCCESS) give_back(data, reinterpret_cast<void*>(block));
    STABLE_TORCH_ERROR_CODE_CHECK(error);
    return torch::stable::Tensor(handle);
}

size_t idle_output_bytes() {
    return pool().idle_bytes();
}

}  // namespace ascend_deepep::ops
