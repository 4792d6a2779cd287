// SPDX-License-Identifier: Apache-2.0
//
// Rule H: a half is written again only when its reader has finished with it. Layer: protocol. docs/protocol.md, P16,
// I3.
#ifndef ASCEND_DEEPEP_PROTOCOL_RULE_H_H
#define ASCEND_DEEPEP_PROTOCOL_RULE_H_H

#include "protocol/wait.h"

namespace ascend_deepep::kernel {

// All cores in `exchange` have seen the messages of their sources. `is_refused`: one of them found an objection.
__aicore__ inline bool wait_seen(CoreContext& ctx, Stage stage, const CoreRange& exchange, bool& is_refused) {
    is_refused = false;
    for (uint32_t i = 0; i < exchange.count; ++i) {
        uint32_t code = 0;
        if (!wait_flag(ctx, stage, &ctx.page->cores[exchange.first + i].seen, code)) return false;
        is_refused = is_refused || code != 0;
    }
    return true;
}

// ORDER P16: use u of a half only when every peer has consumed use u - 2. The last operation's messages say so already,
// unless more than one operation is open; then this operation's do, since every rank enters it after its earlier ones.
__aicore__ inline bool wait_rule_h(CoreContext& ctx, Stage stage, const CoreRange& exchange) {
    if (ctx.uses < kNumHalves || ctx.min_consumed + 1 >= ctx.uses) return true;
    bool is_refused = false;
    return wait_seen(ctx, stage, exchange, is_refused);
}

// Keeps what the messages of this operation said for the next one. Last core only.
__aicore__ inline void keep_min_consumed(CoreContext& ctx, const CoreRange& exchange) {
    for (uint32_t kind = 0; kind < kNumKinds; ++kind) {
        uint64_t smallest = ~uint64_t(0);
        for (uint32_t i = 0; i < exchange.count; ++i) {
            const uint64_t value = load(&ctx.page->cores[exchange.first + i].min_consumed[kind]);
            if (value < smallest) smallest = value;
        }
        store(&ctx.page->state.min_consumed[kind], smallest);
    }
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_PROTOCOL_RULE_H_H
