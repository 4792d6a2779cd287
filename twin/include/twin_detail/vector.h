// SPDX-License-Identifier: Apache-2.0
// Vector instructions in their count forms: Duplicate, Add, Sub, Mul, Max, Min, Adds, Muls.
// Layer: twin/include. Work of pipe V. 16-bit floats compute in float and round once to nearest even.
#pragma once

#include "twin_detail/compile_rules.h"
#include "twin_detail/tpipe.h"

namespace ascend_deepep::twin {

template <typename T>
inline auto widened(T value) {
    if constexpr (kIsFloat16<T>) {
        return static_cast<float>(value);
    } else {
        return value;
    }
}

// Operand checks shared by all count forms: UB range and 32 B alignment. Gives the count as unsigned.
template <typename T>
inline void require_operand(const char* operation, const AscendC::LocalTensor<T>& tensor, int64_t count) {
    require(count >= 0, rules::kVectorCount, operation, static_cast<uint64_t>(count), 0, "check the arithmetic");
    require_ub_aligned(operation, tensor.twin_data());
    require_ub(operation, tensor.twin_data(), static_cast<uint64_t>(count) * sizeof(T), tensor.twin_buffer());
}

template <typename T>
inline UbSpan span_of(const AscendC::LocalTensor<T>& tensor, int64_t count) {
    return {tensor.twin_data(), static_cast<uint64_t>(count) * sizeof(T)};
}

// Operands either coincide or do not overlap (require_apart), so the elements are independent of each other. Out
// of line: inlined into a kernel they were seen to lose their vector form, and a store seemed to change the bounds.
#if defined(__clang__)
#define ASCEND_DEEPEP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ASCEND_DEEPEP_INDEPENDENT _Pragma("GCC ivdep")
#endif

template <typename T>
__attribute__((noinline)) void fill_elements(T* out, T value, int32_t count) {
    ASCEND_DEEPEP_INDEPENDENT
    for (int32_t i = 0; i < count; ++i) {
        out[i] = value;
    }
}

template <typename T, typename Op>
__attribute__((noinline)) void join_elements(T* out, const T* left, const T* right, int32_t count, Op op) {
    ASCEND_DEEPEP_INDEPENDENT
    for (int32_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(op(widened(left[i]), widened(right[i])));
    }
}

template <typename T, typename Op>
__attribute__((noinline)) void join_scalar(T* out, const T* in, T scalar, int32_t count, Op op) {
    const auto right = widened(scalar);
    ASCEND_DEEPEP_INDEPENDENT
    for (int32_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(op(widened(in[i]), right));
    }
}

template <typename T, typename Op>
inline void issue_binary(const char* operation, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src0,
                         const AscendC::LocalTensor<T>& src1, int32_t count, Op op) {
    require_operand(operation, dst, count);
    require_operand(operation, src0, count);
    require_operand(operation, src1, count);
    require_apart(operation, span_of(dst, count), span_of(src0, count), true);
    require_apart(operation, span_of(dst, count), span_of(src1, count), true);
    T* out = reinterpret_cast<T*>(dst.twin_data());
    const T* left = reinterpret_cast<const T*>(src0.twin_data());
    const T* right = reinterpret_cast<const T*>(src1.twin_data());
    issue(Pipe::kV, [=] { join_elements(out, left, right, count, op); });
}

template <typename T, typename Op>
inline void issue_scalar(const char* operation, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                         T scalar, int32_t count, Op op) {
    require_operand(operation, dst, count);
    require_operand(operation, src, count);
    require_apart(operation, span_of(dst, count), span_of(src, count), true);
    T* out = reinterpret_cast<T*>(dst.twin_data());
    const T* in = reinterpret_cast<const T*>(src.twin_data());
    issue(Pipe::kV, [=] { join_scalar(out, in, scalar, count, op); });
}

template <typename T>
constexpr bool kIsBinaryType =
    kIsOneOf<T, uint8_t, int8_t, half, uint16_t, int16_t, bfloat16_t, uint32_t, int32_t, float, int64_t, uint64_t>;

}  // namespace ascend_deepep::twin

namespace AscendC {

template <typename T>
__aicore__ inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count) {
    using namespace ascend_deepep::twin;
    static_assert(kIsBinaryType<T> || std::is_same_v<T, bool>, ASCEND_DEEPEP_VECTOR_TYPES);
    require_operand("Duplicate", dst, count);
    T* out = reinterpret_cast<T*>(dst.twin_data());
    issue(Pipe::kV, [out, value = scalarValue, n = count] { fill_elements(out, value, n); });
}

template <typename T>
__aicore__ inline void Add(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                           const int32_t& count) {
    static_assert(ascend_deepep::twin::kIsBinaryType<T>, ASCEND_DEEPEP_VECTOR_TYPES);
    ascend_deepep::twin::issue_binary("Add", dst, src0, src1, count, [](auto a, auto b) { return a + b; });
}
template <typename T>
__aicore__ inline void Sub(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                           const int32_t& count) {
    static_assert(ascend_deepep::twin::kIsBinaryType<T>, ASCEND_DEEPEP_VECTOR_TYPES);
    ascend_deepep::twin::issue_binary("Sub", dst, src0, src1, count, [](auto a, auto b) { return a - b; });
}
template <typename T>
__aicore__ inline void Mul(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                           const int32_t& count) {
    static_assert(ascend_deepep::twin::kIsBinaryType<T> && !std::is_same_v<T, int8_t> && !std::is_same_v<T, uint8_t>,
                  ASCEND_DEEPEP_VECTOR_TYPES);
    ascend_deepep::twin::issue_binary("Mul", dst, src0, src1, count, [](auto a, auto b) { return a * b; });
}
template <typename T>
__aicore__ inline void Max(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                           const int32_t& count) {
    static_assert(ascend_deepep::twin::kIsBinaryType<T>, ASCEND_DEEPEP_VECTOR_TYPES);
    ascend_deepep::twin::issue_binary("Max", dst, src0, src1, count, [](auto a, auto b) { return a < b ? b : a; });
}
template <typename T>
__aicore__ inline void Min(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                           const int32_t& count) {
    static_assert(ascend_deepep::twin::kIsBinaryType<T>, ASCEND_DEEPEP_VECTOR_TYPES);
    ascend_deepep::twin::issue_binary("Min", dst, src0, src1, count, [](auto a, auto b) { return b < a ? b : a; });
}

template <typename T, bool isSetMask = true>
__aicore__ inline void Adds(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,
                            const int32_t& count) {
    static_assert(
        ascend_deepep::twin::kIsOneOf<T, uint8_t, int8_t, half, bfloat16_t, float, int16_t, int32_t, int64_t, uint64_t>,
        ASCEND_DEEPEP_VECTOR_TYPES);
    ascend_deepep::twin::issue_scalar("Adds", dst, src, scalarValue, count, [](auto a, auto b) { return a + b; });
}
template <typename T, bool isSetMask = true>
__aicore__ inline void Muls(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,
                            const int32_t& count) {
    static_assert(ascend_deepep::twin::kIsOneOf<T, half, bfloat16_t, float, int16_t, int32_t, int64_t, uint64_t>,
                  ASCEND_DEEPEP_VECTOR_TYPES);
    ascend_deepep::twin::issue_scalar("Muls", dst, src, scalarValue, count, [](auto a, auto b) { return a * b; });
}

}  // namespace AscendC
