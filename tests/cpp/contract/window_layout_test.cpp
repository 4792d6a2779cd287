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
     {{0, 81920},
      {81920, 16384},
      {98304, 4096},
      {102400, 2031616},
      {2134016, 16252928},
      {18386944, 16252928},
      {34639872, 15728640},
      {50368512, 15728640},
      {66097152, 491520}},
     66588672,
     {{0, 12288},
      {12800, 4096},
      {17408, 32},
      {17920, 1056},
      {19456, 4608},
      {24576, 4672},
      {29696, 1024},
      {31232, 64},
      {31744, 1024},
      {33280, 32},
      {33792, 4096}},
     38400},
    {{1, 1, 64, 1, 1, 0},
     {{0, 81920},
      {81920, 2048},
      {86016, 512},
      {90112, 512},
      {94208, 512},
      {98304, 512},
      {102400, 512},
      {106496, 512},
      {110592, 2048}},
     114688,
     {{0, 32},
      {512, 4},
      {1024, 4},
      {1536, 8},
      {2048, 8},
      {2560, 4672},
      {7680, 4},
      {8192, 8},
      {8704, 4},
      {9216, 4},
      {9728, 4}},
     10240},
    {{3, 5, 1040, 2, 15, 0},
     {{0, 81920},
      {81920, 6144},
      {90112, 1536},
      {94208, 12800},
      {110592, 38400},
      {151552, 38400},
      {192512, 25600},
      {221184, 25600},
      {249856, 30720}},
     282624,
     {{0, 160},
      {512, 60},
      {1024, 12},
      {1536, 72},
      {2048, 60},
      {2560, 4672},
      {7680, 60},
      {8192, 24},
      {8704, 60},
      {9216, 12},
      {9728, 40}},
     10240},
    {{16, 512, 8192, 16, 256, 4},
     {{0, 81920},
      {81920, 65536},
      {147456, 8192},
      {155648, 9175040},
      {9330688, 146800640},
      {156131328, 146800640},
      {302931968, 183500800},
      {486432768, 183500800},
      {669933568, 1146880}},
     671080448,
     {{0, 81920},
      {82432, 32768},
      {115712, 64},
      {116224, 1088},
      {117760, 34816},
      {153088, 4672},
      {158208, 8192},
      {166912, 128},
      {167424, 8192},
      {176128, 64},
      {176640, 40960}},
     218112},
    {{6, 32, 1024, 4, 12, 0, 1},
     {{0, 81920},
      {81920, 12288},
      {94208, 3072},
      {98304, 327680},
      {425984, 983040},
      {1409024, 983040},
      {2392064, 327680},
      {2719744, 327680},
      {3047424, 61440}},
     3108864,
     {{0, 2048},
      {2560, 1536},
      {4608, 24},
      {5120, 72},
      {5632, 640},
      {6656, 4672},
      {11776, 48},
      {12288, 48},
      {12800, 48},
      {13312, 24},
      {13824, 512}},
     14848},
    // The largest communicator: far beyond 32 bits, and in the host's arithmetic only.
    {{1024, 8192, 8192, 16, 1024, 4, 1},
     {{0, 81920},
      {81920, 2097152},
      {2179072, 524288},
      {2703360, 2936012800},
      {2938716160, 300647710720},
      {303586426880, 300647710720},
      {604234137600, 2936012800},
      {607170150400, 2936012800},
      {610106163200, 73400320}},
     610179563520,
     {{0, 1310720},
      {1311232, 67108864},
      {68420608, 4096},
      {68425216, 8192},
      {68433920, 557056},
      {68991488, 4672},
      {68996608, 8192},
      {69005312, 8192},
      {69014016, 8192},
      {69022720, 4096},
      {69027328, 655360}},
     69683200},
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

// A message of 160 B and 4 B per local expert: 80 experts fill the first block.
TEST(control_messages_grow_with_local_experts) {
    CHECK_EQ(control_blocks(0), 1U);
    CHECK_EQ(control_blocks(80), 1U);
    CHECK_EQ(control_blocks(81), 2U);
    CHECK_EQ(control_blocks(200), 2U);
    CHECK_EQ(control_blocks(201), 3U);
    CHECK_EQ(control_blocks(1024), 9U);
}

TEST(wire_structures_have_their_golden_offsets) {
    CHECK_EQ(__builtin_offsetof(ControlHeader, signature), 16UL);
    CHECK_EQ(__builtin_offsetof(ControlHeader, consumed), 80UL);
    CHECK_EQ(__builtin_offsetof(ControlHeader, refusal), 96UL);
    CHECK_EQ(__builtin_offsetof(Refusal, got), 16UL);
    CHECK_EQ(__builtin_offsetof(Refusal, rank), 32UL);
    CHECK_EQ(__builtin_offsetof(ErrorRecord, sequence), 16UL);
    CHECK_EQ(__builtin_offsetof(ErrorRecord, missing), 64UL);
    CHECK_EQ(__builtin_offsetof(ErrorRecord, got), 192UL);
    CHECK_EQ(__builtin_offsetof(TokenHeader, token), 4UL);
    CHECK_EQ(__builtin_offsetof(TokenHeader, column), 6UL);
    CHECK_EQ(__builtin_offsetof(ControlPage, cores), 960UL);
}
