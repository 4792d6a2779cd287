// SPDX-License-Identifier: Apache-2.0
//
// Empty stand-in for a header that CANN's build generates.
// Layer: build.
#pragma once
