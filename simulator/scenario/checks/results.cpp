// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/checks/results.h"

#include <algorithm>
#include <cstring>

#include "simulator/scenario/call_parts.h"
#include "simulator/scenario/checks/text.h"
#include "simulator/scenario/oracle.h"

namespace ascend_deepep::simulator {
namespace {

template <typename T>
std::string difference(const char* name, const std::vector<T>& want, const std::vector<T>& got) {
    const auto places = std::mismatch(want.begin(), want.end(), got.begin());
    if (places.first == want.end()) return "";
    return std::string(name) + "[" + std::to_string(places.first - want.begin()) + "] is " +
           std::to_string(*places.second) + ", want " + std::to_string(*places.first);
}

// Elements of `got` from `first` on are what they were before the call.
template <typename T>
std::string written_behind(const char* name, const std::vector<T>& got, size_t first, T poison) {
    const auto is_poison = [poison](T value) { return std::memcmp(&value, &poison, sizeof(T)) == 0; };
    if (std::all_of(got.begin() + static_cast<int64_t>(std::min(first, got.size())), got.end(), is_poison)) return "";
    return std::string(name) + " behind the rows was written";
}

std::string rows_fault(const Features& f, ExpectedRows& want, DispatchResult got) {
    const std::string behind = written_behind("dynamic_scales", got.scales, want.scales.size(), kPoisonByte);
    if (f.quant != Quant::kNone) {
        make_canonical(f.quant, &want.bytes, &want.scales);
        make_canonical(f.quant, &got.expand_bytes, &got.scales);
    }
    std::string text = difference("expand_x", want.rows, got.expand_x);
    if (text.empty()) text = difference("expand_x", want.bytes, got.expand_bytes);
    if (text.empty()) text = difference("dynamic_scales", want.scales, got.scales);
    if (text.empty()) text = written_behind("expand_x", got.expand_x, want.rows.size(), kPoisonRow);
    if (text.empty()) text = written_behind("expand_x", got.expand_bytes, want.bytes.size(), kPoisonByte);
    return text.empty() ? behind : text;
}

}  // namespace

std::string dispatch_fault(const Channel& channel, uint32_t rank, const std::vector<Batch>& batches,
                           const DispatchResult& got) {
    ExpectedRows want = expected_dispatch(batches, static_cast<int>(channel.shape.num_experts), static_cast<int>(rank));
    std::string text = difference("ep_recv_counts", want.counts, got.ep_recv_counts);
    if (text.empty()) text = difference("expert_token_nums", want.token_nums, got.expert_token_nums);
    if (text.empty() && static_cast<int32_t>(got.outcome.num_rows) != want.counts.back()) text = "number of rows";
    if (text.empty()) text = difference("assist_info", want.triples, got.assist_info);
    if (text.empty()) text = difference("expand_scales", want.weights, got.expand_scales);
    if (text.empty()) text = rows_fault(channel.shape.features, want, got);
    if (text.empty()) text = written_behind("expand_scales", got.expand_scales, want.weights.size(), kPoisonFloat);
    return text.empty() ? "" : of_rank(rank, "dispatch: " + text);
}

std::string combine_fault(uint32_t rank, const Batch& batch, const CombineResult& got) {
    const std::string text = difference("x", expected_combine(batch), got.x);
    return text.empty() ? "" : of_rank(rank, "combine: " + text);
}

std::string performance_fault(const Batch& batch, const std::vector<int64_t>& got, uint64_t elapsed_ns) {
    const auto most = static_cast<int64_t>(elapsed_ns / 1000);
    for (size_t source = 0; source < got.size(); ++source) {
        const int64_t before = batch.performance_info[source];
        if (got[source] == before || (before < got[source] && got[source] <= most)) continue;
        return of_rank(batch.rank, "performance_info[" + std::to_string(source) + "] was " + std::to_string(before) +
                                       " and is " + std::to_string(got[source]) + " after a call of " +
                                       std::to_string(most) + " us");
    }
    return "";
}

std::string leftover_fault(uint32_t rank, const DispatchResult& got) {
    const auto is_zero = [](auto v) { return v == 0; };
    if (std::all_of(got.ep_recv_counts.begin(), got.ep_recv_counts.end(), is_zero) &&
        std::all_of(got.expert_token_nums.begin(), got.expert_token_nums.end(), is_zero)) {
        return "";
    }
    return of_rank(rank, "counts are not zero after a dispatch that gave nothing");
}

}  // namespace ascend_deepep::simulator
