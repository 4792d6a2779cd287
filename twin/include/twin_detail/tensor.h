// SPDX-License-Identifier: Apache-2.0
// GlobalTensor and LocalTensor.
// Layer: twin/include. A LocalTensor remembers the buffer that TPipe cut it from; every access stays inside it.
#pragma once

#include <cstring>

#include "twin/runtime/polling.h"
#include "twin_detail/float16.h"
#include "twin_detail/types.h"

namespace ascend_deepep::twin {

// Checks that [data, data + bytes) lies in `buffer`, or in the launch's UB where there is none.
inline void require_ub(const char* operation, const uint8_t* data, uint64_t bytes, const UbBuffer* buffer) {
    const Core& core = current_core();
    const uint8_t* low = buffer != nullptr ? buffer->data : core.ub;
    const uint64_t size = buffer != nullptr ? buffer->bytes : core.ub_bytes;
    const uint64_t offset = static_cast<uint64_t>(data - low);
    require(offset <= size && bytes <= size - offset, rules::kUbRange, operation, offset + bytes, size,
            "use a larger buffer or a shorter range");
}

// Stands in front of every copy and vector instruction, so it also tells where they are called from.
[[gnu::always_inline]] inline void require_ub_aligned(const char* operation, const uint8_t* data) {
    const auto offset = static_cast<uint64_t>(data - scalar_core(operation).ub);
    require(offset % kUbBlockBytes == 0, rules::kUbAlignment, operation, offset, kUbBlockBytes,
            "align the element offset");
}

struct UbSpan {
    const uint8_t* data;
    uint64_t bytes;
};

// Destination and source of one instruction: the same place, where `may_coincide`, or no byte in common.
inline void require_apart(const char* operation, UbSpan dst, UbSpan src, bool may_coincide) {
    const uint64_t dst_in_src = static_cast<uint64_t>(dst.data - src.data);
    const uint64_t src_in_dst = static_cast<uint64_t>(src.data - dst.data);
    require((may_coincide && dst_in_src == 0) || (dst_in_src >= src.bytes && src_in_dst >= dst.bytes),
            rules::kOperandOverlap, operation, dst.bytes, src.bytes, "give the result a place of its own");
}

// A LocalTensor at an address of its own: TPipe cuts from the same bytes.
inline uint8_t* placed_in_ub(uint32_t byte_address) {
    Core& core = scalar_core("LocalTensor");
    require(core.pipe == nullptr, rules::kOneUbAllocator, "LocalTensor", byte_address, 0,
            "take the tensor from a TBuf, or make no TPipe");
    core.has_placed_tensors = true;
    return core.ub + byte_address;
}

}  // namespace ascend_deepep::twin

namespace AscendC {

template <typename T>
class LocalTensor {
  public:
    using PrimType = T;

    __aicore__ inline LocalTensor() {}
    // byte_address counts from the start of UB, statics included.
    __aicore__ inline LocalTensor(TPosition position, uint32_t byte_address, uint32_t count)
        : data_(ascend_deepep::twin::placed_in_ub(byte_address)),
          bytes_(count * static_cast<uint32_t>(sizeof(T))),
          position_(position) {
        ascend_deepep::twin::require_ub("LocalTensor", data_, bytes_, nullptr);
    }
    LocalTensor(uint8_t* data, uint32_t bytes, ascend_deepep::twin::UbBuffer* buffer, TPosition position)
        : data_(data), bytes_(bytes), buffer_(buffer), position_(position) {}

    __aicore__ inline uint64_t GetPhyAddr() const { return reinterpret_cast<uint64_t>(data_); }
    __aicore__ inline uint64_t GetPhyAddr(const uint32_t offset) const { return (*this)[offset].GetPhyAddr(); }

    __aicore__ inline T GetValue(const uint32_t index) const { return *element(index); }
    __aicore__ inline T& operator()(const uint32_t offset) const { return *element(offset); }
    template <typename S>
    __aicore__ inline void SetValue(const uint32_t index, const S value) const {
        *element(index) = static_cast<T>(value);
    }

    __aicore__ inline LocalTensor operator[](const uint32_t offset) const {
        const uint64_t bytes = uint64_t{offset} * sizeof(T);
        ascend_deepep::twin::require(bytes <= bytes_, ascend_deepep::twin::rules::kTensorOffset, "LocalTensor[]",
                                     offset, bytes_ / sizeof(T), "index inside the tensor");
        return LocalTensor(data_ + bytes, bytes_ - static_cast<uint32_t>(bytes), buffer_, position_);
    }
    template <typename U>
    __aicore__ inline LocalTensor<U> ReinterpretCast() const {
        return LocalTensor<U>(data_, bytes_, buffer_, position_);
    }

    __aicore__ inline uint32_t GetSize() const { return bytes_ / static_cast<uint32_t>(sizeof(T)); }
    __aicore__ inline void SetSize(const uint32_t size) { bytes_ = size * static_cast<uint32_t>(sizeof(T)); }
    __aicore__ inline int32_t GetPosition() const { return static_cast<int32_t>(position_); }

    // The twin's own view.
    uint8_t* twin_data() const { return data_; }
    ascend_deepep::twin::UbBuffer* twin_buffer() const { return buffer_; }

  private:
    T* element(uint32_t index) const {
        uint8_t* at = data_ + uint64_t{index} * sizeof(T);
        ascend_deepep::twin::require_ub("LocalTensor element", at, sizeof(T), buffer_);
        return reinterpret_cast<T*>(at);
    }

    uint8_t* data_ = nullptr;
    uint32_t bytes_ = 0;
    ascend_deepep::twin::UbBuffer* buffer_ = nullptr;
    TPosition position_ = TPosition::MAX;
};

template <typename T>
class GlobalTensor {
  public:
    using PrimType = T;

    __aicore__ inline GlobalTensor() {}
    __aicore__ inline void SetGlobalBuffer(__gm__ T* buffer, uint64_t buffer_size) {
        address_ = buffer;
        size_ = buffer_size;
        has_size_ = true;
    }
    __aicore__ inline void SetGlobalBuffer(__gm__ T* buffer) {
        address_ = buffer;
        size_ = 0;
        has_size_ = false;
    }

    __aicore__ inline const __gm__ T* GetPhyAddr() const { return address_; }
    __aicore__ inline __gm__ T* GetPhyAddr(const uint64_t offset) const { return address_ + offset; }

    __aicore__ inline T GetValue(const uint64_t offset) const {
        require_inside("GlobalTensor::GetValue", offset, 1);
        using namespace ascend_deepep::twin;
        T value;
        if (!load_modelled(GmPath::kScalarCached, address_ + offset, &value, sizeof(T))) {
            touch_gm(address_ + offset, sizeof(T), false);
            value = address_[offset];
        }
        note_look("GlobalTensor::GetValue", address_ + offset, first_word(value));
        return value;
    }
    __aicore__ inline void SetValue(const uint64_t offset, T value) {
        require_inside("GlobalTensor::SetValue", offset, 1);
        using namespace ascend_deepep::twin;
        if (store_modelled(GmPath::kScalarCached, address_ + offset, &value, sizeof(T))) return;
        touch_gm(address_ + offset, sizeof(T), true);
        address_[offset] = value;
    }
    __aicore__ inline __gm__ T& operator()(const uint64_t offset) const {
        require_inside("GlobalTensor()", offset, 1);
        ascend_deepep::twin::touch_gm(address_ + offset, sizeof(T), true);
        ascend_deepep::twin::note_look("GlobalTensor()", address_ + offset,
                                       ascend_deepep::twin::first_word(address_[offset]));
        return address_[offset];
    }

    __aicore__ inline GlobalTensor operator[](const uint64_t offset) const {
        require_inside("GlobalTensor[]", offset, 0);
        GlobalTensor result = *this;
        result.address_ += offset;
        result.size_ -= has_size_ ? offset : 0;
        return result;
    }
    __aicore__ inline uint64_t GetSize() const { return size_; }
    template <typename U>
    __aicore__ inline GlobalTensor<U> ReinterpretCast() const {
        GlobalTensor<U> result;
        if (has_size_) {
            result.SetGlobalBuffer(reinterpret_cast<__gm__ U*>(address_), size_ * sizeof(T) / sizeof(U));
        } else {
            result.SetGlobalBuffer(reinterpret_cast<__gm__ U*>(address_));
        }
        return result;
    }

    // The twin's own check: elements [0, count) of a tensor whose size is known.
    void require_inside(const char* operation, uint64_t offset, uint64_t count) const {
        ascend_deepep::twin::require(!has_size_ || (offset <= size_ && count <= size_ - offset),
                                     ascend_deepep::twin::rules::kGmTensorRange, operation, offset + count, size_,
                                     "give SetGlobalBuffer the true size or stay inside it");
    }

  private:
    __gm__ T* address_ = nullptr;
    uint64_t size_ = 0;
    bool has_size_ = false;
};

}  // namespace AscendC
