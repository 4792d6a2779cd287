// SPDX-License-Identifier: Apache-2.0
//
// The column of dtypes that a call needs, by op_host's plan. Layer: op_host/cann.
#ifndef ASCEND_DEEPEP_OP_HOST_CANN_COLUMNS_H
#define ASCEND_DEEPEP_OP_HOST_CANN_COLUMNS_H

#include <algorithm>
#include <string>

#include "op_host/cann/arguments.h"

namespace ascend_deepep::cann {

// A legal call's is among those of its operator; an illegal one's may be none of them.
Column column_of(const op_host::DispatchCall& call);
Column column_of(const op_host::CombineCall& call);

template <typename Arguments>
bool has_kernel(const Column& column) {
    const auto all = columns<Arguments>();
    return std::find(all.begin(), all.end(), column) != all.end();
}

std::string no_kernel_text(const Column& column);

}  // namespace ascend_deepep::cann

#endif  // ASCEND_DEEPEP_OP_HOST_CANN_COLUMNS_H
