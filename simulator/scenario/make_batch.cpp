// SPDX-License-Identifier: Apache-2.0
// Inputs of a rank in a round. Layer: simulator.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simulator/scenario/oracle.h"
#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {
namespace {

constexpr uint64_t kFeatureSalt = 0x2E8F6A03B5D7149CULL;  // ids and plain rows do not depend on features
constexpr uint64_t kRoutingSalt = 0x8D61C30FA9472BE5ULL;  // nor the rest on how experts are chosen

// Rows that travel as they are: every bit shows.
uint16_t plain_value(sim::Random& random, Dtype dtype) {
    return half_bits(dtype, static_cast<float>(random.below(4096)) / 64.0F - 32.0F);
}

void add_tokens(sim::Random& random, const CallShape& shape, Batch* batch) {
    std::vector<int32_t> experts(shape.num_experts);
    std::iota(experts.begin(), experts.end(), 0);
    const bool has_plain_rows = !has_byte_rows(shape.features);
    for (uint32_t token = 0; token < batch->num_tokens; ++token) {
        for (uint32_t column = 0; column < shape.num_topk; ++column) {
            const uint32_t other = random.between(column, shape.num_experts - 1);
            if (!shape.is_one_hot) std::swap(experts[column], experts[other]);
            const bool is_hole = shape.hole_one_in != 0 && random.one_in(shape.hole_one_in);
            batch->expert_ids.push_back(is_hole ? -1 : experts[column]);
            if (shape.has_scales) batch->scales.push_back(static_cast<float>(random.below(1000)) / 997.0F);
        }
        for (uint32_t h = 0; h < shape.hidden && has_plain_rows; ++h)
            batch->x.push_back(plain_value(random, shape.features.dtype));
    }
}

// Choices that are not uniform, where add_tokens has left one.
void route_tokens(const Channel& channel, sim::Random& random, Batch* batch) {
    const CallShape& shape = channel.shape;
    if (shape.routing == Routing::kUniform || shape.is_one_hot) return;
    const Router router(shape.routing, channel.seed, shape.num_experts, shape.num_topk);
    for (size_t first = 0; first < batch->expert_ids.size(); first += shape.num_topk) {
        const std::vector<int32_t> chosen = router.choose(random);
        for (size_t column = 0; column < chosen.size(); ++column) {
            int32_t& id = batch->expert_ids[first + column];
            if (id >= 0) id = chosen[column];
        }
    }
}

// Values that a quantiser has to treat apart.
enum class Odd : uint32_t { kNan, kInfinity, kNegativeZero, kSmallest, kLargest, kCount };

uint16_t odd_value(sim::Random& random, Dtype dtype, Odd odd) {
    const FloatFormat& format = format_of(dtype);
    const uint32_t sign = random.one_in(2) ? sign_bit(format) : 0;
    switch (odd) {
        case Odd::kNan:
            return static_cast<uint16_t>(sign + sign_bit(format) - 1);
        case Odd::kInfinity:
            return static_cast<uint16_t>(sign + format.largest + 1);
        case Odd::kSmallest:
            return static_cast<uint16_t>(sign + random.below(uint64_t{2} << format.mantissa));
        case Odd::kLargest:
            return static_cast<uint16_t>(sign + format.largest);
        case Odd::kNegativeZero:
        case Odd::kCount:
            break;
    }
    return static_cast<uint16_t>(sign_bit(format));
}

// Rows to be quantised: stretches of a row differ in size by powers of two, some are zeros, and some hold odd values.
void add_quantisable(sim::Random& random, const CallShape& shape, Batch* batch) {
    constexpr uint32_t kStretch = 32;
    const Dtype dtype = shape.features.dtype;
    for (uint32_t token = 0; token < batch->num_tokens; ++token) {
        const bool is_odd = shape.has_odd_values && random.one_in(2);
        const uint32_t odd_at = random.between(0, shape.hidden / kStretch);
        const auto odd = static_cast<Odd>(random.below(static_cast<uint64_t>(Odd::kCount)));
        for (uint32_t h = 0; h < shape.hidden; h += kStretch) {
            const int size = static_cast<int>(random.below(20)) - 14;
            const bool is_zero = random.one_in(8), has_odd = is_odd && h / kStretch == odd_at;
            for (uint32_t i = h; i < std::min(h + kStretch, shape.hidden); ++i) {
                const float part = static_cast<float>(random.below(4097)) / 2048.0F - 1.0F;
                uint16_t bits = half_bits(dtype, is_zero ? 0.0F : std::ldexp(part, size));
                if (has_odd && (odd == Odd::kSmallest || random.one_in(8))) bits = odd_value(random, dtype, odd);
                batch->x.push_back(bits);
            }
        }
    }
}

void add_mask(sim::Random& random, const CallShape& shape, Batch* batch) {
    if (shape.features.mask == MaskKind::kNone) return;
    const uint32_t columns = shape.features.mask == MaskKind::kPairs ? batch->num_topk : 1;
    const bool is_all_masked = random.one_in(8);
    for (uint32_t i = 0; i < batch->num_tokens * columns; ++i)
        batch->mask.push_back(is_all_masked || random.one_in(shape.masked_one_in) ? 0 : 1);
}

void add_scales(sim::Random& random, const CallShape& shape, Batch* batch) {
    const Features& f = shape.features;
    uint64_t factors = 0, bytes = 0;
    switch (f.scales) {
        case ScalesKind::kScalar:
            factors = 1;
            break;
        case ScalesKind::kRow:
            factors = shape.hidden;
            break;
        case ScalesKind::kPerExpert:
            factors = uint64_t{shape.num_experts + f.shared_experts} * shape.hidden;
            break;
        case ScalesKind::kTravelFp32:
            bytes = uint64_t{batch->num_tokens} * f.scale_columns * sizeof(float);
            break;
        case ScalesKind::kTravelE8m0:
            bytes = uint64_t{batch->num_tokens} * f.scale_columns;
            break;
        case ScalesKind::kNone:
        case ScalesKind::kCount:
            break;
    }
    for (uint64_t i = 0; i < factors; ++i)
        batch->factors.push_back(static_cast<float>(random.below(1000)) / 250.0F);
    for (uint64_t i = 0; i < bytes; ++i)
        batch->travelling.push_back(static_cast<uint8_t>(random.below(256)));
}

void add_features(sim::Random& random, const Channel& channel, Batch* batch) {
    const CallShape& shape = channel.shape;
    const Features& f = shape.features;
    const uint64_t elements = uint64_t{batch->num_tokens} * shape.hidden;
    if (f.quant != Quant::kNone) add_quantisable(random, shape, batch);
    for (uint64_t i = 0; i < elements && is_one_byte(f.dtype); ++i)
        batch->x_bytes.push_back(static_cast<uint8_t>(random.below(256)));
    add_mask(random, shape, batch);
    for (uint64_t i = 0; i < batch->expert_ids.size() && f.has_weights; ++i)
        batch->weights.push_back(static_cast<float>(random.below(1000)) / 991.0F);
    for (uint64_t i = 0; i < elements && f.has_shared_x; ++i)
        batch->shared_x.push_back(plain_value(random, combine_dtype(f)));
    constexpr int64_t kBefore[] = {0, 0, 3, 40, 1'000'000};
    for (uint32_t rank = 0; rank < channel.config.limits.num_ranks && f.has_performance; ++rank)
        batch->performance_info.push_back(shape.has_zeroed_performance ? 0 : random.pick(kBefore));
}

uint64_t seed_of(const Channel& channel, uint32_t rank, uint32_t round) {
    return channel.seed * 0x9E3779B97F4A7C15ULL + rank * 64 + round;
}

}  // namespace

Batch make_batch(const Channel& channel, uint32_t rank, uint32_t round) {
    const CallShape& shape = channel.shape;
    sim::Random random(seed_of(channel, rank, round));
    Batch batch;
    batch.rank = rank;
    batch.num_ranks = channel.config.limits.num_ranks;
    batch.max_tokens = shape.num_tokens;
    batch.num_tokens = shape.is_uneven ? static_cast<uint32_t>(random.below(shape.num_tokens + 1)) : shape.num_tokens;
    batch.hidden = shape.hidden;
    batch.num_topk = shape.num_topk;
    batch.num_experts = shape.num_experts;
    batch.features = shape.features;
    batch.has_scales = shape.has_scales;
    add_tokens(random, shape, &batch);
    sim::Random of_routing(seed_of(channel, rank, round) ^ kRoutingSalt);
    route_tokens(channel, of_routing, &batch);
    sim::Random of_features(seed_of(channel, rank, round) ^ kFeatureSalt);
    add_features(of_features, channel, &batch);
    add_scales(of_features, shape, &batch);
    garble_masked(kDispatchGarbage, &batch);
    return batch;
}

void garble_masked(uint64_t salt, Batch* batch) {
    sim::Random random(salt * kFeatureSalt + batch->rank);
    for (size_t pair = 0; pair < batch->expert_ids.size(); ++pair) {
        const size_t token = pair / batch->num_topk, column = pair % batch->num_topk;
        if (is_live(*batch, token, column)) continue;
        if (!batch->scales.empty()) batch->scales[pair] = std::numeric_limits<float>::quiet_NaN();
        if (!batch->weights.empty()) batch->weights[pair] = std::numeric_limits<float>::quiet_NaN();
        if (is_unmasked(*batch, token, column)) continue;
        const auto experts = static_cast<int32_t>(batch->num_experts);
        const int32_t garbage[] = {-1, -9, 0, experts - 1, experts, experts + 77, batch->expert_ids[0]};
        batch->expert_ids[pair] = random.pick(garbage);
    }
}

}  // namespace ascend_deepep::simulator
