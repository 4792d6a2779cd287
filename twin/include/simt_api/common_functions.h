// SPDX-License-Identifier: Apache-2.0
// asc_vf_call.
// Layer: twin/include, the real header's name.
#pragma once

#include "twin_detail/keywords.h"
#include "twin_detail/simt_launch.h"
