// SPDX-License-Identifier: Apache-2.0
//
// Texts of refusals. Layer: op_host. One sentence form per code, filled from the tables of arguments.
#include "contract/tiling_data.h"
#include "op_host/arguments.h"
#include "op_host/comm_alg.h"
#include "op_host/messages.h"
#include "op_host/quant.h"
#include "op_host/tensor_device.h"
#include "op_host/text.h"

namespace ascend_deepep::op_host {
namespace {

// The argument, and where a derived number is read off.
std::string subject(const Refusal& r, OperationKind kind) {
    const bool is_dispatch = kind == OperationKind::kDispatch;
    switch (r.field) {
        case Field::kNumTokens:
            return is_dispatch ? "num_tokens (x.shape[0])" : "num_tokens (expert_ids.shape[0])";
        case Field::kHidden:
            return is_dispatch ? "hidden (x.shape[1])" : "hidden (expand_x.shape[1])";
        case Field::kNumTopk:
            return "num_topk (expert_ids.shape[1])";
        case Field::kGroupTp:
            return "length of group_tp";
        default:
            break;
    }
    const bool names_axis = r.code == Code::kBadShape || r.code == Code::kTooSmall || r.code == Code::kOutOfRange;
    if (names_axis && find_tensor(r.field) != nullptr) return text(field_name(r.field), ".shape[", r.column, "]");
    return field_name(r.field);
}

std::string remedy(Field field) {
    if (const TensorArgument* tensor = find_tensor(field)) return text("its shape is ", tensor->shape);
    if (const NumberArgument* number = find_number(field)) return number->remedy;
    return "compare the calls of all ranks";
}

// The argument whose value is to blame, and that value.
std::string cause(const Refusal& r) {
    const auto field = static_cast<Field>(r.limit);
    const bool is_dtype = field == Field::kX || field == Field::kScales;
    return is_dtype ? text(field_name(field), " of dtype ", dtype_name(static_cast<Dtype>(r.got)))
                    : text(field_name(field), " = ", r.got);
}

// A dtype that an attribute names by number, `got`. `limit` is the dtype it must be; of y_dtype the quant_mode.
std::string bad_named_dtype(const Refusal& r) {
    const Dtype dtype = dtype_of_number(r.got);
    const std::string named = dtype == Dtype::kOther ? text(field_name(r.field), " = ", r.got, " names no known dtype")
                                                     : text(field_name(r.field), " is ", dtype_name(dtype));
    if (r.field != Field::kYDtype) {
        const auto legal = static_cast<Dtype>(r.limit);
        const bool is_carried = legal == Dtype::kE4m3 || legal == Dtype::kE8m0;  // bytes need a name
        return text(named, ", must be ", dtype_name(legal), legal == Dtype::kE4m3 ? " or float8_e5m2" : "",
                    ": name the dtype that the elements have", is_carried ? "" : ", or leave it out");
    }
    static const char* const kLegal[] = {"the dtype of x", "int8", "int8, float8_e4m3fn or float8_e5m2"};
    const bool is_listed = r.limit >= 0 && r.limit < 3;
    return text(named, ", must be ", is_listed ? kLegal[r.limit] : "float8_e4m3fn or float8_e5m2",
                " with quant_mode = ", r.limit, ": pass one of these");
}

std::string bad_dtype(const Refusal& r) {
    if (r.field == Field::kYDtype || r.field == Field::kXDtype || r.field == Field::kScalesDtype) {
        return bad_named_dtype(r);
    }
    const TensorArgument* tensor = find_tensor(r.field);
    if (r.field == Field::kX && r.limit != 0) {
        return text("x is ", dtype_name(static_cast<Dtype>(r.got)),
                    ", must be bfloat16 or float16 with quant_mode above 0: pass quantised tokens with quant_mode = 0");
    }
    std::string legal =
        r.limit != 0 || tensor == nullptr ? dtype_name(static_cast<Dtype>(r.limit)) : legal_dtypes(*tensor);
    return text(field_name(r.field), " is ", dtype_name(static_cast<Dtype>(r.got)), ", must be ", legal,
                ": convert it before the call");
}

std::string bad_dims(const Refusal& r) {
    const TensorArgument* tensor = find_tensor(r.field);
    // A number of dimensions that the argument may have, and this call may not.
    const bool is_known = tensor == nullptr || (r.got >= tensor->min_dims && r.got <= tensor->max_dims);
    const std::string legal = is_known ? text(r.limit) : legal_dims(*tensor);
    return text(field_name(r.field), " has ", r.got, " dimensions, must have ", legal, ": ", remedy(r.field));
}

std::string out_of_range(const Refusal& r, OperationKind kind) {
    const NumberArgument* number = find_number(r.field);
    if (number != nullptr && number->legal != nullptr) {
        return text(subject(r, kind), " = ", r.got, " is not one of ", number->legal, ": ", number->remedy);
    }
    const int64_t lowest = number != nullptr ? number->lowest : r.field == Field::kScales ? 1 : 0;
    return text(subject(r, kind), " = ", r.got, " is outside [", lowest, ", ", r.limit, "]: ", remedy(r.field));
}

std::string not_implemented(const Refusal& r) {
    const NumberArgument* number = find_number(r.field);
    if (number == nullptr || number->later == nullptr || r.got == 0) {
        return text(field_name(r.field), " is not implemented in this release: leave it out");
    }
    return text(field_name(r.field), " = ", r.got, " is not implemented in this release: ", number->later);
}

std::string bad_comm_alg(const Refusal& r) {
    const std::string word = unpack_word(r);
    const CommAlg& alg = *find_comm_alg(word);
    return text("comm_alg = \"", word, "\" is refused: ", alg.reason, "; pass one of ", legal_comm_algs());
}

// `got` is where the tensor lies and `limit` where this communicator takes tensors.
std::string bad_device(const Refusal& r) {
    const TensorDevice actual = device_from_code(r.got);
    const TensorDevice expected = device_from_code(r.limit);
    std::string sentence =
        text(field_name(r.field), " is not on the communicator's device: it is on ", device_name(actual),
             ", must be on ", device_name(expected), " (target ", target_of(expected.type), "): move it there");
    if (actual.type != expected.type && has_target(actual.type)) {
        sentence += text(", or pass the name of a communicator whose target is ", target_of(actual.type));
    }
    return sentence;
}

// A word of the triples: source rank, token, column.
std::string bad_triple(const Refusal& r) {
    static const char* const kWords[kTripleWords] = {"source rank", "token", "column"};
    const char* word = r.column < kTripleWords ? kWords[r.column] : "word";
    if (r.got >= 0 && r.got < r.limit) {
        return text("assist_info_for_combine row ", r.token, ": ", word, " ", r.got,
                    " is not what belongs in this row: pass the tensors that dispatch_v2 returned, unchanged");
    }
    return text("assist_info_for_combine row ", r.token, ": ", word, " ", r.got, " is outside [0, ", r.limit - 1,
                "]: pass the tensor that dispatch_v2 returned, unchanged");
}

// A word of pack_scales().
std::string scales_text(int64_t word) {
    static const char* const kKinds[] = {"absent", "one for all", "one per channel", "a row per expert",
                                         "a row per token"};
    const int64_t kind = word & 0xF;
    if (kind == 0) return kKinds[0];
    const char* dtype = dtype_name(static_cast<Dtype>((word >> 4) & 0xFF));
    const std::string known = kind < 5 ? kKinds[kind] : "unknown";
    return text(dtype, ", ", known, kind == 4 ? text(" of ", word >> 12, " columns") : std::string());
}

std::string signature_value(Field field, int64_t value) {
    switch (field) {
        case Field::kKind:
            return kind_name(static_cast<OperationKind>(value));
        case Field::kXDtype:
        case Field::kOutDtype:
            return dtype_name(static_cast<Dtype>(value));
        case Field::kCopyMode:
            return copy_mode_name(static_cast<CopyMode>(value));
        case Field::kScalesKind:
            return scales_text(value);
        case Field::kHasExpertScales:
            return value != 0 ? "given" : "absent";
        default:
            return text(value);
    }
}

// `got` is the peer's value and `limit` this rank's.
std::string different_calls(const Refusal& r, OperationKind kind, uint32_t own_rank) {
    const std::string theirs = signature_value(r.field, r.got);
    const std::string ours = signature_value(r.field, r.limit);
    switch (r.field) {
        case Field::kKind:
            return text("rank ", r.rank, " called ", theirs, ", this rank (", own_rank, ") ", ours,
                        ": all ranks must issue the same operations in the same order");
        case Field::kScalesKind:
            return text("scales are ", theirs, " on rank ", r.rank, ", ", ours, " here (rank ", own_rank,
                        "): pass scales of one kind and dtype on all ranks");
        case Field::kXDtype:
            return text("the dtype of ", kind == OperationKind::kDispatch ? "x" : "expand_x", " is ", theirs,
                        " on rank ", r.rank, ", ", ours, " here (rank ", own_rank, "): pass the same on all ranks");
        case Field::kQuantMode:
            return text(kind == OperationKind::kDispatch ? "quant_mode" : "comm_quant_mode", " is ", theirs,
                        " on rank ", r.rank, ", ", ours, " here (rank ", own_rank, "): pass the same on all ranks");
        case Field::kNumTokens:
            return text("largest batch (global_bs / ep_world_size, or num_tokens with global_bs = 0) is ", theirs,
                        " on rank ", r.rank, ", ", ours, " here (rank ", own_rank,
                        "): pass the same global_bs on all ranks; batches that differ need one");
        case Field::kDispatchNumber:
            return text("the combine on rank ", r.rank, " belongs to dispatch number ", theirs, ", the one here (rank ",
                        own_rank, ") to number ", ours, ": pass what the same dispatch returned on every rank");
        default:
            return text(field_name(r.field), " is ", theirs, " on rank ", r.rank, ", ", ours, " here (rank ", own_rank,
                        "): pass the same on all ranks");
    }
}

// What a communicator that sums by rank cannot do.
std::string unlike_sums_by_rank(const Refusal& r) {
    if (static_cast<Field>(r.limit) == Field::kCopyMode) {
        return "this call sends a copy per expert (scales of a row per expert, or comm_alg = \"fullmesh_v1\"), and the "
               "communicator has combine_reduce = \"rank\", which needs one copy per rank: leave these out, or make it "
               "with combine_reduce = \"row\"";
    }
    return text(field_name(static_cast<Field>(r.limit)), " = ", r.got,
                " does not go with combine_reduce = \"rank\", whose sums are not quantised: pass 0, or make the "
                "communicator with combine_reduce = \"row\"");
}

// Of combine by rank: `limit` says whether the tensor is not there, or holds no weights.
std::string missing_weights(const Refusal& r) {
    if (static_cast<Field>(r.limit) == Field::kAssistInfo) {
        return "expand_scales holds no weights, as the dispatch_v2 that assist_info_for_combine comes from got no "
               "expert_scales: pass them there, or an empty expert_scales here for a plain sum";
    }
    return "expand_scales is missing: with combine_reduce = \"rank\" rows are weighted where their experts are: pass "
           "the expand_scales that dispatch_v2 returned for these expert_scales, or an empty expert_scales for a plain "
           "sum";
}

std::string reason(const Refusal& r, OperationKind kind, uint32_t own_rank) {
    if (r.field == Field::kCommAlg && r.code != Code::kSignature) return bad_comm_alg(r);
    if (r.field == Field::kCopyMode && r.code == Code::kTooSmall) {
        return "this call sends a copy per expert (scales of a row per expert, or comm_alg = \"fullmesh_v1\"), and the "
               "communicator has room for one per rank: make it with per_expert_copies=True";
    }
    if (r.field == Field::kCombineReduce && r.code == Code::kUnexpected) return unlike_sums_by_rank(r);
    if (r.field == Field::kExpandScales && r.code == Code::kMissing) return missing_weights(r);
    const char* name = field_name(r.field);
    switch (r.code) {
        case Code::kOk:
            return "no refusal";
        case Code::kBadDtype:
            return bad_dtype(r);
        case Code::kBadShape:
        case Code::kNotEqual:
            return text(subject(r, kind), " = ", r.got, ", must be ", r.limit, ": ", remedy(r.field));
        case Code::kBadRankOfTensor:
            return bad_dims(r);
        case Code::kBadDevice:
            return bad_device(r);
        case Code::kOutOfRange:
            return out_of_range(r, kind);
        case Code::kTooSmall:
            return text(subject(r, kind), " = ", r.got, " is below ", r.limit, ": ", remedy(r.field));
        case Code::kNotMultiple:
            return text(subject(r, kind), " = ", r.got, " is not a multiple of ", r.limit, ": ", remedy(r.field));
        case Code::kNotImplemented:
            return not_implemented(r);
        case Code::kBadExpertId:
            return text("expert_ids[", r.token, ", ", r.column, "] = ", r.got, " is outside [-1, ", r.limit - 1,
                        "]: pass an expert below moe_expert_num, or -1 for none");
        case Code::kDuplicateExpert:
            return text("expert_ids[", r.token, ", ", r.column, "] = ", r.got,
                        " stands twice in its row: a token may choose an expert once; pass -1 for none");
        case Code::kForeignTriples:
            return "assist_info_for_combine is not from a dispatch_v2 of this communicator with these sizes: pass the "
                   "tensor that the dispatch returned, unchanged";
        case Code::kOtherIds:
            return "expert_ids or x_active_mask are not those of the dispatch_v2 that assist_info_for_combine comes "
                   "from: "
                   "pass the same";
        case Code::kBadTriple:
            return bad_triple(r);
        case Code::kBadCounts:
            return text("ep_send_counts[", r.token, "] = ", r.got, " is impossible (limit ", r.limit,
                        "): pass the ep_recv_counts that dispatch_v2 returned, unchanged");
        case Code::kMissing:
            return text(name, " is missing: ", cause(r), " needs it: ", remedy(r.field));
        case Code::kUnexpected:
            if (r.field == Field::kGlobalBs) {
                return text("global_bs = ", r.got, " is above ", r.limit,
                            ", num_tokens * ep_world_size, which does not go "
                            "with x_active_mask: pass 0 and batches of one size, or no mask");
            }
            return text(name, " is given, but ", cause(r), " takes none", r.got == 0 ? " for 16-bit tokens" : "",
                        ": leave it out");
        case Code::kRequiresGrad:
            return text(name, " requires grad, but the operators are for inference: pass ", name, ".detach()");
        case Code::kSignature:
            return different_calls(r, kind, own_rank);
        default:
            return text("code ", static_cast<uint32_t>(r.code), " is no refusal");
    }
}

}  // namespace

std::string describe(const Refusal& refusal, OperationKind kind, uint32_t own_rank) {
    const bool is_peers = refusal.rank != own_rank && refusal.code != Code::kSignature;
    const std::string text_of = reason(refusal, kind, own_rank);
    return is_peers ? text("rank ", refusal.rank, " refused ", kind_name(kind), ": ", text_of) : text_of;
}

}  // namespace ascend_deepep::op_host
