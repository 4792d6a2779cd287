// SPDX-License-Identifier: Apache-2.0
//
// Control: validates this rank's inputs and exchanges the control messages of combine. Layer: combine.
// docs/protocol.md, P6, P8, P14.
#ifndef ASCEND_DEEPEP_COMBINE_CONTROL_H
#define ASCEND_DEEPEP_COMBINE_CONTROL_H

#include "combine/validate.h"
#include "protocol/exchange.h"
#include "protocol/rule_h.h"

namespace ascend_deepep::kernel {

class MessageJudge {
  public:
    __aicore__ inline explicit MessageJudge(CoreContext& ctx) : ctx_(ctx) {}

    __aicore__ inline void operator()(uint32_t source, const ControlHeader& header, MessageReader&) {
        verdict.take(ctx_, source, header);
    }

    Verdict verdict;

  private:
    CoreContext& ctx_;
};

__aicore__ inline void control(CoreContext& ctx, const CombineTiling& tiling) {
    enter_stage(ctx, Stage::kControl);
    const CommonTiling& common = tiling.common;
    const Refusal own = common.is_refused != 0 ? common.refusal : validate(ctx, tiling);
    save_refusal(ctx, 0, own);
    publish(ctx, &ctx.page->validated.word, static_cast<uint32_t>(own.code));  // ORDER P14: validated, then rows leave
    MessagePoster poster;
    poster.begin(ctx);
    ControlHeader header = make_header(ctx, own);
    header.num_tokens = common.num_tokens;
    for (uint32_t i = 1; i <= common.num_ranks; ++i) {
        poster.post(ctx, (common.rank + i) % common.num_ranks, header, (GM_ADDR)0, 0);
    }
    poster.end(ctx);
    MessageReader reader;
    reader.begin(ctx);
    MessageJudge judge(ctx);
    if (await_messages(ctx, Stage::kControl, 0, common.num_ranks, reader, judge)) judge.verdict.announce(ctx, 0);
    reset_ub(ctx);
}

// Waits for the validation of this rank's inputs. False: nothing may be sent.
__aicore__ inline bool wait_validated(CoreContext& ctx) {
    uint32_t code = 0;
    return wait_flag(ctx, Stage::kSend, &ctx.page->validated.word, code) && code == 0;
}

// Some rank refused: rows that are missing will not come.
__aicore__ inline bool is_refused(const CoreContext& ctx, const CombineTiling& tiling) {
    uint32_t code = 0;
    return poll(ctx, &ctx.page->cores[tiling.control.first].seen, code) && code != 0;
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_COMBINE_CONTROL_H
