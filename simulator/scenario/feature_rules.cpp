// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/feature_rules.h"

#include <stdexcept>

#include "contract/limits.h"
#include "simulator/scenario/oracle_quantise.h"
#include "simulator/scenario/values.h"

namespace ascend_deepep::simulator {
namespace {

[[noreturn]] void refuse(const std::string& text) {
    throw std::invalid_argument(text);
}

void check_experts(const Scenario& s) {
    const CommunicatorLimits& limits = s.world.limits;
    const Features& f = s.features;
    check_within("shared", f.shared_experts, 0, limits.shared_expert_num, "the communicator's max_shared");
    check_within("shared_ranks", f.shared_ranks, f.shared_experts, limits.num_ranks - 1,
                 "from shared up to all ranks but one");
    if (f.shared_experts == 0 && f.shared_ranks != 0) refuse("shared_ranks without shared: set it to 0");
    if (f.shared_experts != 0 && f.shared_ranks % f.shared_experts != 0) {
        refuse("shared_ranks " + std::to_string(f.shared_ranks) + " is not a multiple of shared " +
               std::to_string(f.shared_experts));
    }
    const uint32_t holders = limits.num_ranks - f.shared_ranks;
    check_within("experts", s.num_experts, 1, limits.num_experts, "the communicator's max_experts");
    if (s.num_experts % holders != 0) {
        refuse("experts " + std::to_string(s.num_experts) + " is not a multiple of the " + std::to_string(holders) +
               " ranks that hold them");
    }
    check_within("experts of a rank x ranks", uint64_t{s.num_experts / holders} * limits.num_ranks, 1,
                 kMaxBlocksPerRank);
    check_within("topk", s.num_topk, 1, s.num_experts, "the experts");
}

void check_rows(const Scenario& s) {
    const Features& f = s.features;
    const std::string quant = kQuantNames[static_cast<uint32_t>(f.quant)];
    if (f.quant != Quant::kNone && is_one_byte(f.dtype))
        refuse("quant " + quant + " takes bf16 and fp16, dtype is " + element_name(f.dtype));
    if (!has_legal_scales(f)) {
        refuse(std::string("quant_scales ") + kScalesNames[static_cast<uint32_t>(f.scales)] +
               " does not go with quant " + quant + " of " + element_name(f.dtype));
    }
    const bool do_travel = f.scales == ScalesKind::kTravelFp32 || f.scales == ScalesKind::kTravelE8m0;
    if (do_travel) check_within("scale_columns", f.scale_columns, 1, most_scale_columns(s), "the room of a row");
    if (has_copies_per_expert(f) && s.world.limits.per_expert_copies == 0)
        refuse("copies per expert, asked for or by scales per expert, need room_per_expert 1");
}

}  // namespace

bool has_legal_scales(const Features& f) {
    switch (f.scales) {
        case ScalesKind::kNone:
            return f.quant != Quant::kStaticInt8 && !is_one_byte(f.dtype);
        case ScalesKind::kScalar:
        case ScalesKind::kRow:
            return f.quant == Quant::kStaticInt8;
        case ScalesKind::kPerExpert:
            return f.quant != Quant::kNone && !is_mx(f.quant);
        case ScalesKind::kTravelFp32:
        case ScalesKind::kTravelE8m0:
            return is_one_byte(f.dtype);
        case ScalesKind::kCount:
            break;
    }
    return false;
}

bool goes_by_rank(const Features& f, bool has_scales) {
    return !has_copies_per_expert(f) && !f.is_int8 && (f.has_weights || !has_scales);
}

ScalesKind first_legal_scales(const Features& features) {
    Features f = features;
    for (uint32_t kind = 0; kind < static_cast<uint32_t>(ScalesKind::kCount); ++kind) {
        f.scales = static_cast<ScalesKind>(kind);
        if (has_legal_scales(f)) break;
    }
    return f.scales;
}

uint32_t most_scale_columns(const CallShape& shape) {
    const bool is_float = shape.features.scales == ScalesKind::kTravelFp32;
    return shape.hidden / (is_float ? kMinHidden : kHiddenMultiple);
}

void check_features(const Scenario& s) {
    check_experts(s);
    check_rows(s);
    check_within("tokens", s.num_tokens, 1, s.world.limits.max_tokens, "the communicator's max_tokens");
    const Features& f = s.features;
    if (f.mask != MaskKind::kNone && s.is_uneven) refuse("a mask needs batches of one size: uneven 0");
    if (f.mask != MaskKind::kNone && s.masked_one_in == 0) refuse("masked_one_in 0 is outside [1, 4294967295]");
    if (f.sums_by_rank && !goes_by_rank(f, s.has_scales)) {
        refuse(
            "combine_by_rank 1 needs copies rank, no quant_scales expert, combine_int8 0, and weights 1 with scales 1");
    }
    if (f.has_shared_x && f.shared_ranks != 0) refuse("shared_x needs shared_ranks 0");
}

}  // namespace ascend_deepep::simulator
