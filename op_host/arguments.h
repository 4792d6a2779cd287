// SPDX-License-Identifier: Apache-2.0
//
// What is known of each argument of the operators, once, for checks and texts alike. Layer: op_host.
// A tensor has its dtypes and dimensions here; a number has its smallest value and what to pass instead of a bad one.
#ifndef ASCEND_DEEPEP_OP_HOST_ARGUMENTS_H
#define ASCEND_DEEPEP_OP_HOST_ARGUMENTS_H

#include <string>

#include "contract/control_message.h"

namespace ascend_deepep::op_host {

constexpr uint32_t dtype_bit(Dtype dtype) {
    return 1U << static_cast<uint32_t>(dtype);
}

struct TensorArgument {
    Field field;
    uint32_t dtypes;  // mask of dtype_bit
    uint32_t min_dims;
    uint32_t max_dims;
    const char* shape;  // and where it comes from
};

struct NumberArgument {
    Field field;
    int64_t lowest;
    const char* legal;   // the values, where they are not an interval; null otherwise
    const char* remedy;  // of an illegal value
    const char* later;   // of a legal value whose feature is not there yet; null where all legal values work
};

// Null when `field` is the other kind of argument.
const TensorArgument* find_tensor(Field field);
const NumberArgument* find_number(Field field);

std::string legal_dtypes(const TensorArgument& argument);
std::string legal_dims(const TensorArgument& argument);

}  // namespace ascend_deepep::op_host

#endif  // ASCEND_DEEPEP_OP_HOST_ARGUMENTS_H
