// SPDX-License-Identifier: Apache-2.0
// Umbrella of the SIMT functions.
// Layer: twin/include, the real header's name.
#pragma once

#include "simt_api/common_functions.h"
#include "simt_api/device_functions.h"
#include "simt_api/vector_functions.h"
