// SPDX-License-Identifier: Apache-2.0
// Depth first over lists of delays, for bounds from 0 up. Layer: simulator.
// A pass is over when all lists were run and no word became shared in it; else its points were not all, and it is run
// again with the words known by then.
#include "simulator/search/search.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <stdexcept>

#include "simulator/search/tiny_world.h"

namespace ascend_deepep::simulator {
namespace {

using Clock = std::chrono::steady_clock;
using sim::Delay;
using sim::DelayAt;

struct Way {
    Delay how;
    char letter;  // 0: none is written
};
constexpr Way kWays[] = {{Delay::kBehind, 0}, {Delay::kLast, 'l'}, {Delay::kPipes, 'p'}, {Delay::kTorn, 't'}};

constexpr uint64_t kProgressRuns = 256;

class Search {
  public:
    Search(const SearchOptions& options, const twin::KernelTable& kernels)
        : options_(options),
          kernels_(kernels),
          scenario_(tiny_world(options.world, options.num_tokens)),
          start_(Clock::now()) {
        scenario_.world.choices = &choices_;
        scenario_.world.assumptions = options.assumptions;
    }

    SearchResult run() {
        for (uint32_t bound = 0; bound <= options_.bound && !is_stopped_; ++bound) {
            bound_ = bound;
            do {
                result_.runs = 0;
                hashes_.clear();
                has_learned_ = false;
                delays_.clear();
                visit(0);
            } while (has_learned_ && !is_stopped_);
        }
        result_.bound = options_.bound;
        result_.is_complete = !is_stopped_;
        result_.states = hashes_.size();
        result_.seconds = seconds();
        return result_;
    }

  private:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

    // The run of delays_, then all that have one more, from point `first` on.
    void visit(uint32_t first) {
        choices_.begin(delays_);
        if (options_.on_run) options_.on_run(delays_);
        const SeedResult run = run_scenario(scenario_, "", kernels_);
        ++result_.runs;
        ++result_.replayed;
        if (result_.replayed % kProgressRuns == 0 && options_.on_progress) options_.on_progress(result_.replayed);
        hashes_.insert(run.hash);
        has_learned_ |= choices_.has_learned();
        if (delays_.empty()) result_.points = choices_.points().size();
        if (!run.findings.empty()) note(run.findings.front());
        const bool is_over = (options_.max_runs != 0 && result_.replayed >= options_.max_runs) ||
                             (options_.max_seconds > 0 && seconds() >= options_.max_seconds);
        is_stopped_ |= is_over;
        if (delays_.size() == bound_) return;
        const std::vector<uint8_t> points = choices_.points();
        for (uint32_t point = first; point < points.size(); ++point) {
            for (const Way& way : kWays) {
                if ((points[point] & static_cast<uint8_t>(way.how)) == 0) continue;
                if (is_stopped_) return;
                delays_.push_back({point, way.how});
                visit(point + 1);
                delays_.pop_back();
            }
        }
    }

    void note(const sim::Finding& finding) {
        const std::string delays = delays_text(delays_);
        const auto is_same = [&](const SearchFailure& failure) { return failure.delays == delays; };
        if (std::none_of(result_.failures.begin(), result_.failures.end(), is_same))
            result_.failures.push_back({finding.checker, finding.what, delays});
        is_stopped_ |= result_.failures.size() >= options_.max_failures;
    }

    const SearchOptions& options_;
    const twin::KernelTable& kernels_;
    Scenario scenario_;
    sim::Choices choices_;
    std::vector<DelayAt> delays_;
    std::set<uint64_t> hashes_;
    SearchResult result_;
    uint32_t bound_ = 0;
    bool has_learned_ = false;
    bool is_stopped_ = false;
    Clock::time_point start_;
};

DelayAt parse_delay(const std::string& word) {
    DelayAt delay{};
    const char* const end = word.data() + word.size();
    const auto number = std::from_chars(word.data(), end, delay.point);
    const char letter = number.ptr == end ? '\0' : *number.ptr;
    const auto* const way =
        std::find_if(std::begin(kWays), std::end(kWays), [&](const Way& one) { return one.letter == letter; });
    const bool has_rest = letter != '\0' && number.ptr + 1 != end;
    if (number.ec != std::errc{} || way == std::end(kWays) || has_rest)
        throw std::invalid_argument("'" + word + "' is no delay: a number, perhaps with l, p or t behind it");
    delay.how = way->how;
    return delay;
}

}  // namespace

std::vector<DelayAt> parse_delays(const std::string& text) {
    std::vector<DelayAt> delays;
    for (size_t start = 0; start < text.size();) {
        const size_t comma = std::min(text.find(',', start), text.size());
        const DelayAt delay = parse_delay(text.substr(start, comma - start));
        if (!delays.empty() && delay.point <= delays.back().point)
            throw std::invalid_argument("delays are given in rising order: " + text);
        delays.push_back(delay);
        start = comma + 1;
    }
    return delays;
}

std::string delays_text(const std::vector<DelayAt>& delays) {
    std::string text;
    for (const DelayAt& delay : delays) {
        if (!text.empty()) text += ',';
        text += std::to_string(delay.point);
        for (const Way& way : kWays) {
            if (way.how == delay.how && way.letter != 0) text += way.letter;
        }
    }
    return text;
}

SeedResult replay(const SearchOptions& options, const std::vector<DelayAt>& delays, const std::string& timeline_path,
                  const twin::KernelTable& kernels) {
    sim::Choices choices;
    choices.begin(delays);
    Scenario scenario = tiny_world(options.world, options.num_tokens);
    scenario.world.choices = &choices;
    scenario.world.assumptions = options.assumptions;
    const SeedResult result = run_scenario(scenario, timeline_path, kernels);
    if (!choices.is_used_up()) throw std::invalid_argument("the run has no such points: " + delays_text(delays));
    return result;
}

SearchResult search(const SearchOptions& options, const twin::KernelTable& kernels) {
    return Search(options, kernels).run();
}

}  // namespace ascend_deepep::simulator
