// SPDX-License-Identifier: Apache-2.0
// half (IEEE binary16) and bfloat16_t as 16-bit classes with explicit conversions only, and their exact conversions:
// round to nearest even, subnormals kept, NaNs keep sign and upper payload and become quiet.
// Layer: twin/include. Selects instead of branches, so that loops over them vectorise.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ascend_deepep::twin {

inline uint32_t float_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

inline float bits_float(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

// `yes` where the condition holds, else `no`, without a branch: a branch around a float operation would keep a loop
// from being vectorised, since float operations may trap.
inline uint32_t select(bool condition, uint32_t yes, uint32_t no) {
    const uint32_t mask = 0u - static_cast<uint32_t>(condition);
    return (yes & mask) | (no & ~mask);
}

inline float half_bits_to_float(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t magnitude = bits & 0x7fffu;
    const uint32_t rebias = 112u << 23;  // float's exponent bias minus half's
    const uint32_t special = select(magnitude >= 0x7c00u, rebias, 0);
    const uint32_t quiet = select(magnitude > 0x7c00u, 0x00400000u, 0);
    const uint32_t normal = ((magnitude << 13) + rebias + special) | quiet;
    const uint32_t subnormal = float_bits(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
    return bits_float(sign | select(magnitude < 0x400u, subnormal, normal));
}

inline uint16_t float_to_half_bits(float value) {
    const uint32_t bits = float_bits(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Normal results: drop 13 bits with ties to even; a carry moves into the exponent as it should.
    const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Subnormal results: adding 0.5 aligns the last place to 2^-24 and rounds in the float adder.
    const uint32_t subnormal = float_bits(bits_float(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
    const uint32_t finite = select(magnitude < 0x38800000u, subnormal, normal);
    const uint32_t number = select(magnitude >= 0x477ff000u, 0x7c00u, finite);  // 65520 and above round to infinity
    return static_cast<uint16_t>(sign | select(magnitude > 0x7f800000u, nan, number));
}

inline float bfloat16_bits_to_float(uint16_t bits) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    return bits_float(wide | select((wide & 0x7fffffffu) > 0x7f800000u, 0x00400000u, 0));
}

inline uint16_t float_to_bfloat16_bits(float value) {
    const uint32_t bits = float_bits(value);
    const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return static_cast<uint16_t>(select((bits & 0x7fffffffu) > 0x7f800000u, bits | 0x00400000u, rounded) >> 16);
}

}  // namespace ascend_deepep::twin

class half {
  public:
    half() = default;
    explicit half(float value) : bits_(ascend_deepep::twin::float_to_half_bits(value)) {}
    explicit operator float() const { return ascend_deepep::twin::half_bits_to_float(bits_); }
    static half from_bits(uint16_t bits) {
        half result;
        result.bits_ = bits;
        return result;
    }
    uint16_t bits() const { return bits_; }

  private:
    uint16_t bits_;
};

class bfloat16_t {
  public:
    bfloat16_t() = default;
    explicit bfloat16_t(float value) : bits_(ascend_deepep::twin::float_to_bfloat16_bits(value)) {}
    explicit operator float() const { return ascend_deepep::twin::bfloat16_bits_to_float(bits_); }
    static bfloat16_t from_bits(uint16_t bits) {
        bfloat16_t result;
        result.bits_ = bits;
        return result;
    }
    uint16_t bits() const { return bits_; }

  private:
    uint16_t bits_;
};

static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half> && std::is_trivial_v<half>);
static_assert(sizeof(bfloat16_t) == 2 && std::is_trivially_copyable_v<bfloat16_t> && std::is_trivial_v<bfloat16_t>);

namespace ascend_deepep::twin {
template <typename T>
constexpr bool kIsFloat16 = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>;
template <typename T, typename... Choices>
constexpr bool kIsOneOf = (std::is_same_v<T, Choices> || ...);
}  // namespace ascend_deepep::twin
