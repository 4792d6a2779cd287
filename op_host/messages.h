// SPDX-License-Identifier: Apache-2.0
//
// Texts of refusals and failures, made from the numbers in the contract, so that a rank and its peers read the same.
// Layer: op_host. Each says argument or rank, value, limit, and what to change or look at.
#ifndef ASCEND_DEEPEP_OP_HOST_MESSAGES_H
#define ASCEND_DEEPEP_OP_HOST_MESSAGES_H

#include <string>

#include "contract/window_layout.h"

namespace ascend_deepep::op_host {

// `refusal.rank` tells an own refusal from a peer's, whose text starts with that rank.
std::string describe(const Refusal& refusal, OperationKind kind, uint32_t own_rank);

// `seconds` since the call was entered, of `limit_seconds`.
std::string describe(const ErrorRecord& record, uint32_t own_rank, double seconds, double limit_seconds);

// Spelling of the operators' arguments; derived numbers as in this library (num_tokens, hidden, num_topk).
const char* field_name(Field field);
const char* stage_name(Stage stage);
const char* code_name(Code code);
const char* dtype_name(Dtype dtype);
const char* kind_name(OperationKind kind);
const char* copy_mode_name(CopyMode mode);
const char* combine_reduce_name(CombineReduce reduce);
const char* region_name(WindowRegion region);  // as docs/layout.md
const char* region_name(WorkspaceRegion region);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_MESSAGES_H
