// SPDX-License-Identifier: Apache-2.0
//
// The steps of a rendezvous that all targets share. Layer: framework.
// Every rank reaches every exchange whatever happens to it, and says there what went wrong: nobody waits for a rank
// that gave up. All ranks compare the same bytes, so all succeed or all throw.
#ifndef ASCEND_DEEPEP_FRAMEWORK_RUNTIME_RENDEZVOUS_H
#define ASCEND_DEEPEP_FRAMEWORK_RUNTIME_RENDEZVOUS_H

#include <exception>

#include "framework/runtime/handshake.h"
#include "framework/runtime/status_payload.h"

namespace ascend_deepep {

uint64_t random_number();

void refuse_unless(bool holds, uint32_t rank, Code code, int64_t got, int64_t limit, const std::string& message);

// Fills in the defaults that do not depend on the target and refuses what is illegal on any, whatever other ranks say.
void complete_options(CommunicatorOptions* options, uint32_t cores);

// What went wrong on this rank.
void set_reason(Handshake* handshake, const op_host::Status& status);

// Runs `step` and writes into the handshake what went wrong.
template <typename Step>
void attempt(Handshake* handshake, uint32_t rank, Step step) {
    try {
        step();
    } catch (const CommunicatorError& error) {
        set_reason(handshake, error.status);
    } catch (const std::exception& error) {
        set_reason(handshake, setup_failure(rank, error.what()));
    }
}

// `is_complete`: the limits have passed their checks, so they have a layout.
void fill_handshake(const CommunicatorOptions& options, bool is_complete, Handshake* handshake);

// Throws on every rank when any rank cannot go on or differs.
std::vector<Handshake> exchange_handshakes(const Handshake& own, const CommunicatorOptions& options,
                                           const AllGather& all_gather);

// The same on all ranks, and not that of any communicator before. 0 would be a tag of untouched memory.
uint64_t tag_base(const std::vector<Handshake>& all, uint32_t tag_low);

}  // namespace ascend_deepep

#endif  // ASCEND_DEEPEP_FRAMEWORK_RUNTIME_RENDEZVOUS_H
