// SPDX-License-Identifier: Apache-2.0
//
// Golden maps of the window and the workspace for several communicators. Layer: tests.
// Computed apart from the contract, from the sizes in docs/protocol.md.
#include "contract/window_layout.h"

#include "check.h"

using namespace ascend_deepep;

namespace {

struct Golden {
    CommunicatorLimits limits;
    Region window[kNumWindowRegions];
    uint64_t window_bytes;
    Region workspace[kNumWorkspaceRegions];
    uint64_t workspace_bytes;
};

constexpr Golden kGolden[] = {
    {{8, 128, 7168, 8, 256, 0},
     {{0, 32768},
      {32768, 16384},
      {49152, 4096},
      {53248, 1966080},
      {2019328, 15728640},
      {17747968, 15728640},
      {33476608, 15728640},
      {49205248, 15728640},
      {64933888, 491520}},
     65425408,
     {{0, 8192}, {8704, 4096}, {13312, 32}, {13824, 1024}, {15360, 4672}, {20480, 1024}, {22016, 64}, {22528, 1024}},
     24064},
    {{1, 1, 64, 1, 1, 0},
     {{0, 32768},
      {32768, 2048},
      {36864, 512},
      {40960, 512},
      {45056, 512},
      {49152, 512},
      {53248, 512},
      {57344, 512},
      {61440, 2048}},
     65536,
     {{0, 32}, {512, 4}, {1024, 4}, {1536, 4}, {2048, 4672}, {7168, 4}, {7680, 8}, {8192, 4}},
     8704},
    {{3, 5, 1040, 2, 15, 0},
     {{0, 32768},
      {32768, 6144},
      {40960, 1536},
      {45056, 12800},
      {61440, 38400},
      {102400, 38400},
      {143360, 25600},
      {172032, 25600},
      {200704, 30720}},
     233472,
     {{0, 160}, {512, 60}, {1024, 12}, {1536, 60}, {2048, 4672}, {7168, 60}, {7680, 24}, {8192, 60}},
     8704},
    {{16, 512, 8192, 16, 256, 4},
     {{0, 32768},
      {32768, 32768},
      {65536, 8192},
      {73728, 9175040},
      {9248768, 146800640},
      {156049408, 146800640},
      {302850048, 183500800},
      {486350848, 183500800},
      {669851648, 1146880}},
     670998528,
     {{0, 49152},
      {49664, 32768},
      {82944, 64},
      {83456, 1024},
      {84992, 4672},
      {90112, 1024},
      {91648, 128},
      {92160, 1024}},
     93696},
    // The largest communicator: far beyond 32 bits, and in the host's arithmetic only.
    {{1024, 8192, 8192, 16, 1024, 4},
     {{0, 32768},
      {32768, 2097152},
      {2129920, 524288},
      {2654208, 146800640},
      {149454848, 150323855360},
      {150473310208, 150323855360},
      {300797165568, 2936012800},
      {303733178368, 2936012800},
      {306669191168, 73400320}},
     306742591488,
     {{0, 786432},
      {786944, 33554432},
      {34341888, 4096},
      {34346496, 4096},
      {34351104, 4672},
      {34356224, 4096},
      {34360832, 8192},
      {34369536, 4096}},
     34374144},
};

}  // namespace

TEST(window_equals_golden_map) {
    for (const Golden& g : kGolden) {
        const WindowLayout got = window_layout(g.limits);
        for (uint32_t i = 0; i < kNumWindowRegions; ++i) {
            CHECK_EQ(got.regions[i].offset, g.window[i].offset);
            CHECK_EQ(got.regions[i].bytes, g.window[i].bytes);
        }
        CHECK_EQ(got.total_bytes, g.window_bytes);
    }
}

TEST(workspace_equals_golden_map) {
    for (const Golden& g : kGolden) {
        const WorkspaceLayout got = workspace_layout(g.limits);
        for (uint32_t i = 0; i < kNumWorkspaceRegions; ++i) {
            CHECK_EQ(got.regions[i].offset, g.workspace[i].offset);
            CHECK_EQ(got.regions[i].bytes, g.workspace[i].bytes);
        }
        CHECK_EQ(got.total_bytes, g.workspace_bytes);
    }
}

TEST(regions_are_aligned_and_do_not_overlap) {
    for (const Golden& g : kGolden) {
        const WindowLayout window = window_layout(g.limits);
        for (uint32_t i = 0; i < kNumWindowRegions; ++i) {
            CHECK_EQ(window.regions[i].offset % 4096, 0ULL);
            const uint64_t next = i + 1 < kNumWindowRegions ? window.regions[i + 1].offset : window.total_bytes;
            CHECK(window.regions[i].offset + window.regions[i].bytes <= next);
        }
        const WorkspaceLayout workspace = workspace_layout(g.limits);
        for (uint32_t i = 0; i < kNumWorkspaceRegions; ++i) {
            CHECK_EQ(workspace.regions[i].offset % 32, 0ULL);
            const uint64_t next =
                i + 1 < kNumWorkspaceRegions ? workspace.regions[i + 1].offset : workspace.total_bytes;
            CHECK(workspace.regions[i].offset + workspace.regions[i].bytes + kUnitBytes <= next);
        }
    }
}

// A message of 128 B and 4 B per local expert: 88 experts fill the first block.
TEST(control_messages_grow_with_local_experts) {
    CHECK_EQ(control_blocks(0), 1U);
    CHECK_EQ(control_blocks(88), 1U);
    CHECK_EQ(control_blocks(89), 2U);
    CHECK_EQ(control_blocks(208), 2U);
    CHECK_EQ(control_blocks(209), 3U);
    CHECK_EQ(control_blocks(1024), 9U);
}

TEST(wire_structures_have_their_golden_offsets) {
    CHECK_EQ(__builtin_offsetof(ControlHeader, signature), 16UL);
    CHECK_EQ(__builtin_offsetof(ControlHeader, consumed), 64UL);
    CHECK_EQ(__builtin_offsetof(ControlHeader, refusal), 80UL);
    CHECK_EQ(__builtin_offsetof(Refusal, got), 16UL);
    CHECK_EQ(__builtin_offsetof(Refusal, rank), 32UL);
    CHECK_EQ(__builtin_offsetof(ErrorRecord, sequence), 16UL);
    CHECK_EQ(__builtin_offsetof(ErrorRecord, missing), 64UL);
    CHECK_EQ(__builtin_offsetof(ErrorRecord, got), 192UL);
    CHECK_EQ(__builtin_offsetof(TokenHeader, token), 4UL);
    CHECK_EQ(__builtin_offsetof(ControlPage, cores), 960UL);
}
