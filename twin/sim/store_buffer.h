// SPDX-License-Identifier: Apache-2.0
// Stores of one core that have not become visible: of its scalar unit past the cache, or of its SIMT threads.
// Layer: twin/sim. They may become visible in any order, but those to the same bytes keep theirs. Which one is next is
// the caller's choice, and where it lands the caller's business.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ascend_deepep::sim {

constexpr uint32_t kMaxStoreBytes = 64;  // a line of the scalar cache; a word has at most 32

struct PostedStore {
    uint8_t* at;
    uint32_t bytes;
    uint32_t thread;  // of a SIMT store
    bool is_register;
    uint64_t stored_mask;  // by byte: the core has stored it, and not only read it with its line
    uint8_t data[kMaxStoreBytes];

    bool meets(const uint8_t* other, uint32_t other_bytes) const {
        return at < other + other_bytes && other < at + bytes;
    }
    bool covers(const uint8_t* other, uint32_t other_bytes) const {
        return at <= other && other + other_bytes <= at + bytes;
    }
};

class StoreBuffer {
  public:
    bool empty() const { return stores_.empty(); }
    size_t size() const { return stores_.size(); }
    const PostedStore& operator[](size_t index) const { return stores_[index]; }
    void clear() { stores_.clear(); }
    void add(const PostedStore& store) { stores_.push_back(store); }

    // What the range holds as its own core sees it, when one store says all of it.
    bool read(const uint8_t* at, uint32_t bytes, void* value) const {
        for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) {
            if (!store->meets(at, bytes)) continue;
            if (!store->covers(at, bytes)) return false;
            std::memcpy(value, store->data + (at - store->at), bytes);
            return true;
        }
        return false;
    }

    // Index of the oldest store that meets the range; size() when there is none.
    size_t oldest(const uint8_t* at, uint32_t bytes) const {
        size_t index = 0;
        while (index < stores_.size() && !stores_[index].meets(at, bytes))
            ++index;
        return index;
    }

    // Lays what its stores hold over the `bytes` at `data`, which are those at `at`.
    void lay_over(const uint8_t* at, uint32_t bytes, uint8_t* data) const {
        for (const PostedStore& store : stores_) {
            if (!store.meets(at, bytes)) continue;
            const uint8_t* first = std::max<const uint8_t*>(at, store.at);
            const uint8_t* last = std::min<const uint8_t*>(at + bytes, store.at + store.bytes);
            std::memcpy(data + (first - at), store.data + (first - store.at), static_cast<size_t>(last - first));
        }
    }

    // Takes out the store, or an older one to some of its bytes, which comes first.
    PostedStore take(size_t index) {
        for (size_t older = 0; older < index; ++older) {
            if (stores_[older].meets(stores_[index].at, stores_[index].bytes)) return take(older);
        }
        const PostedStore store = stores_[index];
        stores_.erase(stores_.begin() + static_cast<std::ptrdiff_t>(index));
        return store;
    }

  private:
    std::vector<PostedStore> stores_;  // the oldest first
};

}  // namespace ascend_deepep::sim
