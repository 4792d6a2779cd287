// SPDX-License-Identifier: Apache-2.0
// What lies between one core and GM: posted stores of its scalar unit and of its SIMT threads, and its two caches.
// Layer: twin/sim; docs/twin.md, "Memory". Each part has its switch, and without it the way to GM is straight.
#pragma once

#include "twin/runtime/gm_hooks.h"
#include "twin/sim/line_cache.h"
#include "twin/sim/shared.h"
#include "twin/sim/store_buffer.h"

namespace ascend_deepep::sim {

// Where stores arrive: GM or a register.
class GmSide {
  public:
    virtual void land(const PostedStore& store) = 0;

  protected:
    ~GmSide() = default;
};

class CoreMemory {
  public:
    CoreMemory(Shared& shared, GmSide& gm);

    // `thread`: of a SIMT store.
    void store(twin::GmPath path, const GmWord& word, const void* value, uint32_t thread);
    // False: the core sees what GM holds.
    bool load(twin::GmPath path, const GmWord& word, void* value);
    void store_register(void* address, uint64_t value, uint32_t bytes);
    // An atomic works in GM: the core's own stores to the word come before it.
    void before_atomic(const uint8_t* at, uint32_t bytes);

    // DataSyncBarrier of the scalar unit; asc_threadfence of one SIMT thread.
    void barrier();
    void thread_fence(uint32_t thread);
    // The word's line leaves the cache, or all lines (null).
    void clean(twin::GmUnit unit, const GmWord* word);

    // Of a word that the core alone stores, past the cache: what it has stored last. `in_gm`: what GM holds.
    uint64_t own_word(const uint64_t& in_gm) const {
        uint64_t value = in_gm;
        posted_.read(reinterpret_cast<const uint8_t*>(&in_gm), sizeof(in_gm), &value);
        return value;
    }
    bool has_posted() const { return !posted_.empty() || !simt_posted_.empty(); }
    void land_one();    // a drawn one of the posted stores
    void end_launch();  // all stores land and lines are written back; they stay, and may be stale in the next launch
    void forget();      // the launch has not ended well

  private:
    void post(StoreBuffer& buffer, const PostedStore& store);
    void land(StoreBuffer& buffer, size_t index) { gm_.land(buffer.take(index)); }
    void land_meeting(StoreBuffer& buffer, const uint8_t* at, uint32_t bytes);
    void store_cached(const GmWord& word, const void* value);
    bool load_scalar_cached(const GmWord& word, void* value);
    bool load_simt_cached(const GmWord& word, void* value);
    void evict(LineCache& cache);
    void write_back(const LineCache::Line& line, bool is_posted);

    Shared& shared_;
    GmSide& gm_;
    StoreBuffer posted_;
    StoreBuffer simt_posted_;
    LineCache scalar_lines_;
    LineCache simt_lines_;
};

}  // namespace ascend_deepep::sim
