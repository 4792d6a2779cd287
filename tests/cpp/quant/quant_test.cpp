// SPDX-License-Identifier: Apache-2.0
// The SIMT functions of op_kernel/quant in UB against the model: every byte of an image, every family, both row types.
// Layer: tests.
#include "op_kernel/quant/combine_int8.h"
#include "op_kernel/quant/mx.h"
#include "op_kernel/quant/per_group.h"
#include "op_kernel/quant/per_token.h"
#include "op_kernel/quant/static_int8.h"
#include "tests/cpp/quant/image.h"

namespace ascend_deepep::quant_test {
namespace {

using namespace kernel;

constexpr uint32_t kHiddens[] = {64, 80, 112, 1056, 7168, 8192};  // 80 and 112 end in short groups, 1056 in both kinds

// Calls check(row, hidden, threads) with every content, hidden and width.
template <typename T, typename Check>
void for_all_rows(Check check) {
    for (uint32_t hidden : kHiddens) {
        for (Content content : kContents) {
            for (uint32_t threads : kThreads) {
                check(make_row(content, hidden, T::format(), 1 + threads), hidden, dim3(threads));
            }
        }
    }
}

void check_image(const Image& image, const Wire& want, uint32_t scale_offset, uint32_t padded_scales) {
    const auto values = static_cast<uint32_t>(want.values.size());
    CHECK(image.data(0, values) == want.values);
    CHECK(image.data(scale_offset, static_cast<uint32_t>(want.scales.size())) == want.scales);
    const auto end = scale_offset + static_cast<uint32_t>(want.scales.size());
    for (uint8_t byte : image.data(end, padded_scales - static_cast<uint32_t>(want.scales.size())))
        CHECK_EQ(byte, 0);
    CHECK_EQ(image.strayed(values, scale_offset, scale_offset + padded_scales), 0U);
}

uint32_t units(uint32_t bytes) {
    return (bytes + 31) / 32 * 32;
}

template <typename T>
void check_static() {
    using K = typename T::Kernel;
    for_all_rows<T>([](const std::vector<uint16_t>& row, uint32_t hidden, dim3 threads) {
        const std::vector<float> factors = make_factors(hidden, threads.x);
        const Image by_row(hidden, row, factors, [&](const Ub& ub) {
            asc_vf_call<quantise_by_row<K>>(threads, ub.image, ub.row, ub.factors, hidden);
        });
        check_image(by_row, static_int8(row, T::format(), factors), hidden, 0);
        for (float factor : {0.37F, 40.0F, -1e30F, 0.0F, std::numeric_limits<float>::infinity()}) {
            const Image by_scalar(hidden, row, {}, [&](const Ub& ub) {
                asc_vf_call<quantise_by_scalar<K>>(threads, ub.image, ub.row, twin::float_bits(factor), hidden);
            });
            check_image(by_scalar, static_int8(row, T::format(), {factor}), hidden, 0);
        }
    });
}

TEST(static_int8_bf16) {
    check_static<Bf16>();
}
TEST(static_int8_fp16) {
    check_static<Fp16>();
}

template <typename T, typename Code>
void check_token(Element element) {
    using K = typename T::Kernel;
    for_all_rows<T>([&](const std::vector<uint16_t>& row, uint32_t hidden, dim3 threads) {
        const uint32_t offset = units(hidden);
        const Image plain(offset + 32, row, {}, [&](const Ub& ub) {
            asc_vf_call<quantise_token<K, Code, false>>(threads, ub.image, ub.row, ub.factors, ub.scratch, hidden,
                                                        offset);
        });
        check_image(plain, scaled(row, T::format(), element, hidden, {}), offset, 4);
        const std::vector<float> factors = make_factors(hidden, threads.x);
        const Image smoothed(offset + 32, row, factors, [&](const Ub& ub) {
            asc_vf_call<quantise_token<K, Code, true>>(threads, ub.image, ub.row, ub.factors, ub.scratch, hidden,
                                                       offset);
        });
        check_image(smoothed, scaled(row, T::format(), element, hidden, factors), offset, 4);
    });
}

TEST(token_int8) {
    check_token<Bf16, Int8>(Element::kInt8);
    check_token<Fp16, Int8>(Element::kInt8);
}
TEST(token_e4m3) {
    check_token<Bf16, E4m3>(Element::kE4m3);
    check_token<Fp16, E4m3>(Element::kE4m3);
}
TEST(token_e5m2) {
    check_token<Bf16, E5m2>(Element::kE5m2);
    check_token<Fp16, E5m2>(Element::kE5m2);
}

template <typename T, typename Code>
void check_group(Element element) {
    using K = typename T::Kernel;
    for_all_rows<T>([&](const std::vector<uint16_t>& row, uint32_t hidden, dim3 threads) {
        const uint32_t offset = units(hidden);
        const uint32_t scale_bytes = (hidden + 127) / 128 * 4;
        const Image plain(offset + units(scale_bytes), row, {}, [&](const Ub& ub) {
            asc_vf_call<quantise_groups<K, Code, false>>(threads, ub.image, ub.row, ub.factors, hidden, offset);
        });
        check_image(plain, scaled(row, T::format(), element, 128, {}), offset, scale_bytes);
        const std::vector<float> factors = make_factors(hidden, threads.x);
        const Image smoothed(offset + units(scale_bytes), row, factors, [&](const Ub& ub) {
            asc_vf_call<quantise_groups<K, Code, true>>(threads, ub.image, ub.row, ub.factors, hidden, offset);
        });
        check_image(smoothed, scaled(row, T::format(), element, 128, factors), offset, scale_bytes);
    });
}

TEST(group_e4m3) {
    check_group<Bf16, E4m3>(Element::kE4m3);
    check_group<Fp16, E4m3>(Element::kE4m3);
}
TEST(group_e5m2) {
    check_group<Bf16, E5m2>(Element::kE5m2);
    check_group<Fp16, E5m2>(Element::kE5m2);
}

template <typename T, typename Code>
void check_mx(Element element) {
    using K = typename T::Kernel;
    for_all_rows<T>([&](const std::vector<uint16_t>& row, uint32_t hidden, dim3 threads) {
        const uint32_t offset = units(hidden);
        const uint32_t scale_bytes = (hidden + 127) / 128 * 4;  // whole words: zeros behind the last scale
        const Image image(offset + units(scale_bytes), row, {}, [&](const Ub& ub) {
            asc_vf_call<quantise_mx<K, Code>>(threads, ub.image, ub.row, hidden, offset);
        });
        check_image(image, mx(row, T::format(), element), offset, scale_bytes);
    });
}

TEST(mx_e4m3) {
    check_mx<Bf16, E4m3>(Element::kE4m3);
    check_mx<Fp16, E4m3>(Element::kE4m3);
}
TEST(mx_e5m2) {
    check_mx<Bf16, E5m2>(Element::kE5m2);
    check_mx<Fp16, E5m2>(Element::kE5m2);
}

uint32_t fold_nan(uint16_t code, const Format& format) {
    return (code & 0x7FFFU) > format.infinity() ? format.nan() : code;
}

template <typename T>
void check_combine() {
    using K = typename T::Kernel;
    for_all_rows<T>([](const std::vector<uint16_t>& row, uint32_t hidden, dim3 threads) {
        const uint32_t offset = units(hidden);
        const Image image(offset + units(hidden / 4), row, {}, [&](const Ub& ub) {
            asc_vf_call<quantise_wire<K>>(threads, ub.image, ub.row, hidden, offset);
        });
        const Wire want = combine_int8(row, T::format());
        check_image(image, want, offset, hidden / 4);

        // The receiver has values and scales side by side.
        std::vector<uint16_t> wire(units(hidden) / 2 + hidden / 8);
        std::memcpy(wire.data(), want.values.data(), hidden);
        std::memcpy(wire.data() + units(hidden) / 2, want.scales.data(), hidden / 4);
        const Image decoded(hidden * 2, wire, {}, [&](const Ub& ub) {
            asc_vf_call<decode_wire<K>>(threads, reinterpret_cast<K*>(ub.image), ub.row,
                                        reinterpret_cast<uint32_t*>(ub.row) + offset / 4, hidden / kPackElements);
        });
        const std::vector<uint16_t> rows = combine_int8_decoded(want, T::format());
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < hidden; ++i) {
            const std::vector<uint8_t> bytes = decoded.raw(i * 2, 2);
            const auto code = static_cast<uint16_t>(bytes[0] | bytes[1] << 8);
            wrong += fold_nan(code, T::format()) != fold_nan(rows[i], T::format());
        }
        CHECK_EQ(wrong, 0U);
    });
}

TEST(combine_int8_bf16) {
    check_combine<Bf16>();
}
TEST(combine_int8_fp16) {
    check_combine<Fp16>();
}

// float32 words that decide: every code's value, every middle between two, their neighbours, the ends, both signs.
std::vector<uint32_t> deciding_words(const Format& format) {
    std::vector<uint32_t> words = {0,          1,          0x7FFFFF,   0x800000,  0x7F7FFFFF,
                                   0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF};
    for (uint32_t code = 0; code + 1 < format.infinity(); ++code) {
        const double low = format.value(code), high = format.value(code + 1);
        for (double value : {low, (low + high) / 2, high, high + (high - low) / 2}) {
            const uint32_t word = twin::float_bits(static_cast<float>(value));
            words.insert(words.end(), {word == 0 ? 0 : word - 1, word, word + 1});
        }
    }
    const size_t positive = words.size();
    for (size_t i = 0; i < positive; ++i)
        words.push_back(words[i] | 0x80000000U);
    return words;
}

template <typename Code>
void check_codes(const Format& format, Element element) {
    twin_test::run_kernel([&] {
        uint32_t wrong = 0;
        for (uint32_t word : deciding_words(format))
            wrong += Code::code(twin::bits_float(word)) != element_code(double(twin::bits_float(word)), element);
        for (uint32_t word = 0; word < 0xFFFF0000U; word += 65521)
            wrong += Code::code(twin::bits_float(word)) != element_code(double(twin::bits_float(word)), element);
        CHECK_EQ(wrong, 0U);
    });
}

TEST(codes_of_deciding_floats) {
    check_codes<E4m3>(e4m3(), Element::kE4m3);
    check_codes<E5m2>(e5m2(), Element::kE5m2);
    check_codes<Int8>(fp16(), Element::kInt8);  // all halves between -128 and 128, and beyond
}

TEST(known_codes) {
    CHECK_EQ(E4m3::code(448.0F), 0x7EU);
    CHECK_EQ(E4m3::code(-1e30F), 0xFEU);
    CHECK_EQ(E4m3::code(0x1p-9F), 1U);   // the smallest subnormal
    CHECK_EQ(E4m3::code(0x1p-10F), 0U);  // half of it: a tie goes to even
    CHECK_EQ(E5m2::code(57344.0F), 0x7BU);
    CHECK_EQ(E5m2::code(std::numeric_limits<float>::infinity()), 0x7BU);
    CHECK_EQ(E5m2::code(-std::numeric_limits<float>::quiet_NaN()), 0x7FU);
    CHECK_EQ(Int8::code(2.5F), 2U);
    CHECK_EQ(Int8::code(-128.6F), 0x80U);
    CHECK_EQ(Int8::code(std::numeric_limits<float>::quiet_NaN()), 0U);
}

}  // namespace
}  // namespace ascend_deepep::quant_test
