// SPDX-License-Identifier: Apache-2.0
// Numbers of a setting: from text, and within limits, or one line that names the setting. Layer: simulator.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace ascend_deepep::simulator {

template <typename T>
T number_from(const std::string& name, const std::string& text) {
    T value{};
    const char* const end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data(), end, value);
    if (result.ec != std::errc{} || result.ptr != end) {
        throw std::invalid_argument(name + " '" + text + "' is no number from 0 to " +
                                    std::to_string(static_cast<T>(~T{0})));
    }
    return value;
}

// `why`: what the limits are of, or nothing.
inline void check_within(const std::string& name, uint64_t value, uint64_t least, uint64_t most,
                         const std::string& why = "") {
    if (least <= value && value <= most) return;
    throw std::invalid_argument(name + " " + std::to_string(value) + " is outside [" + std::to_string(least) + ", " +
                                std::to_string(most) + "]" + (why.empty() ? "" : ", " + why));
}

}  // namespace ascend_deepep::simulator
