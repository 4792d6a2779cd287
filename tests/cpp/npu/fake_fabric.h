// SPDX-License-Identifier: Apache-2.0
// The heaps of all ranks in memory that their processes share at the same addresses, as aclshmem maps them, and the
// twin's machine over them: block copies, the URMA engine. Layer: tests.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "contract/arch35/queue_tables.h"
#include "framework/npu/queue_table.h"
#include "twin/fabric/urma_engine.h"
#include "twin/runtime/gm_hooks.h"

namespace ascend_deepep::test {

// Made before the ranks fork.
class SharedHeaps {
  public:
    SharedHeaps(uint32_t num_ranks, uint64_t bytes);
    ~SharedHeaps();
    SharedHeaps(const SharedHeaps&) = delete;
    SharedHeaps& operator=(const SharedHeaps&) = delete;

    uint8_t* heap(uint32_t rank) const { return base_ + rank * bytes_; }
    uint64_t bytes() const { return bytes_; }
    uint32_t num_ranks() const { return num_ranks_; }

  private:
    uint32_t num_ranks_;
    uint64_t bytes_;
    uint8_t* base_;
};

enum class TableRelease { kInline, kPointer, kUnknown, kNone };

class FakeFabric final : public twin::GmHooks, public twin::WriteSink {
  public:
    FakeFabric(const SharedHeaps& heaps, uint32_t rank, uint32_t queue_depth);

    twin::WindowMap window_map() const override {
        return {heaps_.heap(0), heaps_.num_ranks() * heaps_.bytes(), heap(), heaps_.bytes()};
    }
    void window_write(void* dst, const void* src, size_t bytes) override;
    void window_read(void* dst, const void* src, size_t bytes) override;
    void window_read_pieces(const twin::Pieces& pieces) override;
    bool device_store(void* at, uint64_t value, unsigned bytes) override { return engine_->store(at, value, bytes); }
    void idle() override;

    // What aclshmem leaves in device memory.
    void publish(TableRelease release);
    const npu::ShmemDeviceRecord& record() const { return record_; }
    uint8_t* heap() const { return heaps_.heap(rank_); }
    // The same place in the heap of another rank; null for a rank that is none.
    uint8_t* address_of(void* memory, uint32_t rank) const {
        return rank < heaps_.num_ranks() ? heaps_.heap(rank) + (static_cast<uint8_t*>(memory) - heap()) : nullptr;
    }

  private:
    CqeStatus deliver(uint32_t peer, uint64_t remote_offset, const uint8_t* source, uint32_t bytes) override;
    template <typename Queue>
    void publish_as(uint64_t sq_bytes);

    const SharedHeaps& heaps_;
    uint32_t rank_;
    twin::Memory memory_;
    std::unique_ptr<twin::UrmaEngine> engine_;
    npu::ShmemDeviceRecord record_{};
    std::vector<uint8_t> tables_;
    std::vector<std::array<uint32_t, 4>> endpoint_ids_;
    uint32_t zero_counter_ = 0;
};

}  // namespace ascend_deepep::test
