// SPDX-License-Identifier: Apache-2.0
// The rules of the AscendC subset that the compiler checks: their names and texts, as messages of static_assert.
// Layer: twin/include. docs/ascendc_subset.md has a row for each, tests/cpp/twin/refused/ a line that breaks it. Rules
// that only a run can check are in twin/runtime/rules.h.
#pragma once

#define ASCEND_DEEPEP_VF_ARGUMENTS "[vf-arguments] a SIMT function takes scalars and pointers only"
#define ASCEND_DEEPEP_LAUNCH_BOUND_RANGE "[launch-bound-range] __launch_bounds__ must be 1..2048"
#define ASCEND_DEEPEP_BARRIER_PIPE \
    "[barrier-pipe] an AIV core has barriers of PIPE_V, PIPE_MTE2, PIPE_MTE3 and PIPE_ALL only"
#define ASCEND_DEEPEP_CTRL_BITS "[ctrl-bits] SetCtrlSpr writes bits 6..10, 45, 48, 50, 53, 59 and 60 only"
#define ASCEND_DEEPEP_WORD_TYPES                                                                                     \
    "[word-types] words past the cache are integers of 8 to 64 bits; scalar atomics take 32 and 64 bits, float for " \
    "add, "                                                                                                          \
    "max and min, unsigned for cas and exch"
#define ASCEND_DEEPEP_ATOMIC_TYPES                                                                                 \
    "[atomic-types] SIMT atomics take int32_t, uint32_t, int64_t, uint64_t, float; inc and dec unsigned, bits no " \
    "float"
#define ASCEND_DEEPEP_HINT_TYPES \
    "[hint-types] loads and stores with a cache hint take scalars and short vectors of them"
#define ASCEND_DEEPEP_VECTOR_TYPES "[vector-types] this vector instruction does not exist for this element type"
#define ASCEND_DEEPEP_QUEUE_POSITION "[queue-position] a TQue of an AIV core lies at VECIN or VECOUT"
#define ASCEND_DEEPEP_QUEUE_DEPTH "[queue-depth] a queue of depth 0 has no AllocTensor on the twin"
#define ASCEND_DEEPEP_QUEUE_CONFIG \
    "[queue-config] the twin's queues have no TQueConfig: more than one consumer would take two mutex ids a buffer"
#define ASCEND_DEEPEP_PADDING_MODE "[padding-mode] the twin has PaddingMode::Normal only"
