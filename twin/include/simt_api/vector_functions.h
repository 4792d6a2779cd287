// SPDX-License-Identifier: Apache-2.0
// make_* constructors of the short vectors.
// Layer: twin/include, the real header's name.
#pragma once

#include "twin_detail/keywords.h"
#include "twin_detail/short_vectors.h"

__simt_callee__ inline char2 make_char2(signed char x, signed char y) {
    return {x, y};
}
__simt_callee__ inline char3 make_char3(signed char x, signed char y, signed char z) {
    return {x, y, z};
}
__simt_callee__ inline char4 make_char4(signed char x, signed char y, signed char z, signed char w) {
    return {x, y, z, w};
}
__simt_callee__ inline uchar2 make_uchar2(unsigned char x, unsigned char y) {
    return {x, y};
}
__simt_callee__ inline uchar3 make_uchar3(unsigned char x, unsigned char y, unsigned char z) {
    return {x, y, z};
}
__simt_callee__ inline uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z, unsigned char w) {
    return {x, y, z, w};
}
__simt_callee__ inline short2 make_short2(short x, short y) {
    return {x, y};
}
__simt_callee__ inline short3 make_short3(short x, short y, short z) {
    return {x, y, z};
}
__simt_callee__ inline short4 make_short4(short x, short y, short z, short w) {
    return {x, y, z, w};
}
__simt_callee__ inline ushort2 make_ushort2(unsigned short x, unsigned short y) {
    return {x, y};
}
__simt_callee__ inline ushort3 make_ushort3(unsigned short x, unsigned short y, unsigned short z) {
    return {x, y, z};
}
__simt_callee__ inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w) {
    return {x, y, z, w};
}
__simt_callee__ inline int2 make_int2(int x, int y) {
    return {x, y};
}
__simt_callee__ inline int3 make_int3(int x, int y, int z) {
    return {x, y, z};
}
__simt_callee__ inline int4 make_int4(int x, int y, int z, int w) {
    return {x, y, z, w};
}
__simt_callee__ inline uint2 make_uint2(unsigned int x, unsigned int y) {
    return {x, y};
}
__simt_callee__ inline uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) {
    return {x, y, z};
}
__simt_callee__ inline uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w) {
    return {x, y, z, w};
}
__simt_callee__ inline long2 make_long2(long x, long y) {
    return {x, y};
}
__simt_callee__ inline long3 make_long3(long x, long y, long z) {
    return {x, y, z};
}
__simt_callee__ inline long4 make_long4(long x, long y, long z, long w) {
    return {x, y, z, w};
}
__simt_callee__ inline ulong2 make_ulong2(unsigned long x, unsigned long y) {
    return {x, y};
}
__simt_callee__ inline ulong3 make_ulong3(unsigned long x, unsigned long y, unsigned long z) {
    return {x, y, z};
}
__simt_callee__ inline ulong4 make_ulong4(unsigned long x, unsigned long y, unsigned long z, unsigned long w) {
    return {x, y, z, w};
}
__simt_callee__ inline longlong2 make_longlong2(long long x, long long y) {
    return {x, y};
}
__simt_callee__ inline longlong3 make_longlong3(long long x, long long y, long long z) {
    return {x, y, z};
}
__simt_callee__ inline longlong4 make_longlong4(long long x, long long y, long long z, long long w) {
    return {x, y, z, w};
}
__simt_callee__ inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) {
    return {x, y};
}
__simt_callee__ inline ulonglong3 make_ulonglong3(unsigned long long x, unsigned long long y, unsigned long long z) {
    return {x, y, z};
}
__simt_callee__ inline ulonglong4 make_ulonglong4(unsigned long long x, unsigned long long y, unsigned long long z,
                                                  unsigned long long w) {
    return {x, y, z, w};
}
__simt_callee__ inline float2 make_float2(float x, float y) {
    return {x, y};
}
__simt_callee__ inline float3 make_float3(float x, float y, float z) {
    return {x, y, z};
}
__simt_callee__ inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}
