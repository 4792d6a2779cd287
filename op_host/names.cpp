// SPDX-License-Identifier: Apache-2.0
//
// Names of enumerators as texts spell them. Layer: op_host. A number outside an enumeration came from a peer with
// another layout or from damaged memory; it reads as "unknown", never out of bounds.
#include <cstddef>

#include "op_host/messages.h"

namespace ascend_deepep::op_host {
namespace {

constexpr const char* kUnknown = "unknown";

constexpr const char* kFields[] = {"argument",
                                   "x",
                                   "expert_ids",
                                   "expand_x",
                                   "assist_info_for_combine",
                                   "ep_send_counts",
                                   "expert_scales",
                                   "group_ep",
                                   "ep_world_size",
                                   "ep_rank_id",
                                   "moe_expert_num",
                                   "global_bs",
                                   "num_tokens",
                                   "hidden",
                                   "num_topk",
                                   "expert_token_nums_type",
                                   "tp_world_size",
                                   "tp_rank_id",
                                   "expert_shard_type",
                                   "shared_expert_num",
                                   "shared_expert_rank_num",
                                   "quant_mode",
                                   "comm_quant_mode",
                                   "comm_alg",
                                   "scales",
                                   "x_active_mask",
                                   "elastic_info",
                                   "performance_info",
                                   "expand_scales",
                                   "shared_expert_x",
                                   "ori_x",
                                   "const_expert_alpha_1",
                                   "const_expert_alpha_2",
                                   "const_expert_v",
                                   "zero_expert_num",
                                   "copy_expert_num",
                                   "const_expert_num",
                                   "y_dtype",
                                   "x_dtype",
                                   "scales_dtype",
                                   "tp_send_counts",
                                   "group_tp",
                                   "kind",
                                   "dispatch number",
                                   "layout ABI",
                                   "output dtype",
                                   "copy mode",
                                   "scales of all ranks",
                                   "presence of expert_scales",
                                   "combine_reduce"};

constexpr const char* kStages[] = {"none",   "entry",   "route", "stage",  "wqe_builder", "doorbell", "cumsum",
                                   "prefix", "collect", "send",  "reduce", "control",     "exit"};

constexpr const char* kCodes[] = {"ok",
                                  "bad dtype",
                                  "bad shape",
                                  "bad number of dimensions",
                                  "bad device",
                                  "out of range",
                                  "too small",
                                  "not a multiple",
                                  "not equal",
                                  "not implemented",
                                  "bad expert id",
                                  "duplicate expert",
                                  "foreign triples",
                                  "other ids",
                                  "bad triple",
                                  "bad counts",
                                  "requires grad",
                                  "missing",
                                  "unexpected",
                                  "different calls",
                                  "time-out",
                                  "peer lost",
                                  "bad completion",
                                  "corrupt block",
                                  "peer aborted",
                                  "queue fault"};

constexpr const char* kDtypes[] = {kUnknown,  "bfloat16",      "float16",     "float32",        "int32",
                                   "int64",   "int16",         "int8",        "uint8",          "bool",
                                   "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "an unsupported dtype"};

constexpr const char* kWindowRegions[] = {"control page",   "control ring",    "abort",
                                          "send buffer",    "dispatch half 0", "dispatch half 1",
                                          "combine half 0", "combine half 1",  "combine staging"};

constexpr const char* kWorkspaceRegions[] = {"headers",    "destinations", "copies",        "expert rows",
                                             "live ids",   "refusals",     "received rows", "received info",
                                             "block base", "partials",     "own rows"};

template <typename Enum, size_t kCount>
const char* name_of(const char* const (&names)[kCount], Enum value) {
    const auto index = static_cast<size_t>(value);
    return index < kCount ? names[index] : kUnknown;
}

static_assert(sizeof(kFields) / sizeof(kFields[0]) == static_cast<size_t>(Field::kCount));
static_assert(sizeof(kStages) / sizeof(kStages[0]) == static_cast<size_t>(Stage::kExit) + 1);
static_assert(sizeof(kCodes) / sizeof(kCodes[0]) == static_cast<size_t>(Code::kQueueFault) + 1);
static_assert(sizeof(kDtypes) / sizeof(kDtypes[0]) == static_cast<size_t>(Dtype::kOther) + 1);
static_assert(sizeof(kWindowRegions) / sizeof(kWindowRegions[0]) == kNumWindowRegions);
static_assert(sizeof(kWorkspaceRegions) / sizeof(kWorkspaceRegions[0]) == kNumWorkspaceRegions);

}  // namespace

const char* field_name(Field field) {
    return name_of(kFields, field);
}
const char* stage_name(Stage stage) {
    return name_of(kStages, stage);
}
const char* code_name(Code code) {
    return name_of(kCodes, code);
}
const char* dtype_name(Dtype dtype) {
    return name_of(kDtypes, dtype);
}

const char* region_name(WindowRegion region) {
    return name_of(kWindowRegions, region);
}
const char* region_name(WorkspaceRegion region) {
    return name_of(kWorkspaceRegions, region);
}

const char* copy_mode_name(CopyMode mode) {
    switch (mode) {
        case CopyMode::kPerRank:
            return "per-rank";
        case CopyMode::kPerExpert:
            return "per-expert";
    }
    return kUnknown;
}

const char* combine_reduce_name(CombineReduce reduce) {
    switch (reduce) {
        case CombineReduce::kRow:
            return "row";
        case CombineReduce::kRank:
            return "rank";
    }
    return kUnknown;
}

const char* kind_name(OperationKind kind) {
    switch (kind) {
        case OperationKind::kDispatch:
            return "dispatch_v2";
        case OperationKind::kCombine:
            return "combine_v2";
    }
    return kUnknown;
}

}  // namespace ascend_deepep::op_host
