// SPDX-License-Identifier: Apache-2.0
//
// Golden byte maps of token copies, rows and blocks. Layer: tests. The numbers were computed apart from the contract,
// from docs/protocol.md; a change of the wire format must change them by hand.
#include "contract/token_layout.h"

#include "check.h"

using namespace ascend_deepep;

namespace {

struct Golden {
    uint32_t hidden, entries;
    TokenLayout want;  // payload, header offset, header bytes, first header block, blocks, slot bytes
};

constexpr Golden kGolden[] = {
    {64, 1, {128, 128, 32, 0, 1, 512}},
    {64, 8, {128, 128, 64, 0, 1, 512}},
    {80, 2, {160, 160, 32, 0, 1, 512}},
    {80, 16, {160, 160, 96, 0, 1, 512}},
    {1024, 8, {2048, 2048, 64, 4, 5, 2560}},
    {1040, 2, {2080, 2080, 32, 4, 5, 2560}},
    {1040, 16, {2080, 2080, 96, 4, 5, 2560}},
    {4096, 12, {8192, 8192, 64, 17, 18, 9216}},
    {7168, 8, {14336, 14336, 64, 29, 30, 15360}},
    {7168, 9, {14336, 14336, 64, 29, 30, 15360}},
    {7168, 16, {14336, 14336, 96, 29, 31, 15872}},
    {8192, 8, {16384, 16384, 64, 34, 35, 17920}},
    {8192, 16, {16384, 16384, 96, 34, 35, 17920}},
    {8192, 20, {16384, 16384, 96, 34, 35, 17920}},
};

}  // namespace

TEST(token_layout_equals_golden_table) {
    for (const Golden& g : kGolden) {
        const TokenLayout got = token_layout(g.hidden, g.entries);
        CHECK_EQ(got.payload_bytes, g.want.payload_bytes);
        CHECK_EQ(got.header_offset, g.want.header_offset);
        CHECK_EQ(got.header_bytes, g.want.header_bytes);
        CHECK_EQ(got.first_header_block, g.want.first_header_block);
        CHECK_EQ(got.blocks, g.want.blocks);
        CHECK_EQ(got.slot_bytes, g.want.slot_bytes);
    }
}

TEST(row_layout_equals_golden_numbers) {
    CHECK_EQ(row_blocks(64), 1U);
    CHECK_EQ(row_blocks(240), 1U);  // 480 B: exactly one block
    CHECK_EQ(row_blocks(256), 2U);
    CHECK_EQ(row_blocks(1024), 5U);
    CHECK_EQ(row_blocks(7168), 30U);
    CHECK_EQ(row_slot_bytes(7168), 15360U);
    CHECK_EQ(row_slot_bytes(8192), 17920U);
}

TEST(data_bytes_skip_the_flag_areas) {
    CHECK_EQ(slot_offset(0), 0ULL);
    CHECK_EQ(slot_offset(479), 479ULL);
    CHECK_EQ(slot_offset(480), 512ULL);
    CHECK_EQ(slot_offset(959), 991ULL);
    CHECK_EQ(slot_offset(960), 1024ULL);
    CHECK_EQ(slot_offset(14336), 15264ULL);  // the published place of the header at hidden 7168
    CHECK_EQ(slot_offset(14399), 15327ULL);
    CHECK_EQ(slot_offset(14400), 15360ULL);  // top-16: the header ends one block later
    CHECK_EQ(flag_offset(0), 480ULL);
    CHECK_EQ(flag_offset(29), 15328ULL);
}

// Rows and bytes past 2^31 elements and 2^32 bytes (public report 23, row 262145 of hidden 8192 among them).
TEST(offsets_do_not_wrap_at_32_bits) {
    CHECK_EQ(slot_offset(262145ULL * 8192 * 2), 4581315904ULL);
    CHECK_EQ(slot_offset(65537ULL * 32768 * 2), 4581368352ULL);
    CHECK_EQ(flag_offset(1ULL << 32), 2199023256032ULL);
    CHECK_EQ(align_up((1ULL << 40) + 1, 4096), (1ULL << 40) + 4096);
}

TEST(units_of_copies_never_straddle_a_flag_area) {
    for (uint32_t hidden = kMinHidden; hidden <= kMaxHidden; hidden += kHiddenMultiple) {
        const TokenLayout layout = token_layout(hidden, kMaxTopk + kMaxSharedExperts);
        CHECK_EQ(layout.header_offset % kUnitBytes, 0U);
        CHECK_EQ(layout.header_bytes % kUnitBytes, 0U);
        CHECK(layout.header_offset >= layout.payload_bytes);
        CHECK(layout.header_offset + layout.header_bytes <= layout.blocks * kBlockDataBytes);
        CHECK(layout.header_offset >= layout.first_header_block * kBlockDataBytes);
        CHECK(layout.header_offset < (layout.first_header_block + 1) * kBlockDataBytes);
    }
}

TEST(entries_keep_expert_and_ordinal) {
    CHECK_EQ(pack_entry(0x1234, 0x0056), 0x00561234U);
    CHECK_EQ(pack_entry(kNoExpert, 0), 0x0000FFFFU);
    for (const uint32_t expert : {0U, 1U, 1023U, 65535U}) {
        for (const uint32_t ordinal : {0U, 1U, 8191U, 65535U}) {
            CHECK_EQ(entry_expert(pack_entry(expert, ordinal)), expert);
            CHECK_EQ(entry_ordinal(pack_entry(expert, ordinal)), ordinal);
        }
    }
}
