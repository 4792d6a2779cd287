// SPDX-License-Identifier: Apache-2.0
// The umbrella header that kernels include; the twin's subset of AscendC for dav-3510.
// Layer: twin/include, the real header's name.
#pragma once

#include "twin_detail/cast.h"
#include "twin_detail/data_copy_pad.h"
#include "twin_detail/float16.h"
#include "twin_detail/keywords.h"
#include "twin_detail/scalar.h"
#include "twin_detail/short_vectors.h"
#include "twin_detail/simt_launch.h"
#include "twin_detail/tensor.h"
#include "twin_detail/tpipe.h"
#include "twin_detail/vector.h"
