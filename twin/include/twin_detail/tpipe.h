// SPDX-License-Identifier: Apache-2.0
// TPipe, TQueBind, TQue, TBuf: UB memory and the queues' synchronisation by buffer mutexes (dav-3510).
// Layer: twin/include. A queue orders its two pipes, never the scalar unit; breaking its discipline is a fault.
#pragma once

#include <cstring>
#include <exception>
#include <type_traits>

#include "twin_detail/compile_rules.h"
#include "twin_detail/events.h"
#include "twin_detail/tensor.h"

namespace AscendC {

class TPipe;

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
  public:
    __aicore__ inline TQueBind() {}

    template <typename T>
    __aicore__ inline LocalTensor<T> AllocTensor() {
        static_assert(depth > 0, ASCEND_DEEPEP_QUEUE_DEPTH);
        using namespace ascend_deepep::twin;
        require(count_ > 0 && generation_ == scalar_core("AllocTensor").pipe_generation, rules::kBufferInitialised,
                "AllocTensor", count_, 1, "TPipe::InitBuffer first");
        for (uint32_t tried = 0; tried < count_; ++tried) {
            UbBuffer& buffer = first_[cursor_];
            cursor_ = cursor_ + 1 == count_ ? 0 : cursor_ + 1;
            if (buffer.state == BufferState::kFree) {
                buffer.state = BufferState::kOccupied;
                wait(kPipes.source, kPipes.target, buffer.free_position);
                return LocalTensor<T>(buffer.data, buffer.bytes, &buffer, dst == TPosition::GM ? src : dst);
            }
        }
        raise_fault(
            {"AllocTensor", &rules::kQueueAlloc, count_, count_, "FreeTensor first, or give InitBuffer more buffers"});
    }

    template <typename T>
    __aicore__ inline bool EnQue(const LocalTensor<T>& tensor) {
        using namespace ascend_deepep::twin;
        UbBuffer& buffer = own(tensor, "EnQue");
        require(buffer.state == BufferState::kOccupied || buffer.state == BufferState::kDequeued, rules::kQueueEnque,
                "EnQue", static_cast<uint64_t>(buffer.state), 0, "AllocTensor before EnQue, once");
        require(queued_ < kSlots, rules::kQueueFull, "EnQue", queued_ + 1, kSlots, "DeQue first");
        buffer.state = BufferState::kEnqueued;
        buffer.full_position = position(kPipes.source);
        slots_[(head_ + queued_) % kSlots] = static_cast<uint8_t>(&buffer - first_);
        ++queued_;
        return true;
    }

    template <typename T>
    __aicore__ inline LocalTensor<T> DeQue() {
        using namespace ascend_deepep::twin;
        require(queued_ > 0, rules::kQueueEmpty, "DeQue", 0, 1, "EnQue first");
        UbBuffer& buffer = first_[slots_[head_]];
        head_ = (head_ + 1) % kSlots;
        --queued_;
        buffer.state = BufferState::kDequeued;
        wait(kPipes.target, kPipes.source, buffer.full_position);
        return LocalTensor<T>(buffer.data, buffer.bytes, &buffer, src == TPosition::GM ? dst : src);
    }

    template <typename T>
    __aicore__ inline void FreeTensor(LocalTensor<T>& tensor) {
        using namespace ascend_deepep::twin;
        UbBuffer& buffer = own(tensor, "FreeTensor");
        require(buffer.state == BufferState::kOccupied || buffer.state == BufferState::kDequeued, rules::kQueueFree,
                "FreeTensor", static_cast<uint64_t>(buffer.state), 0, "free a tensor once, after DeQue");
        buffer.state = BufferState::kFree;
        buffer.free_position = position(kPipes.target);
    }

    __aicore__ inline bool VacantInQue() { return queued_ < kSlots; }
    __aicore__ inline bool HasTensorInQue() { return queued_ > 0; }
    __aicore__ inline int32_t GetTensorCountInQue() { return static_cast<int32_t>(queued_); }
    __aicore__ inline bool HasIdleBuffer() {
        for (uint32_t i = 0; i < count_; ++i) {
            if (first_[i].state == ascend_deepep::twin::BufferState::kFree) {
                return true;
            }
        }
        return false;
    }

  protected:
    friend class TPipe;
    static_assert(std::is_same_v<decltype(mask), int> && mask == 0, ASCEND_DEEPEP_QUEUE_CONFIG);
    static constexpr uint32_t kSlots = depth > 0 ? depth : 1;
    static constexpr ascend_deepep::twin::PipePair kPipes = ascend_deepep::twin::pipes_of(src, dst);

    template <typename T>
    ascend_deepep::twin::UbBuffer& own(const LocalTensor<T>& tensor, const char* operation) const {
        ascend_deepep::twin::UbBuffer* buffer = tensor.twin_buffer();
        ascend_deepep::twin::require(buffer != nullptr && buffer->queue == this,
                                     ascend_deepep::twin::rules::kQueueOwner, operation, 0, 1,
                                     "return a tensor to its own queue");
        return *buffer;
    }
    static uint64_t position(ascend_deepep::twin::Pipe pipe) {
        if constexpr (ascend_deepep::twin::Policy::kDeferred) {
            return ascend_deepep::twin::current_core().deferred->issued(pipe);
        } else {
            static_cast<void>(pipe);
            return 0;
        }
    }
    static void wait(ascend_deepep::twin::Pipe waiting, ascend_deepep::twin::Pipe source, uint64_t position) {
        if constexpr (ascend_deepep::twin::Policy::kDeferred) {
            ascend_deepep::twin::current_core().deferred->push_wait(waiting, source, position);
        } else {
            static_cast<void>(waiting);
            static_cast<void>(source);
            static_cast<void>(position);
        }
    }

    ascend_deepep::twin::UbBuffer* first_ = nullptr;
    uint32_t count_ = 0;
    uint32_t generation_ = 0;  // of the TPipe, at InitBuffer
    uint32_t cursor_ = 0;
    uint32_t head_ = 0;
    uint32_t queued_ = 0;
    uint8_t slots_[kSlots] = {};
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue
    : public TQueBind<ascend_deepep::twin::queue_source(pos), ascend_deepep::twin::queue_target(pos), depth, mask> {
    static_assert(pos == TPosition::VECIN || pos == TPosition::VECOUT, ASCEND_DEEPEP_QUEUE_POSITION);
};

template <TPosition pos = TPosition::LCM>
class TBuf {
  public:
    __aicore__ inline TBuf() {}
    template <typename T>
    __aicore__ inline LocalTensor<T> Get() {
        return GetWithOffset<T>(size() / static_cast<uint32_t>(sizeof(T)), 0);
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> Get(uint32_t len) {
        return GetWithOffset<T>(len, 0);
    }
    template <typename T>
    __aicore__ inline LocalTensor<T> GetWithOffset(uint32_t size_elements, uint32_t offset_bytes) {
        using namespace ascend_deepep::twin;
        require(buffer_ != nullptr && generation_ == scalar_core("TBuf::Get").pipe_generation,
                rules::kBufferInitialised, "TBuf::Get", buffer_ != nullptr, 1, "TPipe::InitBuffer first");
        uint8_t* data = buffer_->data + offset_bytes;
        const uint64_t bytes = uint64_t{size_elements} * sizeof(T);
        require_ub("TBuf::Get", data, bytes, buffer_);
        return LocalTensor<T>(data, static_cast<uint32_t>(bytes), buffer_, pos);
    }

  private:
    friend class TPipe;
    uint32_t size() const { return buffer_ != nullptr ? buffer_->bytes : 0; }
    ascend_deepep::twin::UbBuffer* buffer_ = nullptr;
    uint32_t generation_ = 0;  // of the TPipe, at InitBuffer
};

class TPipe {
  public:
    __aicore__ inline TPipe() {
        using namespace ascend_deepep::twin;
        Core& core = scalar_core("TPipe");
        require(core.pipe == nullptr, rules::kOneTpipe, "TPipe", 2, 1, "make it in the entry and pass a pointer");
        require(!core.has_placed_tensors, rules::kOneUbAllocator, "TPipe", 1, 0,
                "take every tensor from a TBuf, or make no TPipe");
        core.pipe = this;
        clear(core);
        poison(core.ub, core.ub_bytes);
    }
    TPipe(const TPipe&) = delete;
    TPipe& operator=(const TPipe&) = delete;
    __aicore__ inline ~TPipe() noexcept(false) {
        // No second exception while one is on its way up.
        if (std::uncaught_exceptions() == 0 && ascend_deepep::twin::current_core().pipe == this) {
            Destroy();
        }
    }

    template <class T>
    __aicore__ inline bool InitBuffer(T& que, uint8_t num, uint32_t len) {
        using namespace ascend_deepep::twin;
        Core& core = current_core();
        require(num > 0, rules::kQueueBuffers, "InitBuffer", num, 1, "give it one or two");
        require(core.num_queue_buffers + num <= kMaxQueueBuffers, rules::kMutexIds, "InitBuffer",
                core.num_queue_buffers + num, kMaxQueueBuffers, "use fewer queue buffers");
        core.num_queue_buffers += num;
        que.first_ = &core.buffers[core.num_buffers];
        que.count_ = num;
        que.generation_ = core.pipe_generation;
        que.cursor_ = que.head_ = que.queued_ = 0;
        for (uint32_t i = 0; i < num; ++i) {
            cut(core, len, &que);
        }
        return true;
    }
    template <TPosition pos>
    __aicore__ inline bool InitBuffer(TBuf<pos>& buf, uint32_t len) {
        ascend_deepep::twin::Core& core = ascend_deepep::twin::scalar_core("InitBuffer");
        buf.buffer_ = cut(core, len, nullptr);
        buf.generation_ = core.pipe_generation;
        return true;
    }

    template <HardEvent evt>
    __aicore__ inline TEventID AllocEventID() {
        const TEventID id = FetchEventID(evt);
        ascend_deepep::twin::current_core().reserved_ids[static_cast<int>(evt)] |= static_cast<uint8_t>(1u << id);
        return id;
    }
    template <HardEvent evt>
    __aicore__ inline void ReleaseEventID(TEventID id) {
        ascend_deepep::twin::event_flag("ReleaseEventID", evt, id);
        ascend_deepep::twin::current_core().reserved_ids[static_cast<int>(evt)] &= static_cast<uint8_t>(~(1u << id));
    }
    template <HardEvent evt>
    __aicore__ inline TEventID FetchEventID() {
        return FetchEventID(evt);
    }
    // The lowest id that AllocEventID did not reserve; it is not reserved by this call.
    __aicore__ inline TEventID FetchEventID(HardEvent evt) {
        const unsigned used = ascend_deepep::twin::current_core().reserved_ids[static_cast<int>(evt)];
        const int id = __builtin_ctz(~used);
        ascend_deepep::twin::require(id < ascend_deepep::twin::kNumEventIds,
                                     ascend_deepep::twin::rules::kEventIdsReserved, "FetchEventID", 8, 8,
                                     "ReleaseEventID what is no longer used");
        return static_cast<TEventID>(id);
    }

    __aicore__ inline void Destroy() {
        finish("TPipe::Destroy");
        ascend_deepep::twin::current_core().pipe = nullptr;
    }
    __aicore__ inline void Reset() { finish("TPipe::Reset"); }

  private:
    void finish(const char* operation) {
        PipeBarrier<PIPE_ALL>();
        ascend_deepep::twin::Core& core = ascend_deepep::twin::current_core();
        ascend_deepep::twin::check_queues_empty(core, operation);
        clear(core);
    }
    static void clear(ascend_deepep::twin::Core& core) {
        core.pipe_bytes = 0;
        core.num_buffers = 0;
        core.num_queue_buffers = 0;
        ++core.pipe_generation;
        std::memset(core.reserved_ids, 0, sizeof(core.reserved_ids));
    }
    static void poison(uint8_t* data, uint32_t bytes) {
        if constexpr (ascend_deepep::twin::Policy::kDeferred) {
            std::memset(data, ascend_deepep::twin::kUbPoison, bytes);
        } else {
            static_cast<void>(data);
            static_cast<void>(bytes);
        }
    }
    static ascend_deepep::twin::UbBuffer* cut(ascend_deepep::twin::Core& core, uint32_t len, const void* queue) {
        using namespace ascend_deepep::twin;
        require(len > 0, rules::kBufferSize, "InitBuffer", 0, 1, "give it a size");
        require(core.num_buffers < kMaxUbBuffers, rules::kTpipeBuffers, "InitBuffer", core.num_buffers + 1,
                kMaxUbBuffers, "share one TBuf by GetWithOffset");
        const uint64_t end = core.pipe_bytes + (uint64_t{len} + kUbBlockBytes - 1) / kUbBlockBytes * kUbBlockBytes;
        require(end <= core.ub_bytes, rules::kUbBudget, "InitBuffer", end, core.ub_bytes,
                "cut smaller buffers; 216 KB is the most beside SIMT code");
        UbBuffer& buffer = core.buffers[core.num_buffers++];
        buffer = {
            core.ub + core.pipe_bytes, static_cast<uint32_t>(end - core.pipe_bytes), BufferState::kFree, queue, 0, 0};
        core.pipe_bytes = static_cast<uint32_t>(end);
        poison(buffer.data, buffer.bytes);
        return &buffer;
    }
};

}  // namespace AscendC

__aicore__ inline AscendC::TPipe* GetTPipePtr() {
    const void* pipe = ascend_deepep::twin::scalar_core("GetTPipePtr").pipe;
    ascend_deepep::twin::require(pipe != nullptr, ascend_deepep::twin::rules::kTpipeLive, "GetTPipePtr", 0, 1,
                                 "make one in the kernel's entry");
    return static_cast<AscendC::TPipe*>(const_cast<void*>(pipe));
}
