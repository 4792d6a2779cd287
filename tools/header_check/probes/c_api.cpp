// SPDX-License-Identifier: Apache-2.0
//
// Probe: the C API.
// Layer: build, never compiled into anything; the self-test expects it clean.
#include "c_api/asc_simd.h"
