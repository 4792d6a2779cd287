// SPDX-License-Identifier: Apache-2.0
//
// Texts of refusals that kernels make, of peers' refusals, of calls that differ, and of failures. Layer: tests.
#include "op_host/messages.h"

#include <set>

#include "check.h"
#include "op_host/check.h"
#include "sample_calls.h"

using namespace ascend_deepep;
using namespace ascend_deepep::op_host;

namespace {

constexpr OperationKind kDispatch = OperationKind::kDispatch;
constexpr OperationKind kCombine = OperationKind::kCombine;

Refusal refusal(Code code, Field field, uint32_t token, uint32_t column, int64_t got, int64_t limit, uint32_t rank) {
    return Refusal{code, field, token, column, got, limit, rank, 0};
}

ErrorRecord record(Code code, Stage stage, uint32_t root) {
    ErrorRecord r{};
    r.code = code;
    r.stage = stage;
    r.rank = 0;
    r.root = root;
    r.peer = root;
    r.sequence = 17;
    r.kind = 1;
    r.core = 5;
    r.expected = 0x700000011ULL;
    r.seen = 0x700000010ULL;
    return r;
}

void check_start(const std::string& message, const char* want) {
    CHECK_EQ(message.substr(0, std::strlen(want)), want);
}

}  // namespace

TEST(own_refusals_of_kernels_read_as_agreed) {
    CHECK_EQ(describe(refusal(Code::kBadExpertId, Field::kExpertIds, 3, 1, 300, 256, 0), kDispatch, 0),
             std::string("expert_ids[3, 1] = 300 is outside [-1, 255]: pass an expert below moe_expert_num, or -1 for "
                         "none"));
    CHECK_EQ(describe(refusal(Code::kDuplicateExpert, Field::kExpertIds, 0, 7, 5, 0, 0), kDispatch, 0),
             std::string("expert_ids[0, 7] = 5 stands twice in its row: a token may choose an expert once; pass -1 for "
                         "none"));
    CHECK_EQ(describe(refusal(Code::kBadTriple, Field::kAssistInfo, 9, 1, 16, 16, 0), kCombine, 0),
             std::string("assist_info_for_combine row 9: token 16 is outside [0, 15]: pass the tensor that dispatch_v2 "
                         "returned, unchanged"));
    CHECK_EQ(describe(refusal(Code::kBadCounts, Field::kEpSendCounts, 4, 0, -1, 64, 0), kCombine, 0),
             std::string("ep_send_counts[4] = -1 is impossible (limit 64): pass the ep_recv_counts that dispatch_v2 "
                         "returned, unchanged"));
    check_start(describe(refusal(Code::kForeignTriples, Field::kAssistInfo, 0, 0, 0, 0, 0), kCombine, 0),
                "assist_info_for_combine is not from a dispatch_v2 of this communicator with");
}

// A peer renders the same text from the numbers in the control message.
TEST(peers_read_the_same_reason_behind_the_rank) {
    DispatchCall call = sample_dispatch();
    for (int which = 0; which < 3; ++which) {
        call = sample_dispatch();
        if (which == 0) call.x.dtype = Dtype::kFp32;
        if (which == 1) call.attributes.comm_alg = "hierarchy";
        if (which == 2) call.quant_mode = 3;
        const Status status = check_dispatch(kSampleLimits, kSampleRank, call, nullptr);
        CHECK_EQ(describe(status.refusal, kDispatch, kSampleRank), status.message);
        CHECK_EQ(describe(status.refusal, kDispatch, 3), "rank 1 refused dispatch_v2: " + status.message);
    }
    check_start(describe(refusal(Code::kBadExpertId, Field::kExpertIds, 3, 1, -2, 256, 2), kDispatch, 0),
                "rank 2 refused dispatch_v2: expert_ids[3, 1] = -2 is outside [-1, 255]: pass an e");
}

TEST(long_words_of_comm_alg_are_cut_not_lost) {
    DispatchCall call = sample_dispatch();
    call.attributes.comm_alg = "a_word_longer_than_16_bytes\n";
    const std::string message = check_dispatch(kSampleLimits, kSampleRank, call, nullptr).message;
    check_start(message, "comm_alg = \"a_word_longer_th\" is refused:");
    call.attributes.comm_alg = "bad\n";
    CHECK(check_dispatch(kSampleLimits, kSampleRank, call, nullptr).message.find("\"bad?\"") != std::string::npos);
}

TEST(different_calls_name_both_sides) {
    const Code code = Code::kSignature;
    CHECK_EQ(
        describe(refusal(code, Field::kKind, 0, 0, 2, 1, 2), kDispatch, 0),
        std::string("rank 2 called combine_v2, this rank (0) dispatch_v2: all ranks must issue the same operations "
                    "in the same order"));
    CHECK_EQ(describe(refusal(code, Field::kHidden, 0, 0, 2048, 1024, 1), kDispatch, 0),
             std::string("hidden is 2048 on rank 1, 1024 here (rank 0): pass the same on all ranks"));
    check_start(describe(refusal(code, Field::kNumTopk, 0, 0, 4, 8, 1), kDispatch, 0),
                "num_topk is 4 on rank 1, 8 here (ran");
    check_start(describe(refusal(code, Field::kXDtype, 0, 0, 2, 1, 3), kDispatch, 0),
                "the dtype of x is float16 on rank 3, bfloat16 here (ran");
    CHECK_EQ(describe(refusal(code, Field::kNumTokens, 0, 0, 9, 8, 3), kDispatch, 0),
             std::string("largest batch (global_bs / ep_world_size, or num_tokens with global_bs = 0) is 9 on rank 3, "
                         "8 here (rank 0): pass the same global_bs on all ranks; batches that differ need one"));
    CHECK_EQ(describe(refusal(code, Field::kDispatchNumber, 0, 0, 4, 6, 1), kCombine, 0),
             std::string("the combine on rank 1 belongs to dispatch number 4, the one here (rank 0) to number 6: pass "
                         "what the same dispatch returned on every rank"));
}

TEST(time_outs_say_who_waited_for_whom) {
    ErrorRecord r = record(Code::kTimeout, Stage::kCumsum, 2);
    r.num_missing = 2;
    r.missing[0] = (1U << 2) | (1U << 5);
    CHECK_EQ(
        describe(r, 0, 2.04, 2.0),
        std::string("dispatch_v2 number 17 on rank 0: time-out waiting for rank 2 in cumsum, 2.0 s of 2.0 s (core 5 "
                    "expected 0x700000011, saw 0x700000010); no control message from ranks 2, 5: look whether that "
                    "rank runs and issues the same operations; if it is only slow, raise timeout_ms or "
                    "ASCEND_DEEPEP_TIMEOUT_MS; the communicator is broken, close it and make a new one"));
    r.num_missing = 1000;
    for (uint32_t& word : r.missing)
        word = 0xFFFFFFFFU;
    CHECK(describe(r, 0, 2.0, 2.0).find("from ranks 0, 1, 2, 3, 4, 5, 6, 7 and 992 more: ") != std::string::npos);
    r.num_missing = 1;
    for (uint32_t& word : r.missing)
        word = 0;
    r.missing[31] = 1U << 31;
    CHECK(describe(r, 0, 2.0, 2.0).find("from rank 1023: ") != std::string::npos);
}

TEST(every_stage_has_something_to_look_at) {
    for (uint32_t stage = 1; stage <= static_cast<uint32_t>(Stage::kExit); ++stage) {
        const ErrorRecord r = record(Code::kTimeout, static_cast<Stage>(stage), 3);
        const std::string message = describe(r, 0, 1.0, 1.0);
        CHECK(message.find("on rank 0: ") != std::string::npos);
        CHECK(message.find("waiting for rank 3 in ") != std::string::npos);
        CHECK(message.find(stage_name(static_cast<Stage>(stage))) != std::string::npos);
        CHECK(message.find("look at") != std::string::npos || message.find("look whether") != std::string::npos ||
              message.find("call Communicator.progress()") != std::string::npos);
    }
}

TEST(lost_peers_and_bad_completions_name_the_culprit) {
    const std::string lost = describe(record(Code::kPeerLost, Stage::kCollect, 2), 0, 0.3, 30.0);
    check_start(lost,
                "dispatch_v2 number 17 on rank 0: peer lost: the process of rank 2 is gone or closed its communicator, "
                "noticed in collect, "
                "0.3 s of 30.0");
    ErrorRecord bad = record(Code::kBadCompletion, Stage::kDoorbell, 3);
    bad.kind = 2;
    bad.got = (3 << 8) | 7;
    check_start(describe(bad, 0, 0.1, 30.0),
                "combine_v2 number 17 on rank 0: bad completion from the queue to rank 3: status 3 (remote "
                "access error), substatus 7, in doorbell, 0.");
    ErrorRecord aborted = record(Code::kPeerAborted, Stage::kCollect, 1);
    CHECK(describe(aborted, 0, 1.0, 2.0).find("rank 1 was stopped or failed first") != std::string::npos);
    aborted.got = static_cast<int64_t>(Code::kTimeout);
    aborted.peer = 3;
    CHECK(describe(aborted, 0, 1.0, 2.0).find("time-out of another rank waiting for rank 1, heard from rank 3") !=
          std::string::npos);
    aborted.rank = 3;
    CHECK(describe(aborted, 0, 1.0, 2.0).find("on rank 0 (reported by rank 3): ") != std::string::npos);
    aborted.root = 0;
    CHECK(describe(aborted, 0, 1.0, 2.0).find("waiting for rank 0 (itself), heard from rank 3") != std::string::npos);
    aborted.got = static_cast<int64_t>(Code::kBadCompletion);
    CHECK(describe(aborted, 0, 1.0, 2.0).find("bad completion between another rank and rank 0") != std::string::npos);
    aborted.got = 0;
    CHECK(describe(aborted, 0, 1.0, 2.0).find("stopped by this rank itself") != std::string::npos);
    ErrorRecord corrupt = record(Code::kCorruptBlock, Stage::kCollect, 1);
    corrupt.got = 99;
    corrupt.limit = 16;
    CHECK(describe(corrupt, 0, 1.0, 2.0)
              .find("corrupt block from rank 1: it carries this operation's tag and the "
                    "impossible value 99 (limit 16)") != std::string::npos);
    const std::string fault = describe(record(Code::kQueueFault, Stage::kWqeBuilder, 1), 0, 1.0, 2.0);
    CHECK(fault.find("queue to rank 1 is out of step") != std::string::npos);
}

TEST(names_are_complete_and_distinct) {
    std::set<std::string> fields;
    for (uint32_t i = 0; i < static_cast<uint32_t>(Field::kCount); ++i)
        fields.insert(field_name(static_cast<Field>(i)));
    CHECK_EQ(fields.size(), static_cast<size_t>(Field::kCount));
    std::set<std::string> codes;
    const auto last = static_cast<uint32_t>(Code::kQueueFault);
    for (uint32_t i = 0; i <= last; ++i)
        codes.insert(code_name(static_cast<Code>(i)));
    CHECK_EQ(codes.size(), size_t{last} + 1);
    CHECK_EQ(std::string(field_name(Field::kAssistInfo)), std::string("assist_info_for_combine"));
    CHECK_EQ(std::string(field_name(Field::kDispatchNumber)), std::string("dispatch number"));
    CHECK_EQ(std::string(field_name(Field::kOutDtype)), std::string("output dtype"));
    CHECK_EQ(std::string(stage_name(Stage::kWqeBuilder)), std::string("wqe_builder"));
    CHECK_EQ(std::string(stage_name(Stage::kExit)), std::string("exit"));
    CHECK_EQ(std::string(code_name(Code::kQueueFault)), std::string("queue fault"));
    CHECK_EQ(std::string(dtype_name(Dtype::kFp64)), std::string("float64"));
    CHECK_EQ(std::string(kind_name(kCombine)), std::string("combine_v2"));
    CHECK_EQ(std::string(field_name(static_cast<Field>(9999))), std::string("unknown"));
    CHECK_EQ(std::string(kind_name(static_cast<OperationKind>(0))), std::string("unknown"));
    std::set<std::string> regions;
    for (uint32_t i = 0; i < kNumWindowRegions; ++i)
        regions.insert(region_name(static_cast<WindowRegion>(i)));
    for (uint32_t i = 0; i < kNumWorkspaceRegions; ++i)
        regions.insert(region_name(static_cast<WorkspaceRegion>(i)));
    CHECK_EQ(regions.size(), size_t{kNumWindowRegions} + kNumWorkspaceRegions);
    CHECK_EQ(std::string(region_name(WindowRegion::kCombineStaging)), std::string("combine staging"));
    CHECK_EQ(std::string(region_name(WorkspaceRegion::kOwnRows)), std::string("own rows"));
}
