// SPDX-License-Identifier: Apache-2.0
// What the checkers found in a run. Layer: twin/sim. The first finding ends the run: what follows it says little.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ascend_deepep::sim {

struct Finding {
    std::string checker;
    std::string what;
};

class Findings {
  public:
    // `what` is empty where a checker has nothing to say.
    void report(const char* checker, std::string what) {
        if (!what.empty()) all_.push_back({checker, std::move(what)});
    }
    bool empty() const { return all_.empty(); }
    const std::vector<Finding>& all() const { return all_; }

  private:
    std::vector<Finding> all_;
};

}  // namespace ascend_deepep::sim
