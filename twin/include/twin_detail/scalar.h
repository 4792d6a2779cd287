// SPDX-License-Identifier: Apache-2.0
// What the scalar unit does beside tensors: GM words past the cache, GM atomics, cache control, core numbers, clock,
// the CTRL register.
// Layer: twin/include. Scalar GM words are release stores and acquire loads here.
#pragma once

#include <chrono>
#include <cstring>

#include "twin_detail/compile_rules.h"
#include "twin_detail/tensor.h"

namespace ascend_deepep::twin {

template <typename T>
constexpr bool kIsBypassWord = kIsOneOf<T, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;

[[gnu::always_inline]] inline void require_gm_word(const char* operation, const void* p, size_t bytes) {
    static_cast<void>(scalar_core(operation));
    require(!is_ub(p), rules::kGmOnly, operation, 1, 0, "use LocalTensor for UB");
    require(reinterpret_cast<uintptr_t>(p) % bytes == 0, rules::kWordAlignment, operation,
            reinterpret_cast<uintptr_t>(p) % bytes, bytes, "align the address");
}

// Atomic update by compare and exchange of the word's bits; for what the host has no instruction.
template <typename T, typename Op>
inline T update_word(T* p, Op op) {
    using Word = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
    auto* word = reinterpret_cast<Word*>(p);
    Word seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    for (;;) {
        T old_value;
        std::memcpy(&old_value, &seen, sizeof(T));
        const T new_value = op(old_value);
        Word wanted;
        std::memcpy(&wanted, &new_value, sizeof(T));
        if (__atomic_compare_exchange_n(word, &seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            return old_value;
        }
    }
}

template <typename T>
inline T add_word(T* p, T value) {
    if constexpr (std::is_integral_v<T>) {
        return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
    } else {
        return update_word(p, [value](T old_value) { return old_value + value; });
    }
}

template <typename T>
constexpr bool kIsScalarAtomic = kIsOneOf<T, uint32_t, int32_t, uint64_t, int64_t, float>;

// Fields of the CTRL register that kernels may write.
template <int8_t startBit, int8_t endBit>
constexpr bool kIsCtrlField = (startBit >= 6 && startBit <= endBit && endBit <= 10) ||
                              (startBit == endBit && (startBit == 45 || startBit == 48 || startBit == 50 ||
                                                      startBit == 53 || startBit == 59 || startBit == 60));

// One scalar atomic; `update` gives the old value.
template <typename T, typename Update>
inline T scalar_atomic(const char* operation, T* p, Update update) {
    require_gm_word(operation, p, sizeof(T));
    touch_gm(p, sizeof(T), true);
    const T old_value = update();
    note_look(operation, p, first_word(old_value));
    return old_value;
}

}  // namespace ascend_deepep::twin

namespace AscendC {

template <typename T>
__aicore__ inline void WriteGmByPassDCache(__gm__ T* addr, T value) {
    using namespace ascend_deepep::twin;
    static_assert(kIsBypassWord<T>, ASCEND_DEEPEP_WORD_TYPES);
    require_gm_word("WriteGmByPassDCache", addr, sizeof(T));
    Core& core = current_core();
    core.progress = true;
    if (core.hooks->device_store(addr, static_cast<std::make_unsigned_t<T>>(value), sizeof(T))) {
        return;
    }
    if (store_modelled(GmPath::kScalarPast, addr, &value, sizeof(T))) return;
    touch_gm(addr, sizeof(T), true);
    __atomic_store_n(addr, value, __ATOMIC_RELEASE);
}

template <typename T>
__aicore__ inline T ReadGmByPassDCache(__gm__ T* addr) {
    using namespace ascend_deepep::twin;
    static_assert(kIsBypassWord<T>, ASCEND_DEEPEP_WORD_TYPES);
    require_gm_word("ReadGmByPassDCache", addr, sizeof(T));
    T value;
    if (!load_modelled(GmPath::kScalarPast, addr, &value, sizeof(T))) {
        touch_gm(addr, sizeof(T), false);
        value = __atomic_load_n(addr, __ATOMIC_ACQUIRE);
    }
    note_look("ReadGmByPassDCache", addr, first_word(value));
    return value;
}

template <typename T>
__aicore__ inline T AtomicAdd(__gm__ T* address, T value) {
    using namespace ascend_deepep::twin;
    static_assert(kIsScalarAtomic<T>, ASCEND_DEEPEP_WORD_TYPES);
    return scalar_atomic("AtomicAdd", address, [&] { return add_word(address, value); });
}
template <typename T>
__aicore__ inline T AtomicMax(__gm__ T* address, T value) {
    using namespace ascend_deepep::twin;
    static_assert(kIsScalarAtomic<T>, ASCEND_DEEPEP_WORD_TYPES);
    return scalar_atomic("AtomicMax", address,
                         [&] { return update_word(address, [&](T seen) { return seen < value ? value : seen; }); });
}
template <typename T>
__aicore__ inline T AtomicMin(__gm__ T* address, T value) {
    using namespace ascend_deepep::twin;
    static_assert(kIsScalarAtomic<T>, ASCEND_DEEPEP_WORD_TYPES);
    return scalar_atomic("AtomicMin", address,
                         [&] { return update_word(address, [&](T seen) { return value < seen ? value : seen; }); });
}
// Writes value2 where the word equals value1; returns what was there.
template <typename T>
__aicore__ inline T AtomicCas(__gm__ T* address, T value1, T value2) {
    using namespace ascend_deepep::twin;
    static_assert(kIsOneOf<T, uint32_t, uint64_t>, ASCEND_DEEPEP_WORD_TYPES);
    return scalar_atomic("AtomicCas", address, [&] {
        __atomic_compare_exchange_n(address, &value1, value2, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return value1;
    });
}
template <typename T>
__aicore__ inline T AtomicExch(__gm__ T* address, T value) {
    using namespace ascend_deepep::twin;
    static_assert(kIsOneOf<T, uint32_t, uint64_t>, ASCEND_DEEPEP_WORD_TYPES);
    return scalar_atomic("AtomicExch", address, [&] { return __atomic_exchange_n(address, value, __ATOMIC_ACQ_REL); });
}

// Only the simulator keeps lines; for the others cleaning one is a fence.
template <typename T, CacheLine entireType, DcciDst dcciDst>
__aicore__ inline void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor) {
    if constexpr (dcciDst == DcciDst::CACHELINE_ALL || dcciDst == DcciDst::CACHELINE_OUT) {
        ascend_deepep::twin::clean_modelled(ascend_deepep::twin::GmUnit::kScalar,
                                            entireType == CacheLine::ENTIRE_DATA_CACHE ? nullptr : tensor.GetPhyAddr());
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
template <typename T, CacheLine entireType, DcciDst dcciDst>
__aicore__ inline void DataCacheCleanAndInvalid(const LocalTensor<T>&) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
template <typename T, CacheLine entireType>
__aicore__ inline void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor) {
    DataCacheCleanAndInvalid<T, entireType, DcciDst::CACHELINE_ALL>(tensor);
}

__aicore__ inline int64_t GetBlockIdx() {
    return ascend_deepep::twin::scalar_core("GetBlockIdx").index;
}
__aicore__ inline int64_t GetBlockNum() {
    return ascend_deepep::twin::scalar_core("GetBlockNum").num_cores;
}
// 1 GHz on this part: nanoseconds.
__aicore__ inline int64_t GetSystemCycle() {
    using namespace ascend_deepep::twin;
    if constexpr (Policy::kDeferred) {
        if (current_core_pointer != nullptr) return current_core().hooks->cycle();
    }
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}
__aicore__ inline constexpr uint32_t GetUBSizeInBytes() {
    return ascend_deepep::twin::kUbTotalBytes - ascend_deepep::twin::kUbReserveBytes;
}

template <int8_t startBit, int8_t endBit>
__aicore__ inline void SetCtrlSpr(int64_t value) {
    static_assert(ascend_deepep::twin::kIsCtrlField<startBit, endBit>, ASCEND_DEEPEP_CTRL_BITS);
    constexpr uint64_t kMask = ((uint64_t{1} << (endBit - startBit + 1)) - 1) << startBit;
    uint64_t& ctrl = ascend_deepep::twin::scalar_core("SetCtrlSpr").ctrl;
    ctrl = (ctrl & ~kMask) | ((static_cast<uint64_t>(value) << startBit) & kMask);
}
template <int8_t startBit, int8_t endBit>
__aicore__ inline int64_t GetCtrlSpr() {
    constexpr int kBits = endBit - startBit + 1;
    static_assert(startBit >= 0 && startBit <= endBit && endBit < 64, ASCEND_DEEPEP_CTRL_BITS);
    constexpr uint64_t kMask = kBits == 64 ? ~uint64_t{0} : (uint64_t{1} << kBits) - 1;
    return static_cast<int64_t>((ascend_deepep::twin::current_core().ctrl >> startBit) & kMask);
}
template <int8_t startBit, int8_t endBit>
__aicore__ inline void ResetCtrlSpr() {
    static_assert(ascend_deepep::twin::kIsCtrlField<startBit, endBit>, ASCEND_DEEPEP_CTRL_BITS);
    SetCtrlSpr<startBit, endBit>(static_cast<int64_t>(ascend_deepep::twin::kCtrlReset >> startBit));
}

}  // namespace AscendC
