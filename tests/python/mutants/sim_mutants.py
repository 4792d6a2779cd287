# SPDX-License-Identifier: Apache-2.0
"""Protocol faults for the simulator, each a change of one place of op_kernel/. Layer: tests.

Many of them pass every test in which the ranks run on their own: they need a core, a pipe, a queue or a block to be
late at the right moment. The number beside a name in docs/protocol.md says which order it breaks.
"""

from __future__ import annotations

from mutate import Mutant

WAIT_FOR_A_COPYS_DATA = """// ORDER P7: tags, then data
    sync<AscendC::HardEvent::MTE2_S>();
    sync<AscendC::HardEvent::MTE2_MTE3>();
    sync<AscendC::HardEvent::MTE3_S>();"""

POST_TO_PEERS = "AscendC::DataCopy(gm_tensor<uint64_t>(cell), image, kBlockBytes / sizeof(uint64_t));"

SIM_MUTANTS = [
    # What an edge or invariant of docs/protocol.md says, taken away.
    Mutant("P1-route-not-awaited", "dispatch/stage.h", "if (!wait_route(ctx)) return;", ""),
    Mutant(
        "P2-frontier-before-blocks",
        "dispatch/stage.h",
        "    sync<AscendC::HardEvent::MTE3_S>();\n"
        "    publish(ctx, &ctx.page->cores[ctx.core].staged, staged);  // ORDER P2\n",
        "    publish(ctx, &ctx.page->cores[ctx.core].staged, staged);\n",
    ),
    Mutant(
        "P3-built-before-ring",
        "protocol/urma_queue.h",
        "        sync<AscendC::HardEvent::MTE3_S>();\n        publish(ctx, &ctx.page->built",
        "        publish(ctx, &ctx.page->built",
    ),
    Mutant(
        "P4-rung-before-staged",
        "dispatch/doorbell.h",
        "if (frontier_ == tiling_.common.num_tokens) return built;",
        "if (frontier_ <= tiling_.common.num_tokens) return built;",
    ),
    Mutant("P5-ring-never-full", "protocol/urma_queue.h", "- (built - completed_wqes(ctx, peer));", ";"),
    Mutant(
        "P6-first-block-only",
        "protocol/wait.h",
        "block < ctx.tiling->window.control_blocks; ++block) {\n        if (!block_has_tag",
        "block < 1; ++block) {\n        if (!block_has_tag",
    ),
    Mutant("P7-first-flag-of-a-row", "combine/reduce.h", "tiling.blocks, ctx.tag, seen)) {", "1, ctx.tag, seen)) {"),
    Mutant(
        "P7-first-flag-of-a-copy",
        "dispatch/collect.h",
        "all_arrived(place.slot, tiling.token.blocks, ctx.tag, seen)",
        "all_arrived(place.slot, 1, ctx.tag, seen)",
    ),
    Mutant(
        "P8-seen-before-rows",
        "protocol/exchange.h",
        "        sync<AscendC::HardEvent::MTE3_S>();\n        publish(ctx, &ctx.page->cores[ctx.core].seen",
        "        publish(ctx, &ctx.page->cores[ctx.core].seen",
    ),
    Mutant(
        "P9-prefix-not-awaited",
        "dispatch/cumsum.h",
        "wait_flag(ctx, Stage::kPrefix, &ctx.page->cores[tiling.cumsum.first + i].partial, partial)",
        "(poll(ctx, &ctx.page->cores[tiling.cumsum.first + i].partial, partial) || true)",
    ),
    Mutant(
        "P10-placed-before-bases",
        "dispatch/cumsum.h",
        "    sync<AscendC::HardEvent::MTE3_S>();\n    publish(ctx, &ctx.page->cores[ctx.core].placed, 0);",
        "    publish(ctx, &ctx.page->cores[ctx.core].placed, 0);",
    ),
    Mutant(
        "P11-arrival-before-outputs",
        "protocol/leave.h",
        "    AscendC::PipeBarrier<PIPE_ALL>();  // ORDER P11: all it wrote, then its arrival (A2)\n",
        "",
    ),
    Mutant(
        "P12-advance-before-outcome",
        "protocol/leave.h",
        "    store_struct((GM_ADDR)&ctx.page->outcome, outcome);\n",
        "    store(&state->sequence, ctx.sequence + 1);\n    store_struct((GM_ADDR)&ctx.page->outcome, outcome);\n",
    ),
    Mutant("P13-abort-not-posted", "protocol/wait.h", POST_TO_PEERS, "static_cast<void>(cell);"),
    Mutant(
        "P14-rows-before-validation",
        "combine/control.h",
        "return wait_flag(ctx, Stage::kSend, &ctx.page->validated.word, code) && code == 0;",
        "poll(ctx, &ctx.page->validated.word, code);\n    return code == 0;",
    ),
    Mutant("I1-one-tag-for-all", "contract/tag.h", "return base + sequence;", "return base + (sequence & 0);"),
    Mutant(
        "I1-tag-in-one-word",
        "protocol/put_block.h",
        "arrived = seen == tag;",
        "arrived = static_cast<uint32_t>(seen) == static_cast<uint32_t>(tag);",
    ),
    Mutant(
        "I2-last-message-not-awaited",
        "protocol/exchange.h",
        "    while (left != 0) {\n        uint32_t missing",
        "    while (left > 1) {\n        uint32_t missing",
    ),
    Mutant(
        "I2-messages-of-combine-not-awaited",
        "combine/control.h",
        "if (await_messages(ctx, Stage::kControl, 0, common.num_ranks, reader, judge)) judge",
        "if (!ctx.has_failed) judge",
    ),
    Mutant("I3-one-half", "dispatch/wqe_builder.h", "return uses % kNumHalves == 0", "return uses % 1 == 0"),
    Mutant("I4-one-control-slot", "protocol/wait.h", "ctx.sequence % kControlSlots;", "ctx.sequence % 1;"),
    Mutant(
        "I5-completions-not-awaited",
        "protocol/urma_queue.h",
        "            if (served.completed == served.expected) {\n",
        "            if (served.rung == served.expected) {\n",
    ),
    Mutant(
        "I6-space-off-by-one",
        "protocol/urma_queue.h",
        "load(&queue_context(ctx, peer)->sq_depth) -",
        "load(&queue_context(ctx, peer)->sq_depth) + 1 -",
    ),
    Mutant("I7-refusal-is-no-use", "protocol/leave.h", ": is_refusal(code);", ": code == Code::kTimeout;"),
    Mutant(
        "I7-own-kind-counts",
        "protocol/leave.h",
        "code == Code::kOk ? kind == kind_index(ctx.kind) : is_refusal(code);",
        "kind == kind_index(ctx.kind);",
    ),
    Mutant(
        "I8-no-deadline",
        "protocol/wait.h",
        "if (now - ctx_.entry_cycle > ctx_.tiling->timeout_cycles) return end(Code::kTimeout, peer_, seen);",
        "static_cast<void>(now);",
    ),
    # Other plausible slips.
    Mutant(
        "trailer-of-another-communicator",
        "combine/validate.h",
        "tag == make_tag(load(&ctx.page->state.tag_base), sequence);",
        "trailer.tag_low == static_cast<uint32_t>(make_tag(load(&ctx.page->state.tag_base), sequence));",
    ),
    Mutant("counts-off-by-one", "dispatch/cumsum.h", "const uint64_t before = sum;", "const uint64_t before = sum++;"),
    Mutant("bases-not-awaited", "dispatch/collect.h", "if (!wait_placed(ctx, tiling)) return;", ""),
    Mutant(
        "owner-bit-inverted",
        "contract/arch35/wqe.h",
        "(producer & depth) == 0 ? 1U : 0U",
        "(producer & depth) == 0 ? 0U : 1U",
    ),
    Mutant(
        "routing-function-not-awaited",
        "dispatch/route.h",
        "sync<AscendC::HardEvent::V_S>();\n    const Refusal",
        "const Refusal",
    ),
    Mutant("copys-data-not-awaited", "dispatch/collect.h", WAIT_FOR_A_COPYS_DATA, ""),
    Mutant(
        "sum-before-rows",
        "combine/reduce.h",
        "    sync<AscendC::HardEvent::MTE2_V>();\n    sync<AscendC::HardEvent::MTE3_V>();",
        "",
    ),
    Mutant("rows-over-a-sum", "combine/reduce.h", "    sync<AscendC::HardEvent::V_MTE2>();\n", ""),
    Mutant("sum-not-awaited", "combine/reduce.h", "    sync<AscendC::HardEvent::V_MTE3>();\n", ""),
    Mutant(
        "weights-over-a-sum",
        "combine/reduce.h",
        "    sync<AscendC::HardEvent::V_S>();  // the sum before has read its weights\n",
        "",
    ),
    Mutant(
        "image-put-before-it-is-full",
        "protocol/put_block.h",
        "AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE3>(is_full_[current_]);\n"
        "        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE3>(is_full_[current_]);",
        "",
    ),
    Mutant(
        "staging-slot-still-read",
        "combine/send.h",
        "const bool is_staging_free = sent % kCombineStagingRows != 0 || completed_wqes(ctx, peer) == sent;",
        "const bool is_staging_free = true;",
    ),
    Mutant(
        "local-flag-of-any-operation",
        "contract/tag.h",
        "return (flag >> 32) == (tag & 0xFFFFFFFFULL) && static_cast<uint32_t>(flag) != 0;",
        "return tag != 0 && static_cast<uint32_t>(flag) != 0;",
    ),
    Mutant(
        "message-tag-not-compared",
        "protocol/wait.h",
        "return load((__gm__ uint64_t*)(block + kBlockDataBytes)) == tag;",
        "return load((__gm__ uint64_t*)(block + kBlockDataBytes)) != 0 && tag != 0;",
    ),
    Mutant("work-counter-not-reset", "protocol/leave.h", "    store(&ctx.page->next_work.word, uint64_t(0));\n", ""),
    Mutant(
        "doorbell-of-the-last-operation",
        "protocol/urma_queue.h",
        "    store(&queue->posted, load(&queue->posted) + served.expected);\n",
        "    store(&queue->posted, load(&queue->posted) + served.rung - served.completed);\n",
    ),
    Mutant(
        "cqe-of-the-last-pass",
        "protocol/urma_queue.h",
        "if (!cqe_is_valid(word, at, depth)) break;",
        "if (word == 0) break;",
    ),
    Mutant("abort-word-not-watched", "protocol/wait.h", "if (word != 0) return end(", "if (word == 1) return end("),
    Mutant(
        "aborts-of-peers-not-watched",
        "protocol/wait.h",
        "const uint32_t peer = turn % ctx_.tiling->num_ranks;",
        "const uint32_t peer = ctx_.tiling->rank + turn * 0;",
    ),
    Mutant(
        "record-after-the-abort-word",
        "protocol/wait.h",
        "    store_struct((GM_ADDR)&ctx.page->record, record);\n",
        "",
    ),
    Mutant(
        "ordinals-without-prefix",
        "dispatch/route.h",
        "histogram[thread * buckets + bucket] = sum;",
        "histogram[thread * buckets + bucket] = 0;",
    ),
    Mutant(
        "slots-of-another-source",
        "dispatch/wqe_builder.h",
        "area + uint64_t(ctx.tiling->rank) * ctx.tiling->limit_tokens * slot_bytes,",
        "area + uint64_t(peer) * ctx.tiling->limit_tokens * slot_bytes,",
    ),
]
