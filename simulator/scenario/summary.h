// SPDX-License-Identifier: Apache-2.0
// What many seeds were worth: worlds by fault, condition and feature, those with failed calls, survivors, remote rows.
// Layer: simulator.
#pragma once

#include <map>
#include <string>

#include "simulator/scenario/runner.h"

namespace ascend_deepep::simulator {

class Summary {
  public:
    void add(const SeedResult& result) {
        ++worlds_;
        if (result.num_ranks >= 2 && result.has_remote_row) ++remote_;
        if (result.failures != 0) ++failed_;
        if (result.num_survivors != 0) ++with_survivors_;
        if (result.has_struck) ++struck_[std::string(sim::sim_fault_name(result.fault))];
        for (const std::string& condition : result.conditions)
            ++conditions_[condition];
        for (const std::string& feature : result.features)
            ++features_[feature];
        if (!result.timed.empty()) ++timed_[result.timed];
    }

    uint64_t worlds() const { return worlds_; }
    uint64_t remote() const { return remote_; }  // two or more ranks, and a row goes from one to another
    uint64_t failed() const { return failed_; }  // some call failed on some rank
    uint64_t with_survivors() const { return with_survivors_; }                // a new communicator was made and used
    const std::map<std::string, uint64_t>& struck() const { return struck_; }  // worlds, by fault
    const std::map<std::string, uint64_t>& conditions() const { return conditions_; }

    const std::map<std::string, uint64_t>& features() const { return features_; }
    const std::map<std::string, uint64_t>& timed() const { return timed_; }  // by kind of shape that is timed

    std::string text() const {
        return "worlds " + std::to_string(worlds_) + " with remote rows " + std::to_string(remote_) +
               " with failed calls " + std::to_string(failed_) + " with survivors " + std::to_string(with_survivors_) +
               "\nstruck:" + list(struck_) + "\nconditions:" + list(conditions_) + "\nfeatures:" + list(features_) +
               "\n";
    }

  private:
    static std::string list(const std::map<std::string, uint64_t>& counts) {
        std::string text;
        for (const auto& [name, count] : counts)
            text += " " + name + " " + std::to_string(count);
        return text.empty() ? " none" : text;
    }

    uint64_t worlds_ = 0, remote_ = 0, failed_ = 0, with_survivors_ = 0;
    std::map<std::string, uint64_t> struck_, conditions_, features_, timed_;
};

}  // namespace ascend_deepep::simulator
