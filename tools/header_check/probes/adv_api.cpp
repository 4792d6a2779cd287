// SPDX-License-Identifier: Apache-2.0
//
// Probe: the adv_api headers that a routing kernel may want, without their umbrella.
// Layer: build, never compiled into anything; the self-test expects it clean.
#include "adv_api/hccl/hccl.h"
#include "adv_api/hcomm/hcomm.h"
#include "adv_api/math/cumsum.h"
#include "adv_api/reduce/reduce.h"
#include "adv_api/reduce/sum.h"
#include "adv_api/sort/sort.h"
