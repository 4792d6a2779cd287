// SPDX-License-Identifier: Apache-2.0
// Checker "results": the outputs of a good operation are those of the oracle, bit for bit but for the sign of a NaN
// that a quantiser makes; a dispatch that was refused or failed leaves counts of zero; and performance_info grows by no
// more than the call took. Layer: simulator. Rows behind the last one are untouched, which the contract leaves open.
// What lies behind the triples it leaves open as well, and there nobody looks; nor at the weights of rows of shared
// experts, nor at the rows of an operation that gave none.
#pragma once

#include "simulator/scenario/scenario.h"

namespace ascend_deepep::simulator {

// Each returns what is wrong, or nothing. `batches`: of all ranks.
std::string dispatch_fault(const Channel& channel, uint32_t rank, const std::vector<Batch>& batches,
                           const DispatchResult& got);
std::string combine_fault(uint32_t rank, const Batch& batch, const CombineResult& got);
std::string leftover_fault(uint32_t rank, const DispatchResult& got);
// `got`: after the call, which took `elapsed_ns`.
std::string performance_fault(const Batch& batch, const std::vector<int64_t>& got, uint64_t elapsed_ns);

}  // namespace ascend_deepep::simulator
