// SPDX-License-Identifier: Apache-2.0
//
// Rows to and from 512 B blocks: the only way data enters or leaves a window. Layer: protocol.
// BlockImages composes whole blocks in UB (480 B data, 32 B flag area) and writes them with one copy: put_block.
#ifndef ASCEND_DEEPEP_PROTOCOL_PUT_BLOCK_H
#define ASCEND_DEEPEP_PROTOCOL_PUT_BLOCK_H

#include "protocol/context.h"

namespace ascend_deepep::kernel {

// A few images of `blocks` blocks each, filled by MTE2 and written by MTE3. The flag areas are stamped once: data
// copies leave them alone. Images are used in turn, so that filling one overlaps writing the other.
class BlockImages {
  public:
    static constexpr uint32_t kNumImages = 2;

    __aicore__ inline void begin(CoreContext& ctx, uint32_t blocks, uint64_t tag) {
        blocks_ = blocks;
        next_ = 0;
        ctx.pipe->InitBuffer(buffer_, kNumImages * blocks * kBlockBytes);
        AscendC::LocalTensor<uint32_t> words = buffer_.Get<uint32_t>();
        // The tail of the last block is sent too: zeros rather than whatever UB held.
        AscendC::Duplicate(words, uint32_t(0), static_cast<int32_t>(kNumImages * blocks * kBlockBytes / 4));
        sync<AscendC::HardEvent::V_S>();
        AscendC::LocalTensor<uint64_t> flags = buffer_.Get<uint64_t>();
        for (uint32_t block = 0; block < kNumImages * blocks; ++block) {
            for (uint32_t word = 0; word < kFlagBytes / sizeof(uint64_t); ++word) {
                flags.SetValue(flag_offset(block) / sizeof(uint64_t) + word, tag);
            }
        }
        sync<AscendC::HardEvent::S_MTE2>();
        sync<AscendC::HardEvent::S_MTE3>();
        for (uint32_t image = 0; image < kNumImages; ++image) {
            is_free_[image] = static_cast<int32_t>(ctx.pipe->AllocEventID<AscendC::HardEvent::MTE3_MTE2>());
            is_full_[image] = static_cast<int32_t>(ctx.pipe->AllocEventID<AscendC::HardEvent::MTE2_MTE3>());
            AscendC::SetFlag<AscendC::HardEvent::MTE3_MTE2>(is_free_[image]);
        }
    }

    // Takes the next image: what it held before has been written.
    __aicore__ inline void acquire() {
        current_ = next_;
        next_ = (next_ + 1) % kNumImages;
        AscendC::WaitFlag<AscendC::HardEvent::MTE3_MTE2>(is_free_[current_]);
    }

    // Data bytes [logical, logical + bytes) of the image from GM. `logical` and all inner cuts are whole 32 B units.
    __aicore__ inline void fill(uint32_t logical, GM_ADDR from, uint32_t bytes) {
        const uint32_t head = head_bytes(logical, bytes);
        if (head != 0) copy_in(data(logical), from, head);
        const uint32_t pieces = (bytes - head) / kBlockDataBytes;
        if (pieces != 0) {
            const AscendC::DataCopyExtParams shape{static_cast<uint16_t>(pieces), kBlockDataBytes, 0, kFlagUnits, 0};
            const AscendC::DataCopyPadExtParams<uint8_t> no_pad{false, 0, 0, 0};
            AscendC::DataCopyPad(data(logical + head), gm_tensor<uint8_t>(from + head), shape, no_pad);
        }
        const uint32_t done = head + pieces * kBlockDataBytes;
        if (done < bytes) copy_in(data(logical + done), from + done, bytes - done);
    }

    // The same from a slot of a window: whole 32 B units of one block.
    __aicore__ inline void fill_from_slot(uint32_t logical, GM_ADDR from, uint32_t bytes) {
        AscendC::DataCopy(data(logical), gm_tensor<uint8_t>(from), bytes);
    }

    // The current image, for SIMT code to fill. The caller lets V wait for an MTE2 copy behind acquire(), and MTE3 for
    // V.
    __aicore__ inline AscendC::LocalTensor<uint8_t> current() {
        return buffer_.Get<uint8_t>()[current_ * blocks_ * kBlockBytes];
    }

    // Another tag for one block of every image, before any is put.
    __aicore__ inline void stamp(uint32_t block, uint64_t tag) {
        AscendC::LocalTensor<uint64_t> flags = buffer_.Get<uint64_t>();
        for (uint32_t image = 0; image < kNumImages; ++image) {
            const uint32_t offset = static_cast<uint32_t>(flag_offset(image * blocks_ + block) / sizeof(uint64_t));
            for (uint32_t word = 0; word < kFlagBytes / sizeof(uint64_t); ++word)
                flags.SetValue(offset + word, tag);
        }
        sync<AscendC::HardEvent::S_MTE3>();
    }

    // Writes the image's blocks as they are: whole blocks, in one copy, at a block boundary.
    __aicore__ inline void put(GM_ADDR to) {
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE3>(is_full_[current_]);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE3>(is_full_[current_]);
        const AscendC::LocalTensor<uint8_t> image = buffer_.Get<uint8_t>()[current_ * blocks_ * kBlockBytes];
        AscendC::DataCopy(gm_tensor<uint8_t>(to), image, blocks_ * kBlockBytes);
        AscendC::SetFlag<AscendC::HardEvent::MTE3_MTE2>(is_free_[current_]);
    }

    __aicore__ inline void end(CoreContext& ctx) {
        for (uint32_t image = 0; image < kNumImages; ++image) {
            AscendC::WaitFlag<AscendC::HardEvent::MTE3_MTE2>(is_free_[image]);
            ctx.pipe->ReleaseEventID<AscendC::HardEvent::MTE3_MTE2>(static_cast<AscendC::TEventID>(is_free_[image]));
            ctx.pipe->ReleaseEventID<AscendC::HardEvent::MTE2_MTE3>(static_cast<AscendC::TEventID>(is_full_[image]));
        }
    }

    // 64-bit words of the current image's data, for scalar code. The caller orders S and MTE3.
    __aicore__ inline void set_word(uint32_t logical, uint64_t word) {
        const uint64_t offset = uint64_t(current_) * blocks_ * kBlockBytes + slot_offset(logical);
        buffer_.Get<uint64_t>().SetValue(static_cast<uint32_t>(offset / sizeof(uint64_t)), word);
    }

  private:
    __aicore__ inline AscendC::LocalTensor<uint8_t> data(uint32_t logical) {
        return buffer_.Get<uint8_t>()[current_ * blocks_ * kBlockBytes + static_cast<uint32_t>(slot_offset(logical))];
    }

    // Bytes up to the next block, when the range does not begin at one or ends before it.
    static __aicore__ inline uint32_t head_bytes(uint32_t logical, uint32_t bytes) {
        const uint32_t inside = logical % kBlockDataBytes;
        if (inside == 0) return 0;
        const uint32_t left = kBlockDataBytes - inside;
        return left < bytes ? left : bytes;
    }

    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
    uint32_t blocks_;
    uint32_t current_;
    uint32_t next_;
    int32_t is_free_[kNumImages];
    int32_t is_full_[kNumImages];
};

// The first words of the flag areas of `blocks` blocks, then their comparison with the tag. The data is read
// afterwards, by another copy: ORDER P7.
class FlagReader {
  public:
    __aicore__ inline void begin(CoreContext& ctx, uint32_t max_blocks) {
        ctx.pipe->InitBuffer(buffer_, max_blocks * kFlagBytes);
    }

    __aicore__ inline bool all_arrived(GM_ADDR slot, uint32_t blocks, uint64_t tag, uint64_t& seen) {
        const AscendC::DataCopyParams shape{static_cast<uint16_t>(blocks), kFlagUnits, kBlockDataUnits, 0};
        AscendC::DataCopy(buffer_.Get<uint8_t>(), gm_tensor<uint8_t>(slot + kBlockDataBytes), shape);
        sync<AscendC::HardEvent::MTE2_S>();
        AscendC::LocalTensor<uint64_t> flags = buffer_.Get<uint64_t>();
        bool arrived = true;
        for (uint32_t block = 0; block < blocks && arrived; ++block) {
            seen = flags.GetValue(block * kFlagBytes / sizeof(uint64_t));
            arrived = seen == tag;
        }
        sync<AscendC::HardEvent::S_MTE2>();
        return arrived;
    }

  private:
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
};

// Data of `blocks` blocks of a slot to contiguous UB, flag areas left out.
__aicore__ inline void read_blocks(const AscendC::LocalTensor<uint8_t>& to, GM_ADDR slot, uint32_t blocks) {
    const AscendC::DataCopyParams shape{static_cast<uint16_t>(blocks), kBlockDataUnits, kFlagUnits, 0};
    AscendC::DataCopy(to, gm_tensor<uint8_t>(slot), shape);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_PROTOCOL_PUT_BLOCK_H
