// SPDX-License-Identifier: Apache-2.0
//
// Tags and local flags, at the carry of the low word too. Layer: tests.
#include "contract/tag.h"

#include "check.h"

using namespace ascend_deepep;

TEST(tags_carry_into_the_high_word) {
    const uint64_t base = 0x0000000700000000ULL;
    CHECK_EQ(make_tag(base, 1), 0x0000000700000001ULL);
    CHECK_EQ(make_tag(base, 0xFFFFFFFFULL), 0x00000007FFFFFFFFULL);
    CHECK_EQ(make_tag(base, 0x100000000ULL), 0x0000000800000000ULL);
    CHECK_EQ(make_tag(base | 0xFFFFFFFEULL, 1), 0x00000007FFFFFFFFULL);
    CHECK_EQ(make_tag(base | 0xFFFFFFFEULL, 2), 0x0000000800000000ULL);
}

TEST(flags_are_current_for_one_operation_only) {
    const uint64_t base = 0x12345678FFFFFFFEULL;
    for (uint64_t t = 0; t < 4; ++t) {
        const uint64_t flag = pack_flag(make_tag(base, t), 42);
        CHECK_EQ(flag_value(flag), 42U);
        for (uint64_t other = 0; other < 4; ++other) {
            CHECK_EQ(flag_is_current(flag, make_tag(base, other)), t == other);
        }
    }
}

TEST(flags_hold_the_low_word_and_the_value_plus_one) {
    CHECK_EQ(pack_flag(0xAAAAAAAA00000001ULL, 0xFFFFFFFEU), 0x00000001FFFFFFFFULL);
    CHECK_EQ(pack_flag(0xAAAAAAAAFFFFFFFFULL, 0), 0xFFFFFFFF00000001ULL);
    CHECK_EQ(flag_value(0x00000001FFFFFFFFULL), 0xFFFFFFFEU);
}

// The operation whose low tag word is 0 must not take a word that nobody has written for its flag.
TEST(a_zero_word_is_never_a_flag) {
    CHECK(!flag_is_current(0, 0x0000000800000000ULL));
    CHECK(flag_is_current(pack_flag(0x0000000800000000ULL, 0), 0x0000000800000000ULL));
}
