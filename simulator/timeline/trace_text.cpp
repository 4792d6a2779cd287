// SPDX-License-Identifier: Apache-2.0
// Layer: simulator.
#include "simulator/timeline/trace_text.h"

#include <stdexcept>

namespace ascend_deepep::simulator {
namespace {

std::string quoted(const std::string& text) {
    for (char c : text) {
        if (c < ' ' || c == '"' || c == '\\') throw std::logic_error("a name with an escape: " + text);
    }
    return '"' + text + '"';
}

// Number 0 is the idle process for viewers.
std::string process(uint32_t rank) {
    return std::to_string(rank + 1);
}

}  // namespace

std::string TraceText::time(uint64_t ns) {
    const std::string rest = std::to_string(1000 + ns % 1000);
    return std::to_string(ns / 1000) + '.' + rest.substr(1);
}

void TraceText::open(const char* phase, const TraceThread& thread, uint64_t at) {
    text_ += text_.empty() ? "" : ",\n";
    text_ += std::string("{\"ph\":\"") + phase + "\",\"pid\":" + process(thread.rank) +
             ",\"tid\":" + std::to_string(thread.thread) + ",\"ts\":" + time(at);
}

void TraceText::add(const char* key, const std::string& text) {
    text_ += std::string(",\"") + key + "\":" + quoted(text);
}

void TraceText::name_process(uint32_t rank, const std::string& name) {
    open("M", {rank, 0}, 0);
    add("name", "process_name");
    text_ += ",\"args\":{\"name\":" + quoted(name) + '}';
    close();
}

void TraceText::name_thread(const TraceThread& thread, const std::string& name) {
    if (!named_.insert({thread.rank, thread.thread}).second) return;
    open("M", thread, 0);
    add("name", "thread_name");
    text_ += ",\"args\":{\"name\":" + quoted(name) + '}';
    close();
    open("M", thread, 0);
    add("name", "thread_sort_index");
    text_ += ",\"args\":{\"sort_index\":" + std::to_string(thread.thread) + '}';
    close();
}

void TraceText::span(const TraceThread& thread, const char* category, const std::string& name, uint64_t from,
                     uint64_t to, const Arguments& arguments) {
    open("X", thread, from);
    text_ += ",\"dur\":" + time(to - from);
    add("cat", category);
    add("name", name);
    text_ += ",\"args\":{";
    for (size_t i = 0; i < arguments.size(); ++i)
        text_ += (i == 0 ? "\"" : ",\"") + std::string(arguments[i].first) + "\":" + quoted(arguments[i].second);
    text_ += '}';
    close();
}

void TraceText::instant(const TraceThread& thread, const std::string& name, uint64_t at) {
    open("i", thread, at);
    add("s", "p");
    add("cat", "fault");
    add("name", name);
    close();
}

void TraceText::flow(const std::string& name, const TracePoint& from, const TracePoint& to) {
    const std::string number = std::to_string(next_flow_++);
    open("s", from.thread, from.at);
    text_ += ",\"id\":" + number;
    add("cat", "flow");
    add("name", name);
    close();
    open("f", to.thread, to.at);
    text_ += ",\"id\":" + number;
    add("bp", "e");
    add("cat", "flow");
    add("name", name);
    close();
}

std::string TraceText::end() {
    return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + text_ + "\n]}\n";
}

}  // namespace ascend_deepep::simulator
