// SPDX-License-Identifier: Apache-2.0
// Copies for one instruction set: ASCEND_DEEPEP_ISA (cmake/LeafVariants.cmake). Layer: twin/runtime.
//
// A write past the caches spares the read of the line that it overwrites and leaves the caches to what is read next: of
// rows that come from UB, twice as fast. Such stores are not ordered, so a tag may only follow a fence behind the data
// of its block. The last cache line of a block holds the end of its data and the tag: it is stored after the fence,
// where the CPU has it by MOVDIR64B, whose 64 B become visible at once; else through the caches, data first, with the
// line fetched ahead.
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "contract/block.h"
#include "twin/runtime/copy_leaf.h"
#include "twin/runtime/flag_access.h"

namespace ascend_deepep::twin::ASCEND_DEEPEP_ISA {
namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kFetchAhead = 2048;  // rows come from memory, and the CPU's own prefetching stops at pages
constexpr size_t kTagBytes = sizeof(uint64_t);
constexpr size_t kLastLine = kBlockBytes - kLineBytes;
static_assert(kLastLine < kBlockDataBytes && kBlockDataBytes + 32 == kBlockBytes);

#if defined(__AVX512F__)
using Vector = __m512i;
inline __attribute__((always_inline)) Vector load(const uint8_t* from) {
    return _mm512_loadu_si512(from);
}
inline __attribute__((always_inline)) void store(uint8_t* to, Vector value) {
    _mm512_storeu_si512(to, value);
}
inline __attribute__((always_inline)) void store_past(uint8_t* to, Vector value) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), value);
}
#elif defined(__AVX2__)
using Vector = __m256i;
inline __attribute__((always_inline)) Vector load(const uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline __attribute__((always_inline)) void store(uint8_t* to, Vector value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}
inline __attribute__((always_inline)) void store_past(uint8_t* to, Vector value) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), value);
}
#elif defined(__SSE2__)
using Vector = __m128i;
inline __attribute__((always_inline)) Vector load(const uint8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
inline __attribute__((always_inline)) void store(uint8_t* to, Vector value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}
inline __attribute__((always_inline)) void store_past(uint8_t* to, Vector value) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), value);
}
#endif

#if defined(__SSE2__)

inline __attribute__((always_inline)) void fence() {
    _mm_sfence();
}

// Vectors of 32 and 16 B, then single bytes.
inline __attribute__((always_inline)) void copy_by_halves(uint8_t* dst, const uint8_t* src, size_t bytes) {
    size_t at = 0;
#if defined(__AVX2__)
    for (; at + sizeof(__m256i) <= bytes; at += sizeof(__m256i)) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + at),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at)));
    }
#endif
    for (; at + sizeof(__m128i) <= bytes; at += sizeof(__m128i)) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + at)));
    }
    if (at < bytes) std::memcpy(dst + at, src + at, bytes - at);
}

// The widest vectors, then the rest.
inline __attribute__((always_inline)) void copy(uint8_t* dst, const uint8_t* src, size_t bytes) {
    size_t at = 0;
    for (; at + sizeof(Vector) <= bytes; at += sizeof(Vector))
        store(dst + at, load(src + at));
    copy_by_halves(dst + at, src + at, bytes - at);
}
#else
inline __attribute__((always_inline)) void copy(uint8_t* dst, const uint8_t* src, size_t bytes) {
    std::memcpy(dst, src, bytes);
}
inline __attribute__((always_inline)) void copy_by_halves(uint8_t* dst, const uint8_t* src, size_t bytes) {
    std::memcpy(dst, src, bytes);
}
#endif

// The flag area of a block whose data is stored: the tag last.
inline __attribute__((always_inline)) void write_flags(uint8_t* dst, const uint8_t* src) {
    uint64_t words[(kBlockBytes - kBlockDataBytes) / kTagBytes];
    std::memcpy(words, src, sizeof(words));
    std::memcpy(dst + kTagBytes, words + 1, sizeof(words) - kTagBytes);
    store_tag(dst, words[0]);
}

#if defined(__SSE2__)
// All lines of the blocks but the last of each.
inline __attribute__((always_inline)) void stream_first_lines(uint8_t* dst, const uint8_t* src, size_t count,
                                                              bool fetches) {
    for (size_t block = 0; block < count; ++block, dst += kBlockBytes, src += kBlockBytes) {
        if (fetches) __builtin_prefetch(dst + kLastLine, 1);
        for (size_t at = 0; at < kLastLine; at += sizeof(Vector))
            store_past(dst + at, load(src + at));
    }
    fence();
}
#endif

}  // namespace

void write_blocks(uint8_t* dst, const uint8_t* src, size_t count) {
    for (size_t block = 0; block < count; ++block, dst += kBlockBytes, src += kBlockBytes) {
        copy(dst, src, kBlockDataBytes);
        write_flags(dst + kBlockDataBytes, src + kBlockDataBytes);
    }
}

void stream_blocks(uint8_t* dst, const uint8_t* src, size_t count) {
#if defined(__SSE2__)
    stream_first_lines(dst, src, count, true);
    for (size_t block = 0; block < count; ++block, dst += kBlockBytes, src += kBlockBytes) {
        copy(dst + kLastLine, src + kLastLine, kBlockDataBytes - kLastLine);
        write_flags(dst + kBlockDataBytes, src + kBlockDataBytes);
    }
#else
    write_blocks(dst, src, count);
#endif
}

#if defined(__AVX512F__)
// Needs MOVDIR64B besides the instruction set of the unit.
__attribute__((target("movdir64b"))) void stream_blocks_by_lines(uint8_t* dst, const uint8_t* src, size_t count) {
    stream_first_lines(dst, src, count, false);
    for (size_t block = 0; block < count; ++block)
        _movdir64b(dst + block * kBlockBytes + kLastLine, src + block * kBlockBytes + kLastLine);
    fence();
}
#else
void stream_blocks_by_lines(uint8_t* dst, const uint8_t* src, size_t count) {
    stream_blocks(dst, src, count);
}
#endif

void stream(uint8_t* dst, const uint8_t* src, size_t bytes) {
#if defined(__SSE2__)
    const size_t head = (kLineBytes - reinterpret_cast<uintptr_t>(dst) % kLineBytes) % kLineBytes;
    if (bytes < head + kLineBytes) {
        copy(dst, src, bytes);
        return;
    }
    copy(dst, src, head);
    size_t at = head;
    for (; at + kLineBytes <= bytes; at += kLineBytes) {
        for (size_t part = 0; part < kLineBytes; part += sizeof(Vector))
            store_past(dst + at + part, load(src + at + part));
    }
    copy(dst + at, src + at, bytes - at);
    fence();
#else
    std::memcpy(dst, src, bytes);
#endif
}

// By vectors of 32 B at most: pieces of 480 B behind each other are not at cache lines, and wider stores would be
// split.
void read_pieces(const Pieces& pieces) {
    uint8_t* dst = pieces.dst;
    const uint8_t* src = pieces.src;
    for (uint32_t i = 0; i < pieces.count; ++i, dst += pieces.dst_step, src += pieces.src_step) {
        for (size_t at = 0; at < pieces.bytes; at += kLineBytes)
            __builtin_prefetch(src + at + kFetchAhead);
        copy_by_halves(dst, src, pieces.bytes);
    }
}

}  // namespace ascend_deepep::twin::ASCEND_DEEPEP_ISA
