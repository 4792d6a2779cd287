// SPDX-License-Identifier: Apache-2.0
// In whole numbers, so that every compiler draws the same. Layer: simulator.
#include "simulator/scenario/routing.h"

#include <algorithm>
#include <numeric>

namespace ascend_deepep::simulator {
namespace {

constexpr uint64_t kRouterSalt = 0x4B9C17F02E6D83A5ULL;
constexpr uint64_t kScores = 1000;  // a token's score of an expert is below it
constexpr uint64_t kBiases = 200;
constexpr uint64_t kOdds = 1 << 20;  // of the most likely expert; the n-th has an n-th of it
constexpr uint32_t kGroups = 8;
constexpr uint32_t kBestGroups = 4;

// The `count` largest, largest first, of equal ones the first.
std::vector<uint32_t> largest(const std::vector<uint64_t>& values, uint32_t count) {
    std::vector<uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto end = order.begin() + count;
    std::partial_sort(order.begin(), end, order.end(), [&values](uint32_t a, uint32_t b) {
        return values[a] != values[b] ? values[a] > values[b] : a < b;
    });
    order.resize(count);
    return order;
}

}  // namespace

Router::Router(Routing routing, uint64_t seed, uint32_t num_experts, uint32_t num_topk)
    : routing_(routing), num_topk_(num_topk), weights_(num_experts) {
    sim::Random random(seed ^ kRouterSalt);
    const bool has_groups =
        num_experts % kGroups == 0 && num_experts / kGroups >= 2 && num_topk <= num_experts / kGroups * kBestGroups;
    num_groups_ = has_groups ? kGroups : 1;
    for (uint32_t expert = 0; expert < num_experts; ++expert)
        weights_[expert] = routing == Routing::kSkewed ? kOdds / (expert + 1) : random.below(kBiases);
    for (uint32_t expert = 0; routing == Routing::kSkewed && expert + 1 < num_experts; ++expert)
        std::swap(weights_[expert], weights_[random.between(expert, num_experts - 1)]);
}

std::vector<int32_t> Router::choose(sim::Random& random) const {
    return routing_ == Routing::kSkewed ? skewed(random) : gated(random);
}

std::vector<int32_t> Router::gated(sim::Random& random) const {
    std::vector<uint64_t> scores(weights_.size());
    for (size_t expert = 0; expert < scores.size(); ++expert)
        scores[expert] = 1 + random.below(kScores) + weights_[expert];
    const size_t of_group = scores.size() / num_groups_;
    std::vector<uint64_t> groups;
    for (uint32_t group = 0; group < num_groups_ && num_groups_ > 1; ++group) {
        const auto first = scores.begin() + static_cast<std::ptrdiff_t>(group * of_group);
        const std::vector<uint64_t> own(first, first + static_cast<std::ptrdiff_t>(of_group));
        const std::vector<uint32_t> best = largest(own, 2);
        groups.push_back(own[best[0]] + own[best[1]]);
    }
    if (!groups.empty()) {
        std::vector<uint8_t> is_kept(num_groups_, 0);
        for (uint32_t group : largest(groups, kBestGroups))
            is_kept[group] = 1;
        for (size_t expert = 0; expert < scores.size(); ++expert)
            scores[expert] *= is_kept[expert / of_group];
    }
    const std::vector<uint32_t> chosen = largest(scores, num_topk_);
    return {chosen.begin(), chosen.end()};
}

std::vector<int32_t> Router::skewed(sim::Random& random) const {
    std::vector<uint64_t> odds = weights_;
    std::vector<int32_t> chosen;
    while (chosen.size() < num_topk_) {
        uint64_t left = random.below(std::accumulate(odds.begin(), odds.end(), uint64_t{0}));
        size_t expert = 0;
        for (; left >= odds[expert]; ++expert)
            left -= odds[expert];
        chosen.push_back(static_cast<int32_t>(expert));
        odds[expert] = 0;
    }
    return chosen;
}

}  // namespace ascend_deepep::simulator
