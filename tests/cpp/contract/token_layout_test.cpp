// SPDX-License-Identifier: Apache-2.0
//
// Golden byte maps of token copies, rows and blocks. Layer: tests. The numbers were computed apart from the contract,
// from docs/protocol.md; a change of the wire format must change them by hand.
#include "contract/token_layout.h"

#include "check.h"

using namespace ascend_deepep;

namespace {

struct Golden {
    uint32_t payload_bytes, scale_bytes, entries, weights;
    // scale offset, header offset, header bytes, first header block, blocks, slot bytes
    uint32_t want[6];
};

constexpr Golden kGolden[] = {
    {128, 0, 1, 0, {128, 128, 32, 0, 1, 512}},
    {128, 0, 8, 0, {128, 128, 64, 0, 1, 512}},
    {160, 0, 2, 0, {160, 160, 32, 0, 1, 512}},
    {160, 0, 16, 0, {160, 160, 96, 0, 1, 512}},
    {2048, 0, 8, 0, {2048, 2048, 64, 4, 5, 2560}},
    {2080, 0, 2, 0, {2080, 2080, 32, 4, 5, 2560}},
    {2080, 0, 16, 0, {2080, 2080, 96, 4, 5, 2560}},
    {8192, 0, 12, 0, {8192, 8192, 64, 17, 18, 9216}},
    {14336, 0, 8, 0, {14336, 14336, 64, 29, 30, 15360}},
    {14336, 0, 9, 0, {14336, 14336, 64, 29, 30, 15360}},
    {14336, 0, 16, 0, {14336, 14336, 96, 29, 31, 15872}},
    {16384, 0, 8, 0, {16384, 16384, 64, 34, 35, 17920}},
    {16384, 0, 16, 0, {16384, 16384, 96, 34, 35, 17920}},
    {16384, 0, 20, 0, {16384, 16384, 96, 34, 35, 17920}},
    {64, 4, 2, 0, {64, 96, 32, 0, 1, 512}},
    {7168, 4, 8, 0, {7168, 7200, 64, 15, 16, 8192}},
    {7168, 224, 8, 0, {7168, 7392, 64, 15, 16, 8192}},
    {7168, 224, 9, 8, {7168, 7392, 96, 15, 16, 8192}},
    {1056, 36, 8, 0, {1056, 1120, 64, 2, 3, 1536}},
    {1056, 34, 8, 8, {1056, 1120, 96, 2, 3, 1536}},
    {80, 4, 1, 1, {96, 128, 32, 0, 1, 512}},
    {8192, 512, 20, 16, {8192, 8704, 160, 18, 19, 9728}},
    {14336, 0, 8, 8, {14336, 14336, 96, 29, 31, 15872}},
};

}  // namespace

TEST(token_layout_equals_golden_table) {
    for (const Golden& g : kGolden) {
        const TokenLayout got = token_layout(g.payload_bytes, g.scale_bytes, g.entries, g.weights);
        CHECK_EQ(got.payload_bytes, g.payload_bytes);
        CHECK_EQ(got.scale_bytes, g.scale_bytes);
        CHECK_EQ(got.scale_offset, g.want[0]);
        CHECK_EQ(got.header_offset, g.want[1]);
        CHECK_EQ(got.header_bytes, g.want[2]);
        CHECK_EQ(got.first_header_block, g.want[3]);
        CHECK_EQ(got.blocks, g.want[4]);
        CHECK_EQ(got.slot_bytes, g.want[5]);
    }
}

TEST(row_layout_equals_golden_numbers) {
    CHECK_EQ(row_layout(64, false).blocks, 1U);
    CHECK_EQ(row_layout(240, false).blocks, 1U);  // 480 B: exactly one block
    CHECK_EQ(row_layout(256, false).blocks, 2U);
    CHECK_EQ(row_layout(1024, false).blocks, 5U);
    CHECK_EQ(row_layout(7168, false).blocks, 30U);
    CHECK_EQ(row_slot_bytes(7168), 15360U);
    CHECK_EQ(row_slot_bytes(8192), 17920U);
    CHECK_EQ(row_layout(7168, true).scale_offset, 7168U);
    CHECK_EQ(row_layout(7168, true).scale_bytes, 1792U);  // a 16-bit scale per 8 elements
    CHECK_EQ(row_layout(7168, true).blocks, 19U);
    CHECK_EQ(row_layout(80, true).scale_offset, 96U);
    CHECK_EQ(row_layout(80, true).scale_bytes, 20U);
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
        const TokenLayout layout = widest_token_layout(hidden, kMaxTopk, kMaxSharedExperts);
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
    CHECK_EQ(pack_token(8191, kAllColumns), 0xFFFF1FFFU);
    CHECK_EQ(token_of(0x00051FFFU), 8191U);
    CHECK_EQ(column_of(0x00051FFFU), 5U);
    for (const uint32_t expert : {0U, 1U, 1023U, 65535U}) {
        for (const uint32_t ordinal : {0U, 1U, 8191U, 65535U}) {
            CHECK_EQ(entry_expert(pack_entry(expert, ordinal)), expert);
            CHECK_EQ(entry_ordinal(pack_entry(expert, ordinal)), ordinal);
        }
    }
}
