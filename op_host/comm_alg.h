// SPDX-License-Identifier: Apache-2.0
//
// The words of comm_alg: which are accepted, and why the others are not. Layer: op_host.
#ifndef ASCEND_DEEPEP_OP_HOST_COMM_ALG_H
#define ASCEND_DEEPEP_OP_HOST_COMM_ALG_H

#include <string>

#include "contract/control_message.h"

namespace ascend_deepep::op_host {

struct CommAlg {
    const char* word;
    Code code;                                // kOk: accepted
    const char* reason;                       // of a refusal
    CopyMode copy_mode = CopyMode::kPerRank;  // what it forces; per-rank copies give way where payloads differ
};

// Never null: an unknown word has a row of its own.
const CommAlg* find_comm_alg(const std::string& word);
std::string legal_comm_algs();

// A refusal carries numbers only. The first 16 bytes of a word fit its `got` and `limit`, so that peers can name it.
void pack_word(const std::string& word, Refusal* refusal);
std::string unpack_word(const Refusal& refusal);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_COMM_ALG_H
