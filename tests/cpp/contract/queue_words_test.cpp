// SPDX-License-Identifier: Apache-2.0
//
// Golden words of queue elements, and that what is encoded decodes to the same fields. Layer: tests.
#include "check.h"
#include "contract/arch35/cqe.h"
#include "contract/arch35/wqe.h"

using namespace ascend_deepep;

TEST(wqe_words_equal_the_published_ones) {
    CHECK_EQ(wqe_control_word(1, 1, 1), 0xB0200000U);
    CHECK_EQ(wqe_control_word(0, 1, 1), 0x30200000U);
    CHECK_EQ(wqe_control_word(1, 0, 0), 0x80200000U);
    CHECK_EQ(wqe_opcode_word(WqeOpcode::kWrite, 0), 0x00000300U);
    CHECK_EQ(wqe_opcode_word(WqeOpcode::kWrite, 0xAB), 0x000003ABU);
    CHECK_EQ(wqe_transport_word(0x123456), 0x01123456U);
    CHECK_EQ(wqe_transport_word(0xFF123456), 0x01123456U);
    CHECK_EQ(wqe_segment_word(0xFFF89ABC), 0x00089ABCU);
}

TEST(wqe_owner_inverts_on_every_pass) {
    CHECK_EQ(wqe_owner(0, 4), 1U);
    CHECK_EQ(wqe_owner(3, 4), 1U);
    CHECK_EQ(wqe_owner(4, 4), 0U);
    CHECK_EQ(wqe_owner(7, 4), 0U);
    CHECK_EQ(wqe_owner(8, 4), 1U);
    CHECK_EQ(wqe_owner(32767, 32768), 1U);
    CHECK_EQ(wqe_owner(32768, 32768), 0U);
    CHECK_EQ(wqe_owner(0xFFFFFFFFU, 4), 0U);  // and goes on through the wrap of the free-running index
    CHECK_EQ(wqe_owner(0xFFFFFFFFU + 1U, 4), 1U);
}

TEST(a_whole_wqe_decodes_to_its_fields) {
    const uint32_t words[kWqeWords] = {wqe_control_word(1, 1, 1),
                                       wqe_opcode_word(WqeOpcode::kWrite, 7),
                                       wqe_transport_word(0xABCDEF),
                                       wqe_segment_word(0x54321),
                                       0x11111111,
                                       0x22222222,
                                       0x33333333,
                                       0x44444444,
                                       0x5A5A5A5A,
                                       0,
                                       0x89ABCDEF,
                                       0x01234567,
                                       15360,
                                       0x77,
                                       0xFEDCBA98,
                                       0x00007654};
    const WqeFields f = decode_wqe(words);
    CHECK_EQ(f.owner, 1U);
    CHECK_EQ(f.place_order, 0U);
    CHECK_EQ(f.completion, 1U);
    CHECK_EQ(f.token_enable, 1U);
    CHECK_EQ(f.jetty_type, 1U);
    CHECK_EQ(f.opcode, 3U);
    CHECK_EQ(f.target_hint, 7U);
    CHECK_EQ(f.tpn, 0xABCDEFU);
    CHECK_EQ(f.num_sge, 1U);
    CHECK_EQ(f.segment, 0x54321U);
    CHECK_EQ(f.remote_eid[0], 0x11111111U);
    CHECK_EQ(f.remote_eid[3], 0x44444444U);
    CHECK_EQ(f.remote_token, 0x5A5A5A5AU);
    CHECK_EQ(f.remote_address, 0x0123456789ABCDEFULL);
    CHECK_EQ(f.length, 15360U);
    CHECK_EQ(f.local_token, 0x77U);
    CHECK_EQ(f.local_address, 0x00007654FEDCBA98ULL);
}

// Strong ordering and a fence, as another library posts: word 0 of its published probe.
TEST(decoding_knows_bits_this_library_does_not_set) {
    uint32_t words[kWqeWords] = {0xB02D0003U, 0x300U};
    const WqeFields f = decode_wqe(words);
    CHECK_EQ(f.owner, 1U);
    CHECK_EQ(f.place_order, 1U);
    CHECK_EQ(f.completion, 1U);
    CHECK_EQ(f.opcode, 3U);
}

TEST(cqe_words_equal_golden_ones) {
    CHECK_EQ(cqe_word0(1, 0, 0, 0), 0x00000004U);
    CHECK_EQ(cqe_word0(0, 0, 0, 0), 0x00000000U);
    CHECK_EQ(cqe_word0(1, 3, 0x21, 0x43), 0x43210034U);
    CHECK_EQ(cqe_status(0x43210034U), 0x43U);
    CHECK_EQ(cqe_substatus(0x43210034U), 0x21U);
    CHECK_EQ(cqe_entry_index(0xABCD1234U), 0x1234U);
}

TEST(a_cqe_is_valid_only_on_its_pass) {
    for (const uint32_t depth : {4U, 32768U}) {
        for (const uint32_t pass : {0U, 1U, 2U, 3U}) {
            const uint32_t index = pass * depth + 1;
            const uint32_t fresh = cqe_word0(cqe_owner(index, depth), 0, 0, 0);
            const uint32_t stale = cqe_word0(cqe_owner(index, depth) ^ 1U, 0, 0, 0);
            CHECK(cqe_is_valid(fresh, index, depth));
            CHECK(!cqe_is_valid(stale, index, depth));
        }
    }
    CHECK(!cqe_is_valid(0, 0, 4));  // a zeroed ring holds no completion
}
