// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/scenario/checks/results.h"

#include <algorithm>

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

}  // namespace

std::string dispatch_fault(const Channel& channel, uint32_t rank, const std::vector<Batch>& batches,
                           const DispatchResult& got) {
    const ExpectedRows want =
        expected_dispatch(batches, static_cast<int>(channel.config.limits.num_experts), static_cast<int>(rank));
    std::string text = difference("ep_recv_counts", want.counts, got.ep_recv_counts);
    if (text.empty()) text = difference("expert_token_nums", want.token_nums, got.expert_token_nums);
    if (text.empty() && static_cast<int32_t>(got.outcome.num_rows) != want.counts.back()) text = "number of rows";
    if (text.empty()) text = difference("assist_info", want.triples, got.assist_info);
    if (text.empty()) text = difference("expand_x", want.rows, got.expand_x);
    const auto behind = got.expand_x.begin() + static_cast<int64_t>(want.rows.size());
    const bool is_clean = std::all_of(behind, got.expand_x.end(), [](uint16_t v) { return v == 0x7F7F; });
    if (text.empty() && !is_clean) text = "expand_x behind the rows was written";
    return text.empty() ? "" : of_rank(rank, "dispatch: " + text);
}

std::string combine_fault(uint32_t rank, const Batch& batch, const CombineResult& got) {
    const std::string text = difference("x", expected_combine(batch), got.x);
    return text.empty() ? "" : of_rank(rank, "combine: " + text);
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
