// SPDX-License-Identifier: Apache-2.0
// One rank of a world as its kernels see it (GmHooks): window, rings, workspace, registers, clock. Layer: twin/sim.
// Every scalar access and every wait for a pipe is a place where another actor may go on. Words go by the caches and
// posted stores of their core; local copies take effect in their order and whole; what goes to peers goes by the wire.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "twin/fabric/fabric.h"
#include "twin/runtime/gm_hooks.h"
#include "twin/sim/core_memory.h"
#include "twin/sim/lines.h"
#include "twin/sim/urma_driver.h"

namespace ascend_deepep::sim {

struct RankConfig {
    CommunicatorLimits limits;
    uint32_t rank;
    uint32_t num_cores;
    uint32_t queue_depth;
    uint32_t cq_depth;
    uint32_t queues_per_peer;
    uint32_t first_index;  // of all queues: what has been posted and completed on them before
    uint64_t tag_base;
    std::vector<uint64_t> nonces;  // of all ranks
    uint32_t process;              // whose rank it is: number of its host and cores in the world
    uint32_t seat;                 // number among all ranks of all communicators of the world
};

class SimRank final : public twin::GmHooks, private GmSide {
  public:
    SimRank(const RankConfig& config, Shared& shared, Actors& actors, WindowArena& arena, Wire& wire);

    // For the host of this rank, on its fiber: runs a kernel on all cores. `ranges`: the tensors of the call.
    void launch(const char* name, void (*kernel)(uint8_t*), void* tiling, std::vector<twin::GmRange> ranges);

    uint32_t rank() const { return config_.rank; }
    const RankConfig& config() const { return config_; }
    ControlPage& page() { return arena_.page(config_.rank); }
    uint64_t window_table() const { return reinterpret_cast<uint64_t>(window_table_); }
    uint64_t workspace() const { return reinterpret_cast<uint64_t>(workspace_); }
    const twin::UrmaEngine& engine() const { return urma_.engine(); }
    UrmaDriver& urma() { return urma_; }
    void complete(uint32_t record);
    void store_lands(uint32_t core);
    bool is_launched() const { return is_launched_; }
    // The host of the twin looks whether peers live: `gone` is a rank whose process has ended.
    void look(uint32_t gone);

    // GmHooks.
    twin::WindowMap window_map() const override { return arena_.map_of(config_.rank); }
    void window_write(void* dst, const void* src, size_t bytes) override;
    void window_read(void* dst, const void* src, size_t bytes) override;
    void window_read_pieces(const twin::Pieces& pieces) override;
    bool device_store(void* address, uint64_t value, unsigned bytes) override;
    void check_access(const void* p, size_t bytes, bool write) override;
    void access(const void* p, size_t bytes, bool write) override;
    bool load(twin::GmPath path, const void* p, void* value, size_t bytes) override;
    bool store(twin::GmPath path, void* p, const void* value, size_t bytes) override;
    void fence(twin::GmUnit unit) override;
    void clean(twin::GmUnit unit, const void* p) override;
    void copied(const void* p, size_t bytes, bool write) override;
    void pipe_wait() override { actors_.pipe_choice(); }
    int64_t cycle() override;

  private:
    // A known place of memory: a window, the workspace with the rings, or a tensor of the call, which has no shadow.
    struct Place {
        Shadow* shadow;
        const char* memory;
        GmWord word;
        uint64_t line;  // its offset, so that window, workspace and communicators do not share lines
        bool is_tensor;
    };
    bool find(const void* p, size_t bytes, Place* place);
    Place enter(const void* p, size_t bytes, bool write, bool is_atomic = false);
    void read_piece(void* dst, const void* src, size_t bytes);
    void show_read(const void* src, uint64_t bytes, uint64_t piece_bytes);
    void land(const PostedStore& store) override;
    CoreMemory& running_core();
    uint64_t kernel_number(const std::string& name);
    int32_t storing_core(uint32_t core) const;
    void has_posted(uint32_t core);
    [[noreturn]] void refuse(const void* p, size_t bytes, bool write) const;
    void took(const Place& place, size_t bytes);
    void meanwhile();
    // What an access, a copy or a barrier counts and costs, where anybody asks.
    bool is_weighed() const { return shared_.meter != nullptr || shared_.costs != nullptr; }
    uint64_t cost(uint64_t Costs::* of) const { return shared_.costs == nullptr ? 0 : shared_.costs->*of; }
    void weigh(Meter::Count count, uint64_t ns, uint64_t number = 1);
    void weigh_word(const Place& place, bool write, bool is_atomic);
    void weigh_copy(const void* window, size_t bytes, bool write);
    void show();
    void choice(const Place& place, size_t bytes, bool write);
    bool is_torn();
    void touches(const Place& place, size_t bytes, bool write) {
        if (shared_.choices == nullptr) return;
        shared_.choices->touches(actors_.current_id(), config_.rank, place.line, bytes, write);
    }

    RankConfig config_;
    Shared& shared_;
    Actors& actors_;
    WindowArena& arena_;
    Wire& wire_;
    uint64_t line_base_;
    twin::Memory memory_;
    Shadow memory_shadow_;
    UrmaDriver urma_;
    uint64_t* window_table_;
    uint8_t* workspace_;
    std::vector<twin::GmRange> ranges_;
    std::vector<std::string> kernels_;  // names, in the order of their first launch
    uint64_t kernel_ = 0;               // the launch's
    std::vector<CoreMemory> cores_;
    std::vector<uint8_t> is_landing_;  // by core: its next posted store is due
    bool is_launched_ = false;
};

}  // namespace ascend_deepep::sim
