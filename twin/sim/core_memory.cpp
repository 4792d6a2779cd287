// SPDX-License-Identifier: Apache-2.0
// Layer: twin/sim.
#include "twin/sim/core_memory.h"

namespace ascend_deepep::sim {
namespace {

using twin::GmPath;
using twin::GmUnit;

constexpr uint32_t kScalarLineBytes = 64;
constexpr uint32_t kSimtLineBytes = 128;
constexpr uint32_t kEvictionOneIn = 32;  // of accesses, where evictions are random

PostedStore posted_store(uint8_t* at, const void* value, uint32_t bytes, uint32_t thread) {
    PostedStore store{};
    store.at = at;
    store.bytes = bytes;
    store.thread = thread;
    store.stored_mask = ~uint64_t{0};
    std::memcpy(store.data, value, bytes);
    return store;
}

uint64_t bytes_mask(uint64_t first, uint32_t bytes) {
    return (bytes == 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1) << first;
}

}  // namespace

CoreMemory::CoreMemory(Shared& shared, GmSide& gm)
    : shared_(shared), gm_(gm), scalar_lines_(kScalarLineBytes), simt_lines_(kSimtLineBytes) {}

void CoreMemory::post(StoreBuffer& buffer, const PostedStore& store) {
    const bool may_wait =
        &buffer == &posted_ ? shared_.assumptions.posted_stores : shared_.assumptions.posted_simt_stores;
    const uint32_t slots = may_wait ? shared_.schedule.store_slots : 0;
    if (slots == 0) {
        gm_.land(store);
        return;
    }
    if (buffer.size() >= slots) land(buffer, shared_.random.below(buffer.size()));
    buffer.add(store);
}

void CoreMemory::land_meeting(StoreBuffer& buffer, const uint8_t* at, uint32_t bytes) {
    for (size_t index = buffer.oldest(at, bytes); index < buffer.size(); index = buffer.oldest(at, bytes))
        land(buffer, index);
}

void CoreMemory::store(GmPath path, const GmWord& word, const void* value, uint32_t thread) {
    switch (path) {
        case GmPath::kScalarCached:
            if (shared_.assumptions.scalar_cache && scalar_lines_.takes(word)) {
                store_cached(word, value);
                return;
            }
            gm_.land(posted_store(word.at(), value, word.bytes, 0));
            return;
        case GmPath::kScalarPast:
            post(posted_, posted_store(word.at(), value, word.bytes, 0));
            return;
        case GmPath::kSimtCached:
        case GmPath::kSimtPast: {
            // Written through, and a line that is here takes it too: a thread sees its own stores.
            const size_t line = simt_lines_.find(word);
            if (line < simt_lines_.size() && simt_lines_.takes(word))
                std::memcpy(LineCache::word_in(simt_lines_[line], word), value, word.bytes);
            post(simt_posted_, posted_store(word.at(), value, word.bytes, thread));
            return;
        }
    }
}

void CoreMemory::store_cached(const GmWord& word, const void* value) {
    evict(scalar_lines_);
    size_t index = scalar_lines_.find(word);
    if (index == scalar_lines_.size()) {
        LineCache::Line& filled = scalar_lines_.fill(word);
        posted_.lay_over(filled.at, filled.bytes, filled.data);
    }
    LineCache::Line& line = scalar_lines_[index];
    std::memcpy(LineCache::word_in(line, word), value, word.bytes);
    line.at = word.stretch + line.offset;
    line.stored_mask |= bytes_mask(word.offset - line.offset, word.bytes);
}

bool CoreMemory::load(GmPath path, const GmWord& word, void* value) {
    switch (path) {
        case GmPath::kScalarCached:
            return shared_.assumptions.scalar_cache && scalar_lines_.takes(word) && load_scalar_cached(word, value);
        case GmPath::kScalarPast:
            if (posted_.empty()) return false;
            if (posted_.read(word.at(), word.bytes, value)) return true;
            land_meeting(posted_, word.at(), word.bytes);
            return false;
        case GmPath::kSimtCached:
        case GmPath::kSimtPast:
            if (!simt_posted_.empty()) {
                if (simt_posted_.read(word.at(), word.bytes, value)) return true;
                land_meeting(simt_posted_, word.at(), word.bytes);
            }
            return path == GmPath::kSimtCached && shared_.assumptions.simt_cache && simt_lines_.takes(word) &&
                   load_simt_cached(word, value);
    }
    return false;
}

bool CoreMemory::load_scalar_cached(const GmWord& word, void* value) {
    evict(scalar_lines_);
    size_t index = scalar_lines_.find(word);
    const bool is_hit = index < scalar_lines_.size();
    if (!is_hit) {
        LineCache::Line& filled = scalar_lines_.fill(word);
        posted_.lay_over(filled.at, filled.bytes, filled.data);
        if (posted_.oldest(word.at(), word.bytes) == posted_.size()) return false;
    }
    std::memcpy(value, LineCache::word_in(scalar_lines_[index], word), word.bytes);
    return true;
}

bool CoreMemory::load_simt_cached(const GmWord& word, void* value) {
    evict(simt_lines_);
    const size_t index = simt_lines_.find(word);
    if (index == simt_lines_.size()) {
        LineCache::Line& filled = simt_lines_.fill(word);
        simt_posted_.lay_over(filled.at, filled.bytes, filled.data);
        return false;
    }
    std::memcpy(value, LineCache::word_in(simt_lines_[index], word), word.bytes);
    return true;
}

void CoreMemory::store_register(void* address, uint64_t value, uint32_t bytes) {
    PostedStore store = posted_store(static_cast<uint8_t*>(address), &value, bytes, 0);
    store.is_register = true;
    post(posted_, store);
}

void CoreMemory::before_atomic(const uint8_t* at, uint32_t bytes) {
    land_meeting(posted_, at, bytes);
    land_meeting(simt_posted_, at, bytes);
}

void CoreMemory::barrier() {
    for (size_t index = 0; index < posted_.size();) {
        if (posted_[index].is_register && !shared_.assumptions.barrier_covers_registers) {
            ++index;
        } else {
            land(posted_, index);
        }
    }
}

void CoreMemory::thread_fence(uint32_t thread) {
    for (size_t index = 0; index < simt_posted_.size();) {
        if (simt_posted_[index].thread != thread) {
            ++index;
            continue;
        }
        land(simt_posted_, index);
        index = 0;  // an older store of another thread may have landed in its place
    }
}

void CoreMemory::evict(LineCache& cache) {
    const Evictions kind = shared_.schedule.evictions;
    if (kind == Evictions::kOff || cache.size() == 0) return;
    if (kind == Evictions::kRandom && !shared_.random.one_in(kEvictionOneIn)) return;
    write_back(cache.take(shared_.random.below(cache.size())), false);
}

void CoreMemory::write_back(const LineCache::Line& line, bool is_posted) {
    if (line.stored_mask == 0) return;
    PostedStore store = posted_store(line.at, line.data, line.bytes, 0);
    store.stored_mask = line.stored_mask;
    if (is_posted) {
        post(posted_, store);
    } else {
        gm_.land(store);
    }
}

void CoreMemory::clean(GmUnit unit, const GmWord* word) {
    LineCache& cache = unit == GmUnit::kScalar ? scalar_lines_ : simt_lines_;
    if (word != nullptr) {
        const size_t index = cache.find(*word);
        if (index < cache.size()) write_back(cache.take(index), true);
        return;
    }
    while (cache.size() != 0)
        write_back(cache.take(0), true);
}

void CoreMemory::land_one() {
    const uint64_t drawn = shared_.random.below(posted_.size() + simt_posted_.size());
    if (drawn < posted_.size()) {
        land(posted_, drawn);
    } else {
        land(simt_posted_, drawn - posted_.size());
    }
}

void CoreMemory::end_launch() {
    while (!simt_posted_.empty())
        land(simt_posted_, 0);
    for (size_t index = 0; index < scalar_lines_.size(); ++index) {
        write_back(scalar_lines_[index], true);
        scalar_lines_[index].stored_mask = 0;
    }
    while (!posted_.empty())
        land(posted_, 0);
}

void CoreMemory::forget() {
    posted_.clear();
    simt_posted_.clear();
    scalar_lines_.clear();
    simt_lines_.clear();
}

}  // namespace ascend_deepep::sim
