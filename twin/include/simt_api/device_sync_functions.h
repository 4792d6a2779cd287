// SPDX-License-Identifier: Apache-2.0
// Barrier and fences of SIMT code.
// Layer: twin/include, the real header's name.
#pragma once

#include "twin/runtime/simt.h"
#include "twin_detail/keywords.h"
#include "twin_detail/policy.h"

// Every thread of the block must arrive. The site is for error messages.
__simt_callee__ inline void asc_syncthreads(
    ascend_deepep::twin::SourceSite site = ascend_deepep::twin::SourceSite::here()) {
    ascend_deepep::twin::current_simt("asc_syncthreads").barrier(site);
}

__simt_callee__ inline void asc_threadfence() {
    ascend_deepep::twin::fence_modelled(ascend_deepep::twin::GmUnit::kSimt);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
__simt_callee__ inline void asc_threadfence_block() {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
