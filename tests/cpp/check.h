// SPDX-License-Identifier: Apache-2.0
// The C++ tests' harness: TEST registers a function, CHECK* record failures, main runs all and prints a summary.
// Layer: tests. Every *_test.cpp of a directory includes it; they are linked into one executable. Arguments select
// tests by a part of their name. Exit status 0 only when something ran and nothing failed.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace ascend_deepep::check {

struct Test {
    const char* name;
    void (*body)();
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}
inline int& failures() {
    static int count = 0;
    return count;
}

struct Registration {
    Registration(const char* name, void (*body)()) { tests().push_back({name, body}); }
};

inline void fail(const char* file, int line, const std::string& what) {
    ++failures();
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

template <typename T>
std::string shown(const T& value) {
    std::ostringstream out;
    if constexpr (std::is_enum_v<T>) {
        out << static_cast<long long>(value);
    } else if constexpr (sizeof(T) == 1 && std::is_integral_v<T>) {
        out << static_cast<int>(value);
    } else {
        out << value;
    }
    return out.str();
}

template <typename A, typename B>
void check_equal(const A& got, const B& want, const char* text, const char* file, int line) {
    if (!(got == want)) {
        fail(file, line, std::string(text) + ": got " + shown(got) + ", want " + shown(want));
    }
}

// Runs body; it must throw E, and the message must hold `part`.
template <typename E, typename Body>
void check_throws(Body body, const char* part, const char* file, int line) {
    try {
        body();
    } catch (const E& error) {
        if (std::strstr(error.what(), part) == nullptr) {
            fail(file, line, std::string("message lacks \"") + part + "\": " + error.what());
        }
        return;
    } catch (const std::exception& error) {
        fail(file, line, std::string("another exception: ") + error.what());
        return;
    }
    fail(file, line, std::string("nothing was thrown; wanted \"") + part + "\"");
}

inline int run(int argc, char** argv) {
    int passed = 0;
    int failed = 0;
    for (const Test& test : tests()) {
        bool selected = argc < 2;
        for (int i = 1; i < argc; ++i) {
            selected = selected || std::strstr(test.name, argv[i]) != nullptr;
        }
        if (!selected) {
            continue;
        }
        const int before = failures();
        try {
            test.body();
        } catch (const std::exception& error) {
            fail(test.name, 0, std::string("uncaught: ") + error.what());
        }
        if (failures() == before) {
            ++passed;
        } else {
            ++failed;
            std::fprintf(stderr, "FAILED %s\n", test.name);
        }
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace ascend_deepep::check

#define TEST(name)                                                                            \
    static void test_##name();                                                                \
    static const ascend_deepep::check::Registration registration_##name(#name, &test_##name); \
    static void test_##name()

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (!(condition)) {                                                        \
            ascend_deepep::check::fail(__FILE__, __LINE__, "not so: " #condition); \
        }                                                                          \
    } while (false)

#define CHECK_EQ(got, want) ascend_deepep::check::check_equal((got), (want), #got, __FILE__, __LINE__)

#define CHECK_THROWS(exception, part, ...) \
    ascend_deepep::check::check_throws<exception>([&] { __VA_ARGS__; }, (part), __FILE__, __LINE__)

__attribute__((weak)) int main(int argc, char** argv) {
    return ascend_deepep::check::run(argc, argv);
}
