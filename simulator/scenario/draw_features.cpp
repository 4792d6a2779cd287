// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/draw_features.h"

#include <algorithm>

#include "contract/limits.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint64_t kFeatureSalt = 0x71D04B8E39A6C25FULL;

// How rows travel: static factors have three kinds, and rows as they are are the most common.
struct Rows {
    Quant quant;
    Dtype dtype;
};
constexpr Rows kRows[] = {
    {Quant::kNone, Dtype::kBf16},       {Quant::kNone, Dtype::kFp16},       {Quant::kStaticInt8, Dtype::kBf16},
    {Quant::kStaticInt8, Dtype::kFp16}, {Quant::kStaticInt8, Dtype::kBf16}, {Quant::kTokenInt8, Dtype::kBf16},
    {Quant::kTokenE4m3, Dtype::kBf16},  {Quant::kTokenE5m2, Dtype::kFp16},  {Quant::kGroupE4m3, Dtype::kFp16},
    {Quant::kGroupE5m2, Dtype::kBf16},  {Quant::kMxE4m3, Dtype::kBf16},     {Quant::kMxE5m2, Dtype::kFp16},
    {Quant::kNone, Dtype::kE4m3},       {Quant::kNone, Dtype::kE5m2}};

ScalesKind draw_scales(sim::Random& random, const Features& f) {
    constexpr ScalesKind kStatic[] = {ScalesKind::kScalar, ScalesKind::kRow, ScalesKind::kPerExpert};
    if (f.quant == Quant::kStaticInt8) return random.pick(kStatic);
    if (is_one_byte(f.dtype)) return random.one_in(2) ? ScalesKind::kTravelFp32 : ScalesKind::kTravelE8m0;
    const bool is_mx = f.quant == Quant::kMxE4m3 || f.quant == Quant::kMxE5m2;
    const bool can_smooth = f.quant != Quant::kNone && !is_mx;
    return can_smooth && random.one_in(2) ? ScalesKind::kPerExpert : ScalesKind::kNone;
}

void draw_rows(sim::Random& random, CallShape* shape) {
    Features& f = shape->features;
    const Rows rows = random.pick(kRows);
    f.quant = rows.quant;
    f.dtype = rows.dtype;
    if (f.quant != Quant::kNone && random.one_in(3)) f.dtype = Dtype::kFp16;
    f.scales = draw_scales(random, f);
    const uint32_t elements = f.scales == ScalesKind::kTravelE8m0 ? kHiddenMultiple : kMinHidden;
    f.scale_columns = random.between(1, shape->hidden / elements);
    shape->has_odd_values = random.one_in(2);
}

// Half of the pairs have one expert, with as many replicas as ranks allow: then some replica serves more ranks.
void draw_shared(sim::Random& random, CommunicatorLimits* limits, CallShape* shape) {
    const uint32_t others = limits->num_ranks - 1;
    if (others == 0 || random.one_in(2)) return;
    Features& f = shape->features;
    f.shared_experts = random.one_in(2) ? 1 : random.between(1, std::min(others, kMaxSharedExperts));
    f.shared_ranks = f.shared_experts * random.between(1, others / f.shared_experts);
    shape->num_experts = limits->num_experts / limits->num_ranks * (limits->num_ranks - f.shared_ranks);
    shape->num_topk = std::min(shape->num_topk, shape->num_experts);
}

void draw_mask(sim::Random& random, CallShape* shape) {
    constexpr MaskKind kKinds[] = {MaskKind::kNone, MaskKind::kNone, MaskKind::kTokens, MaskKind::kPairs};
    constexpr uint32_t kDensities[] = {2, 2, 3, 3, 8, 8, 8, 1};
    shape->features.mask = random.pick(kKinds);
    shape->masked_one_in = random.pick(kDensities);
    if (shape->features.mask == MaskKind::kNone) return;
    shape->is_uneven = false;  // the operators refuse a mask with batches that differ
}

}  // namespace

void draw_features(uint64_t seed, CommunicatorLimits* limits, CallShape* shape) {
    sim::Random random(seed ^ kFeatureSalt);
    if (random.one_in(6)) return;
    Features& f = shape->features;
    draw_rows(random, shape);
    draw_shared(random, limits, shape);
    draw_mask(random, shape);
    if (random.one_in(4)) f.copies = CopyMode::kPerExpert;
    f.has_weights = random.one_in(3);
    f.has_sums = random.one_in(3);
    f.is_int8 = random.one_in(3);
    f.has_shared_x = random.one_in(2) && f.shared_ranks == 0;
    f.has_performance = random.one_in(3);
    if (random.one_in(4)) shape->num_tokens = random.between(1, limits->max_tokens);
    // A communicator may have room for more than its calls need.
    limits->shared_expert_num = random.one_in(4) ? random.between(0, kMaxSharedExperts) : 0;
    limits->per_expert_copies = random.one_in(4) ? 1 : 0;
    f.sums_by_rank = random.one_in(4) && !has_copies_per_expert(f);
    if (f.sums_by_rank) {
        f.is_int8 = false;
        f.has_weights = f.has_weights || shape->has_scales;  // combine weighs with what dispatch brought
    }
    fit_limits(*shape, limits);
}

uint32_t experts_per_rank(const CommunicatorLimits& limits, const CallShape& shape) {
    return shape.num_experts / (limits.num_ranks - shape.features.shared_ranks);
}

void fit_limits(const CallShape& shape, CommunicatorLimits* limits) {
    limits->num_experts = std::max(limits->num_experts, shape.num_experts);
    limits->num_experts = static_cast<uint32_t>(align_up(limits->num_experts, limits->num_ranks));
    limits->shared_expert_num = std::max(limits->shared_expert_num, shape.features.shared_experts);
    if (has_copies_per_expert(shape.features)) limits->per_expert_copies = 1;
    limits->combine_reduce =
        static_cast<uint32_t>(shape.features.sums_by_rank ? CombineReduce::kRank : CombineReduce::kRow);
}

void fit_ranks(uint32_t num_ranks, CommunicatorLimits* limits, CallShape* shape) {
    Features& f = shape->features;
    const uint32_t most = limits->num_experts / limits->num_ranks, local = experts_per_rank(*limits, *shape);
    if (f.shared_ranks >= num_ranks) f.shared_ranks = (num_ranks - 1) / f.shared_experts * f.shared_experts;
    if (f.shared_ranks == 0) f.shared_experts = 0;
    limits->num_ranks = num_ranks;
    limits->num_experts = most * num_ranks;
    shape->num_experts = local * (num_ranks - f.shared_ranks);
    fit_limits(*shape, limits);
    limits->num_topk = std::min(limits->num_topk, limits->num_experts);
    shape->num_topk = std::min({shape->num_topk, limits->num_topk, shape->num_experts});
}

std::vector<std::string> features_of(const CommunicatorLimits& limits, const CallShape& shape, bool has_combine) {
    const Features& f = shape.features;
    std::vector<std::string> names;
    const auto name = [&names](bool holds, const std::string& text) {
        if (holds) names.push_back(text);
    };
    name(f.mask != MaskKind::kNone, std::string("mask-") + kMaskNames[static_cast<uint32_t>(f.mask)]);
    name(f.shared_ranks != 0, "shared-experts");
    name(f.shared_ranks != 0 && limits.num_ranks % (f.shared_ranks / f.shared_experts) != 0, "shared-remainder");
    name(has_copies_per_expert(f), "copies-per-expert");
    name(f.quant != Quant::kNone, std::string("quant-") + kQuantNames[static_cast<uint32_t>(f.quant)]);
    name(is_one_byte(f.dtype), std::string("pass-") + element_name(f.dtype));
    name(f.dtype == Dtype::kFp16, "float16");
    name(f.quant == Quant::kStaticInt8, std::string("static-") + kScalesNames[static_cast<uint32_t>(f.scales)]);
    name(f.quant != Quant::kStaticInt8 && f.scales == ScalesKind::kPerExpert, "smoothing");
    name(f.quant != Quant::kNone && shape.has_odd_values, "odd-values");
    name(f.has_weights, "weights");
    name(f.has_sums, "running-sums");
    name(f.has_performance, "performance-info");
    name(f.is_int8 && has_combine, "combine-int8");
    name(f.sums_by_rank && has_combine, "combine-by-rank");
    name(f.has_shared_x && has_combine, "shared-expert-x");
    name(shape.is_uneven, "unequal-batches");
    name(shape.num_tokens < limits.max_tokens, "smaller-batches");
    return names;
}

const char* element_name(Dtype dtype) {
    switch (dtype) {
        case Dtype::kFp16:
            return "fp16";
        case Dtype::kE4m3:
            return "e4m3";
        case Dtype::kE5m2:
            return "e5m2";
        default:
            return "bf16";
    }
}

std::string describe_features(const CallShape& shape) {
    const Features& f = shape.features;
    std::string text = std::string(" ") + element_name(f.dtype);
    if (f.quant != Quant::kNone) text += std::string(" quant ") + kQuantNames[static_cast<uint32_t>(f.quant)];
    if (f.scales != ScalesKind::kNone) text += std::string(" scales ") + kScalesNames[static_cast<uint32_t>(f.scales)];
    if (f.mask != MaskKind::kNone) text += std::string(" mask ") + kMaskNames[static_cast<uint32_t>(f.mask)];
    if (f.shared_ranks != 0)
        text += " shared " + std::to_string(f.shared_experts) + "/" + std::to_string(f.shared_ranks);
    if (has_copies_per_expert(f)) text += " copies per expert";
    if (f.has_weights) text += " weights";
    if (f.is_int8) text += " combine-int8";
    if (f.sums_by_rank) text += " combine-by-rank";
    if (f.has_shared_x) text += " shared-expert-x";
    return text;
}

}  // namespace ascend_deepep::simulator
