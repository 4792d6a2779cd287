// SPDX-License-Identifier: Apache-2.0
//
// The device compiler searches namespace __asc_simt_vf implicitly from SIMT code; a host clang must be told.
// Layer: build.
#pragma once
#include "simt_api/asc_simt.h"
#include "simt_api/device_atomic_functions.h"
#include "simt_api/device_functions.h"
#include "simt_api/device_sync_functions.h"
#include "simt_api/device_warp_functions.h"
using __asc_simt_vf::asc_atomic_add;
using __asc_simt_vf::asc_atomic_and;
using __asc_simt_vf::asc_atomic_cas;
using __asc_simt_vf::asc_atomic_dec;
using __asc_simt_vf::asc_atomic_exch;
using __asc_simt_vf::asc_atomic_inc;
using __asc_simt_vf::asc_atomic_max;
using __asc_simt_vf::asc_atomic_min;
using __asc_simt_vf::asc_atomic_or;
using __asc_simt_vf::asc_atomic_sub;
using __asc_simt_vf::asc_atomic_xor;
using __asc_simt_vf::asc_dcci_single;
