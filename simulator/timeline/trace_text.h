// SPDX-License-Identifier: Apache-2.0
// Events of the Chrome trace format as JSON text; times are given in nanoseconds and written in microseconds. Layer:
// simulator. Texts are names of this project: they need no escapes, which is checked.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ascend_deepep::simulator {

struct TraceThread {
    uint32_t rank;
    uint32_t thread;
};

struct TracePoint {
    TraceThread thread;
    uint64_t at;
};

class TraceText {
  public:
    using Arguments = std::vector<std::pair<const char*, std::string>>;

    static std::string time(uint64_t ns);

    void name_process(uint32_t rank, const std::string& name);
    void name_thread(const TraceThread& thread, const std::string& name);  // more than once is once
    void span(const TraceThread& thread, const char* category, const std::string& name, uint64_t from, uint64_t to,
              const Arguments& arguments);
    void instant(const TraceThread& thread, const std::string& name, uint64_t at);
    void flow(const std::string& name, const TracePoint& from, const TracePoint& to);
    std::string end();  // the whole file

  private:
    void open(const char* phase, const TraceThread& thread, uint64_t at);
    void add(const char* key, const std::string& text);
    void close() { text_ += '}'; }

    std::string text_;
    std::set<std::pair<uint32_t, uint32_t>> named_;
    uint64_t next_flow_ = 1;
};

}  // namespace ascend_deepep::simulator
