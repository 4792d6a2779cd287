// SPDX-License-Identifier: Apache-2.0
// What the twin's machine asks of its surroundings: windows, device registers, known GM ranges, idle time.
// Layer: twin/runtime; implemented by twin/fabric and by tests. The defaults are a machine without a fabric.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "twin/runtime/pieces.h"
#include "twin/runtime/window_map.h"

namespace ascend_deepep::twin {

// How code reaches a word of GM, and whose caches and posted stores stand in the way.
enum class GmUnit : uint8_t { kScalar, kSimt };
enum class GmPath : uint8_t {
    kScalarCached,  // GlobalTensor::GetValue and SetValue
    kScalarPast,    // ReadGmByPassDCache and WriteGmByPassDCache
    kSimtCached,    // asc_ldca and asc_stwt
    kSimtPast,      // asc_ldcg and asc_stcg
};

class Capture;

class __attribute__((visibility("default"))) GmHooks {
  public:
    virtual ~GmHooks() = default;

    // The mapped windows, the own one and the peers'. Asked once a launch.
    virtual WindowMap window_map() const { return {}; }

    // True: this launch writes more than caches hold, so rows go past them. Asked once a launch.
    virtual bool writes_past_caches() const { return false; }

    // Who watches this launch, null: nobody. Asked once a launch.
    virtual Capture* capture() { return nullptr; }

    // MTE3 store into a window and MTE2 load from one; alignment and sizes are already checked.
    virtual void window_write(void* dst, const void* src, size_t bytes) { std::memcpy(dst, src, bytes); }
    virtual void window_read(void* dst, const void* src, size_t bytes) { std::memcpy(dst, src, bytes); }
    // The same for all pieces of one load, which lie in a window from the first to the last.
    virtual void window_read_pieces(const Pieces& pieces) {
        for (uint32_t i = 0; i < pieces.count; ++i) {
            window_read(pieces.dst + pieces.dst_step * i, pieces.src + pieces.src_step * i, pieces.bytes);
        }
    }

    // A store that skips the scalar cache. True when a device register took it, so that memory is left alone.
    virtual bool device_store(void* /*addr*/, uint64_t /*value*/, unsigned /*bytes*/) { return false; }

    // Throws KernelFault when [p, p + bytes), which lies in no window, is not inside a known GM range. Called for the
    // GM side of every copy; for single words under Sim only.
    virtual void check_access(const void* /*p*/, size_t /*bytes*/, bool /*write*/) {}

    // Not called by the Fast policy either: right before a load, store or atomic of scalar or SIMT code takes effect,
    // and right before a copy of a pipe moves its bytes from or to GM that is no window. A load or store that load() or
    // store() took is not told again.
    virtual void access(const void* p, size_t bytes, bool write) { check_access(p, bytes, write); }
    virtual void copied(const void* /*p*/, size_t /*bytes*/, bool /*write*/) {}

    // A machine that models caches and posted stores gives the Sim policy's words itself. False: it does not.
    virtual bool load(GmPath /*path*/, const void* /*p*/, void* /*value*/, size_t /*bytes*/) { return false; }
    virtual bool store(GmPath /*path*/, void* /*p*/, const void* /*value*/, size_t /*bytes*/) { return false; }
    // Under Sim: stores of the unit before it are visible to all before those behind it (of SIMT: the running
    // thread's).
    virtual void fence(GmUnit /*unit*/) {}
    // Under Sim: the line of `p` leaves the unit's cache, written back where it is dirty; all lines where `p` is null.
    virtual void clean(GmUnit /*unit*/, const void* /*p*/) {}

    // The Sim policy's scalar unit is about to wait for pipes; what they have been given has not taken effect yet.
    virtual void pipe_wait() {}

    // What the Sim policy's GetSystemCycle returns: nanoseconds that never go back.
    virtual int64_t cycle() {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    }

    // Every live core only polled since the last call.
    virtual void idle() {}

    // Once per scheduler round.
    virtual void step() {}
};

}  // namespace ascend_deepep::twin
