// SPDX-License-Identifier: Apache-2.0
// The simulator's only source of chance: xoshiro256**, seeded by splitmix64. Layer: twin/sim.
// No distribution of the standard library: they draw differently from one library to the next.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ascend_deepep::sim {

class Random {
  public:
    explicit Random(uint64_t seed) {
        for (uint64_t& word : state_) {
            seed += 0x9E3779B97F4A7C15ULL;
            uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
            z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
            word = z ^ (z >> 31);
        }
    }

    uint64_t next() {
        const uint64_t result = rotate(state_[1] * 5, 7) * 9;
        const uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // From now on numbers are as large as they can be: what happens one time in a few does not happen.
    void be_calm() { is_calm_ = true; }

    // A number below `limit`, which is at least 1.
    uint64_t below(uint64_t limit) {
        if (is_calm_) return limit - 1;
        return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * limit) >> 64);
    }
    uint32_t between(uint32_t first, uint32_t last) {
        return first + static_cast<uint32_t>(below(uint64_t{last} - first + 1));
    }
    bool one_in(uint32_t count) { return below(count) == 0; }

    // From 1 to about `most`, small numbers as likely as large ones.
    uint64_t log_uniform(uint32_t bits) { return 1 + below(uint64_t{1} << below(bits + 1)); }

    template <typename T, size_t count>
    T pick(const T (&values)[count]) {
        return values[below(count)];
    }

  private:
    static uint64_t rotate(uint64_t value, int bits) { return (value << bits) | (value >> (64 - bits)); }
    uint64_t state_[4];
    bool is_calm_ = false;
};

}  // namespace ascend_deepep::sim
