// SPDX-License-Identifier: Apache-2.0
//
// The exchange of control messages: one from every rank to every rank, in every operation. Layer: protocol.
// docs/protocol.md, "Control messages". What follows the header is the caller's: words from GM on the way out, a
// visitor on the way in.
#ifndef ASCEND_DEEPEP_PROTOCOL_EXCHANGE_H
#define ASCEND_DEEPEP_PROTOCOL_EXCHANGE_H

#include "protocol/put_block.h"
#include "protocol/wait.h"

namespace ascend_deepep::kernel {

constexpr uint32_t kHeaderWords = sizeof(ControlHeader) / sizeof(uint64_t);

// Composes and posts messages. The header is set once; the words behind it differ by peer.
class MessagePoster {
  public:
    __aicore__ inline void begin(CoreContext& ctx) { images_.begin(ctx, ctx.tiling->window.control_blocks, ctx.tag); }
    __aicore__ inline void end(CoreContext& ctx) { images_.end(ctx); }

    // `extra`: bytes in GM that follow the header, 0 for none.
    __aicore__ inline void post(CoreContext& ctx, uint32_t peer, const ControlHeader& header, GM_ADDR extra,
                                uint32_t extra_bytes) {
        images_.acquire();
        sync<AscendC::HardEvent::MTE3_S>();
        const uint64_t* words = reinterpret_cast<const uint64_t*>(&header);
        for (uint32_t i = 0; i < kHeaderWords; ++i)
            images_.set_word(i * sizeof(uint64_t), words[i]);
        sync<AscendC::HardEvent::S_MTE3>();
        if (extra_bytes != 0) images_.fill(sizeof(ControlHeader), extra, extra_bytes);
        images_.put(control_slot(ctx, window_of(ctx, peer), ctx.tiling->rank));  // ORDER P6: data and tag by block
    }

  private:
    BlockImages images_;
};

// Reads arrived messages into UB.
class MessageReader {
  public:
    __aicore__ inline void begin(CoreContext& ctx) {
        ctx.pipe->InitBuffer(buffer_, ctx.tiling->window.control_blocks * kBlockDataBytes);
    }

    // ORDER P6: the caller has seen all tags of the message.
    __aicore__ inline void read(const CoreContext& ctx, uint32_t source, ControlHeader& header) {
        sync<AscendC::HardEvent::MTE3_MTE2>();
        sync<AscendC::HardEvent::S_MTE2>();
        read_blocks(buffer_.Get<uint8_t>(), control_slot(ctx, ctx.window, source), ctx.tiling->window.control_blocks);
        sync<AscendC::HardEvent::MTE2_S>();
        uint64_t* words = reinterpret_cast<uint64_t*>(&header);
        AscendC::LocalTensor<uint64_t> image = buffer_.Get<uint64_t>();
        for (uint32_t i = 0; i < kHeaderWords; ++i)
            words[i] = image.GetValue(i);
    }

    // Bytes behind the header of the message read last.
    __aicore__ inline void save_extra(GM_ADDR to, uint32_t bytes) {
        sync<AscendC::HardEvent::MTE2_MTE3>();
        copy_out(to, buffer_.Get<uint8_t>()[sizeof(ControlHeader)], bytes);
    }

  private:
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer_;
};

__aicore__ inline ControlHeader make_header(const CoreContext& ctx, const Refusal& refusal) {
    ControlHeader header{};
    header.tag = ctx.tag;
    header.signature = ctx.signature;
    for (uint32_t kind = 0; kind < kNumKinds; ++kind) {
        header.consumed[kind] = load(&ctx.page->state.uses[kind]);
    }
    header.refusal = refusal;
    return header;
}

// What a message says against going on: the peer's refusal, or the first field of the signature that differs.
__aicore__ inline Refusal objection(const ControlHeader& header, const CallSignature& own, uint32_t source) {
    Refusal refusal = header.refusal;
    refusal.rank = source;
    if (refusal.code != Code::kOk) return refusal;
    const uint32_t* theirs = reinterpret_cast<const uint32_t*>(&header.signature);
    const uint32_t* ours = reinterpret_cast<const uint32_t*>(&own);
    for (uint32_t word = 0; word < kSignatureWords; ++word) {
        if (theirs[word] == ours[word]) continue;
        refusal.code = Code::kSignature;
        refusal.field = signature_field(word);
        refusal.got = theirs[word];
        refusal.limit = ours[word];
        return refusal;
    }
    return refusal;
}

// What the messages read so far come to: the first objection, and the smallest count of uses consumed, by kind.
class Verdict {
  public:
    __aicore__ inline Verdict() : refusal_{} {
        for (uint32_t kind = 0; kind < kNumKinds; ++kind)
            min_consumed_[kind] = ~uint64_t(0);
    }

    // False: this message objects.
    __aicore__ inline bool take(const CoreContext& ctx, uint32_t source, const ControlHeader& header) {
        for (uint32_t kind = 0; kind < kNumKinds; ++kind) {
            if (header.consumed[kind] < min_consumed_[kind]) min_consumed_[kind] = header.consumed[kind];
        }
        const Refusal found = objection(header, ctx.signature, source);
        // The lowest rank's, whatever the order of arrival: every run says the same.
        if (found.code != Code::kOk && (refusal_.code == Code::kOk || source < refusal_.rank)) refusal_ = found;
        return found.code == Code::kOk;
    }

    // Publishes it as that of core `index` of the exchange. ORDER P8: rows, sizes and refusals, then `seen`.
    __aicore__ inline void announce(CoreContext& ctx, uint32_t index) const {
        for (uint32_t kind = 0; kind < kNumKinds; ++kind) {
            store(&ctx.page->cores[ctx.core].min_consumed[kind], min_consumed_[kind]);
        }
        store_struct(refusal_cell(ctx, 1 + index), refusal_);
        sync<AscendC::HardEvent::MTE3_S>();
        publish(ctx, &ctx.page->cores[ctx.core].seen, static_cast<uint32_t>(refusal_.code));
    }

  private:
    Refusal refusal_;
    uint64_t min_consumed_[kNumKinds];
};

// I2: a rank finishes an operation only behind this wait, so all ranks have entered it by then.
// Waits for the messages of sources [first, first + count), in whatever order they come. `visit(source, header,
// reader)` is called once each. Ends with false when the operation failed.
template <typename Visitor>
__aicore__ inline bool await_messages(CoreContext& ctx, Stage stage, uint32_t first, uint32_t count,
                                      MessageReader& reader, Visitor& visit) {
    uint32_t seen[kMaxRanks / 32] = {};
    uint32_t left = count;
    const SourceWait timer(ctx);
    Wait wait(ctx, stage, first, ctx.tag);
    while (left != 0) {
        uint32_t missing = kMaxRanks;
        const uint32_t before = left;
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t source = first + i;
            if ((seen[source / 32] >> (source % 32)) & 1U) continue;
            if (!message_arrived(ctx, source)) {
                if (missing == kMaxRanks) missing = source;
                continue;
            }
            timer.arrived(source);
            ControlHeader header;
            reader.read(ctx, source, header);
            visit(source, header, reader);
            seen[source / 32] |= 1U << (source % 32);
            --left;
        }
        if (left == before && !wait.go_on_for(missing, count - left)) return false;
    }
    return true;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_PROTOCOL_EXCHANGE_H
