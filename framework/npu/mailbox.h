// SPDX-License-Identifier: Apache-2.0
//
// The letter a launch leaves for its host: the head of the control page, copied to pinned memory behind the kernel.
// Layer: framework, devices. docs/protocol.md, "Late results".
#ifndef ASCEND_DEEPEP_FRAMEWORK_NPU_MAILBOX_H
#define ASCEND_DEEPEP_FRAMEWORK_NPU_MAILBOX_H

#include <cstddef>

#include "contract/control_page.h"
#include "op_host/status.h"

namespace ascend_deepep::npu {

// Up to the cells of the cores: state, abort word, outcome, record.
constexpr uint64_t kLetterBytes = offsetof(ControlPage, cores);

struct Letter {
    uint64_t next_sequence;  // 0: nothing was written yet
    bool is_broken;
    uint64_t abort_word;
    OperationOutcome outcome;
    ErrorRecord record;
};

// Its `next_sequence` alone, of memory that a copy may be writing.
uint64_t peek_sequence(const uint8_t* bytes);

Letter read_letter(const uint8_t* bytes);

// The same of memory that a copy may be writing: reads until two readings agree. False after a few that do not.
bool read_moving_letter(const uint8_t* bytes, Letter* letter);

// The failure a letter tells of, ok() when it tells of none. `rank` is the own one.
op_host::Status failure_in(const Letter& letter, uint32_t rank, uint32_t timeout_ms);

}  // namespace ascend_deepep::npu

#endif  // ASCEND_DEEPEP_FRAMEWORK_NPU_MAILBOX_H
