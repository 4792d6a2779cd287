// SPDX-License-Identifier: Apache-2.0
// Lines of GM that one core holds copies of: its scalar cache or its SIMT cache. Layer: twin/sim. A line stays what it
// was when it came; what others write shows when it has been dropped. Sets, ways and sizes are not modelled: lines go
// when they are asked to, or when they are drawn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ascend_deepep::sim {

// A word of GM in its stretch of known memory (window, workspace, tensor). Lines are counted from the start of the
// stretch and end with it: where a host's allocator has put a tensor decides nothing. Nor do addresses say which line
// it is, but numbers: to the caches, a tensor of a call lies where the call before of this kind and size had it.
struct GmWord {
    uint64_t number;  // of the stretch
    uint8_t* stretch;
    uint64_t stretch_bytes;
    uint64_t offset;
    uint32_t bytes;

    uint8_t* at() const { return stretch + offset; }
};

class LineCache {
  public:
    static constexpr uint32_t kMaxLineBytes = 128;

    struct Line {
        uint64_t stretch;  // its number
        uint64_t offset;
        uint8_t* at;  // valid in the launch in which it came or was written
        uint32_t bytes;
        uint64_t stored_mask;  // by byte, of lines of up to 64 B: dirty
        uint8_t data[kMaxLineBytes];
    };

    explicit LineCache(uint32_t line_bytes) : line_bytes_(line_bytes) {}

    // A word across two lines: no cache takes it.
    bool takes(const GmWord& word) const { return word.offset % line_bytes_ + word.bytes <= line_bytes_; }

    // Index of the word's line; size() when it is not here.
    size_t find(const GmWord& word) const {
        const uint64_t offset = line_offset(word);
        size_t index = 0;
        while (index < lines_.size() && (lines_[index].offset != offset || lines_[index].stretch != word.number))
            ++index;
        return index;
    }

    // Makes the word's line, which is not here, a copy of GM.
    Line& fill(const GmWord& word) {
        const uint64_t offset = line_offset(word);
        lines_.emplace_back();
        Line& line = lines_.back();
        line.stretch = word.number;
        line.offset = offset;
        line.at = word.stretch + offset;
        line.bytes = static_cast<uint32_t>(std::min<uint64_t>(line_bytes_, word.stretch_bytes - offset));
        line.stored_mask = 0;
        std::memcpy(line.data, line.at, line.bytes);
        return line;
    }

    size_t size() const { return lines_.size(); }
    Line& operator[](size_t index) { return lines_[index]; }
    Line take(size_t index) {
        const Line line = lines_[index];
        lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(index));
        return line;
    }
    void clear() { lines_.clear(); }

    static uint8_t* word_in(Line& line, const GmWord& word) { return line.data + (word.offset - line.offset); }

  private:
    uint64_t line_offset(const GmWord& word) const { return word.offset / line_bytes_ * line_bytes_; }

    uint32_t line_bytes_;
    std::vector<Line> lines_;
};

}  // namespace ascend_deepep::sim
