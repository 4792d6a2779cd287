// SPDX-License-Identifier: Apache-2.0
// Rounds of quantised dispatch and of combine over int8 rows: inputs of all ranks, and by the model of tests/cpp/quant
// what is to come of them. Layer: tests.
#pragma once

#include <optional>

#include "rounds.h"
#include "simulator/scenario/call_parts.h"
#include "tests/cpp/quant/rows.h"

namespace ascend_deepep::test {

using namespace quant_test;

// What multiplies a row before it is quantised, or is its static scale.
enum class Factors { kNone, kScalar, kRow, kPerExpert };

struct QuantCase {
    Case shape;
    Quant quant = Quant::kNone;
    Dtype dtype = Dtype::kBf16;
    Factors factors = Factors::kNone;
    uint32_t scale_columns = 0;  // of rows that are quantised already: float32 scales that travel with them
    bool is_forced_per_expert = false;
    bool is_int8 = false;  // combine's wire
    uint32_t shared_experts = 0, shared_ranks = 0;
};

struct Family {
    Quant quant;
    int64_t mode;
    std::optional<int64_t> y_dtype;  // torch's number
};
constexpr Family kFamilies[] = {
    {Quant::kNone, 0, {}},      {Quant::kStaticInt8, 1, {}}, {Quant::kTokenInt8, 2, {}},
    {Quant::kTokenE4m3, 2, 24}, {Quant::kTokenE5m2, 2, 23},  {Quant::kGroupE4m3, 3, 24},
    {Quant::kGroupE5m2, 3, 23}, {Quant::kMxE4m3, 4, 24},     {Quant::kMxE5m2, 4, 23},
};
inline const Family& family(Quant quant) {
    return kFamilies[static_cast<uint32_t>(quant)];
}

inline const Format& format_of(Dtype dtype) {
    return dtype == Dtype::kFp16 ? fp16() : bf16();
}

// A row with the bytes that it has on the wire.
inline Wire wire_of(const QuantCase& c, const std::vector<uint16_t>& row, const std::vector<float>& factors) {
    const Format& format = format_of(c.dtype);
    switch (c.quant) {
        case Quant::kStaticInt8:
            return static_int8(row, format, factors);
        case Quant::kTokenInt8:
            return scaled(row, format, Element::kInt8, row.size(), factors);
        case Quant::kTokenE4m3:
            return scaled(row, format, Element::kE4m3, row.size(), factors);
        case Quant::kTokenE5m2:
            return scaled(row, format, Element::kE5m2, row.size(), factors);
        case Quant::kGroupE4m3:
            return scaled(row, format, Element::kE4m3, 128, factors);
        case Quant::kGroupE5m2:
            return scaled(row, format, Element::kE5m2, 128, factors);
        case Quant::kMxE4m3:
            return mx(row, format, Element::kE4m3);
        case Quant::kMxE5m2:
            return mx(row, format, Element::kE5m2);
        default:
            break;
    }
    Wire wire;
    for (uint16_t element : row)
        append(wire.values, element);
    return wire;
}

// Everything that the ranks of a round share: inputs of all, and what is to come out.
struct Round {
    QuantCase c;
    std::vector<Batch> batches;
    std::vector<std::vector<uint8_t>> x;     // of each rank: rows as bytes
    std::vector<std::vector<float>> scales;  // of each rank: scales that travel
    std::vector<float> factors;              // of the call: as `Factors` says, the same on all ranks
    uint32_t x_row_bytes = 0;
};

constexpr size_t kNumContents = std::size(kContents);

inline std::vector<uint16_t> row_of(const QuantCase& c, uint32_t seed, uint32_t rank, uint32_t token) {
    const Content content = kContents[(seed + rank + token) % kNumContents];
    return make_row(content, c.shape.hidden, format_of(c.dtype), seed * 10007 + rank * 101 + token);
}

inline Round make_round(const QuantCase& c, uint32_t seed) {
    Round round;
    round.c = c;
    const bool is_fp8 = c.dtype == Dtype::kE4m3;
    round.x_row_bytes = c.shape.hidden * (is_fp8 ? 1 : 2);
    for (uint32_t rank = 0; rank < c.shape.num_ranks; ++rank) {
        round.batches.push_back(make_batch(c.shape, rank, seed));
        round.batches.back().features.dtype = c.dtype;
        std::vector<uint8_t> bytes;
        std::vector<float> scales;
        for (uint32_t token = 0; token < round.batches.back().num_tokens; ++token) {
            const std::vector<uint16_t> row = row_of(c, seed, rank, token);
            for (uint16_t element : row) {
                bytes.push_back(static_cast<uint8_t>(element));
                if (!is_fp8) bytes.push_back(static_cast<uint8_t>(element >> 8));
            }
            for (float scale : make_factors(c.scale_columns, rank * 1000 + token))
                scales.push_back(scale);
        }
        round.x.push_back(bytes);
        round.scales.push_back(scales);
    }
    const uint32_t factor_rows = c.factors == Factors::kPerExpert ? c.shape.experts + c.shared_experts : 1;
    if (c.factors == Factors::kScalar) round.factors = {2.75F};
    if (c.factors == Factors::kRow || c.factors == Factors::kPerExpert)
        round.factors = make_factors(factor_rows * c.shape.hidden, seed);
    return round;
}

// Factors of the copy that goes to `expert`: rows of shared experts, numbered behind the routed ones, come first.
inline std::vector<float> factors_for(const Round& round, uint32_t expert) {
    const QuantCase& c = round.c;
    if (c.factors != Factors::kPerExpert) return round.factors;
    const uint32_t row = expert < c.shape.experts ? expert + c.shared_experts : expert - c.shape.experts;
    const auto first = round.factors.begin() + int64_t{row} * c.shape.hidden;
    return {first, first + c.shape.hidden};
}

// The rows that `rank` receives, in their order: by expert, source, token, column.
struct Received {
    std::vector<uint8_t> rows, scales;
    std::vector<int32_t> triples, counts;
};

inline Wire copy_of(const Round& round, uint32_t source, uint32_t token, uint32_t expert, uint32_t seed) {
    const QuantCase& c = round.c;
    if (c.quant != Quant::kNone) return wire_of(c, row_of(c, seed, source, token), factors_for(round, expert));
    Wire wire;
    const auto row = round.x[source].begin() + static_cast<int64_t>(token) * round.x_row_bytes;
    wire.values.assign(row, row + round.x_row_bytes);
    for (uint32_t i = 0; i < c.scale_columns; ++i)
        append(wire.scales, round.scales[source][token * c.scale_columns + i]);
    return wire;
}

constexpr uint32_t kNobody = 0xFFFFFFFFU;

// Who gets (token, column) of `source`: the expert, and its rank.
struct Place {
    uint32_t expert, rank;
};
inline Place place_of(const Round& round, uint32_t source, uint32_t token, uint32_t column) {
    const QuantCase& c = round.c;
    if (column >= c.shape.topk) {
        const uint32_t shared = column - c.shape.topk, replicas = c.shared_ranks / c.shared_experts;
        return {c.shape.experts + shared, shared * replicas + source % replicas};
    }
    const int32_t id = round.batches[source].expert_ids[token * c.shape.topk + column];
    if (id < 0) return {kNobody, kNobody};
    const uint32_t each = c.shape.experts / (c.shape.num_ranks - c.shared_ranks);
    return {static_cast<uint32_t>(id), c.shared_ranks + static_cast<uint32_t>(id) / each};
}

inline std::vector<uint32_t> experts_of(const QuantCase& c, uint32_t rank) {
    if (rank < c.shared_ranks) return {c.shape.experts + rank / (c.shared_ranks / c.shared_experts)};
    const uint32_t each = c.shape.experts / (c.shape.num_ranks - c.shared_ranks);
    std::vector<uint32_t> experts;
    for (uint32_t i = 0; i < each; ++i)
        experts.push_back((rank - c.shared_ranks) * each + i);
    return experts;
}

inline Received received_by(const Round& round, uint32_t rank, uint32_t seed) {
    Received result;
    const QuantCase& c = round.c;
    for (uint32_t expert : experts_of(c, rank)) {
        for (uint32_t source = 0; source < c.shape.num_ranks; ++source) {
            for (uint32_t token = 0; token < round.batches[source].num_tokens; ++token) {
                for (uint32_t column = 0; column < c.shape.topk + c.shared_experts; ++column) {
                    const Place place = place_of(round, source, token, column);
                    if (place.expert != expert || place.rank != rank) continue;
                    const Wire wire = copy_of(round, source, token, expert, seed);
                    result.rows.insert(result.rows.end(), wire.values.begin(), wire.values.end());
                    result.scales.insert(result.scales.end(), wire.scales.begin(), wire.scales.end());
                    for (uint32_t word : {source, token, column})
                        result.triples.push_back(static_cast<int32_t>(word));
                }
            }
            result.counts.push_back(static_cast<int32_t>(result.triples.size() / 3));
        }
    }
    return result;
}

inline std::vector<int64_t> scales_shape(const Round& round, const Batch& batch) {
    const int64_t hidden = round.c.shape.hidden;
    switch (round.c.factors) {
        case Factors::kScalar:
            return {1};
        case Factors::kRow:
            return {hidden};
        case Factors::kPerExpert:
            return {round.c.shape.experts + round.c.shared_experts, hidden};
        default:
            return {batch.num_tokens, round.c.scale_columns};
    }
}

inline op_host::CommonAttributes attributes_of(const QuantCase& c, const CommunicatorLimits& limits, uint32_t rank,
                                               const Batch& batch) {
    op_host::CommonAttributes result = attributes(limits, rank, batch);
    if (c.shared_ranks != 0) result.shared_expert_num = c.shared_experts;
    result.shared_expert_rank_num = c.shared_ranks;
    if (c.is_forced_per_expert) result.comm_alg = "fullmesh_v1";
    return result;
}

inline op_host::DispatchCall dispatch_call(const Round& round, const CommunicatorLimits& limits, uint32_t rank) {
    const QuantCase& c = round.c;
    const Batch& batch = round.batches[rank];
    op_host::DispatchCall call;
    call.x = tensor(c.dtype, {batch.num_tokens, batch.hidden});
    call.expert_ids = tensor(Dtype::kInt32, {batch.num_tokens, batch.num_topk});
    call.attributes = attributes_of(c, limits, rank, batch);
    call.quant_mode = family(c.quant).mode;
    call.y_dtype = family(c.quant).y_dtype;
    if (c.factors != Factors::kNone || c.scale_columns != 0)
        call.scales = tensor(Dtype::kFp32, scales_shape(round, batch));
    return call;
}

// What an expert makes of a row: nobody but its column decides.
inline std::vector<uint16_t> expert_row(const QuantCase& c, uint32_t seed, int32_t source, int32_t token,
                                        int32_t column) {
    const auto place = static_cast<uint32_t>(source * 1009 + token * 17 + column);
    return make_row(kContents[(place + seed) % kNumContents], c.shape.hidden, format_of(c.dtype), place);
}

inline uint16_t fold_nan(uint16_t code, const Format& format) {
    return static_cast<uint16_t>((code & 0x7FFFU) > format.infinity() ? format.nan() : code);
}

inline std::vector<uint16_t> combined(const QuantCase& c, const Batch& batch, uint32_t rank, uint32_t seed) {
    const Format& format = format_of(c.dtype);
    std::vector<uint16_t> result;
    for (uint32_t token = 0; token < batch.num_tokens; ++token) {
        std::vector<float> sum(c.shape.hidden, 0.0F);
        for (uint32_t column = 0; column < batch.num_topk + c.shared_experts; ++column) {
            const uint32_t pair = token * batch.num_topk + column;
            const bool is_shared = column >= batch.num_topk;
            if (!is_shared && batch.expert_ids[pair] < 0) continue;
            std::vector<uint16_t> row = expert_row(c, seed, static_cast<int32_t>(rank), static_cast<int32_t>(token),
                                                   static_cast<int32_t>(column));
            if (c.is_int8) row = combine_int8_decoded(combine_int8(row, format), format);
            const double weight = is_shared ? 1.0 : double(batch.scales[pair]);
            for (uint32_t h = 0; h < c.shape.hidden; ++h)
                sum[h] = rounded(double(sum[h]) + double(rounded(weight * format.value(row[h]))));
        }
        for (float value : sum)
            result.push_back(fold_nan(static_cast<uint16_t>(format.code(double(value), false)), format));
    }
    return result;
}

}  // namespace ascend_deepep::test
