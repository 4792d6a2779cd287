// SPDX-License-Identifier: Apache-2.0
// The device compiler's short vectors: .x .y .z .w, size equals alignment, three elements take the room of four.
// Layer: twin/include.
#pragma once

#include "twin_detail/float16.h"

struct alignas(2 * sizeof(signed char)) char2 {
    signed char x, y;
};
struct alignas(4 * sizeof(signed char)) char3 {
    signed char x, y, z;
};
struct alignas(4 * sizeof(signed char)) char4 {
    signed char x, y, z, w;
};
struct alignas(2 * sizeof(unsigned char)) uchar2 {
    unsigned char x, y;
};
struct alignas(4 * sizeof(unsigned char)) uchar3 {
    unsigned char x, y, z;
};
struct alignas(4 * sizeof(unsigned char)) uchar4 {
    unsigned char x, y, z, w;
};
struct alignas(2 * sizeof(short)) short2 {
    short x, y;
};
struct alignas(4 * sizeof(short)) short3 {
    short x, y, z;
};
struct alignas(4 * sizeof(short)) short4 {
    short x, y, z, w;
};
struct alignas(2 * sizeof(unsigned short)) ushort2 {
    unsigned short x, y;
};
struct alignas(4 * sizeof(unsigned short)) ushort3 {
    unsigned short x, y, z;
};
struct alignas(4 * sizeof(unsigned short)) ushort4 {
    unsigned short x, y, z, w;
};
struct alignas(2 * sizeof(int)) int2 {
    int x, y;
};
struct alignas(4 * sizeof(int)) int3 {
    int x, y, z;
};
struct alignas(4 * sizeof(int)) int4 {
    int x, y, z, w;
};
struct alignas(2 * sizeof(unsigned int)) uint2 {
    unsigned int x, y;
};
struct alignas(4 * sizeof(unsigned int)) uint3 {
    unsigned int x, y, z;
};
struct alignas(4 * sizeof(unsigned int)) uint4 {
    unsigned int x, y, z, w;
};
struct alignas(2 * sizeof(long)) long2 {
    long x, y;
};
struct alignas(4 * sizeof(long)) long3 {
    long x, y, z;
};
struct alignas(4 * sizeof(long)) long4 {
    long x, y, z, w;
};
struct alignas(2 * sizeof(unsigned long)) ulong2 {
    unsigned long x, y;
};
struct alignas(4 * sizeof(unsigned long)) ulong3 {
    unsigned long x, y, z;
};
struct alignas(4 * sizeof(unsigned long)) ulong4 {
    unsigned long x, y, z, w;
};
struct alignas(2 * sizeof(long long)) longlong2 {
    long long x, y;
};
struct alignas(4 * sizeof(long long)) longlong3 {
    long long x, y, z;
};
struct alignas(4 * sizeof(long long)) longlong4 {
    long long x, y, z, w;
};
struct alignas(2 * sizeof(unsigned long long)) ulonglong2 {
    unsigned long long x, y;
};
struct alignas(4 * sizeof(unsigned long long)) ulonglong3 {
    unsigned long long x, y, z;
};
struct alignas(4 * sizeof(unsigned long long)) ulonglong4 {
    unsigned long long x, y, z, w;
};
struct alignas(2 * sizeof(float)) float2 {
    float x, y;
};
struct alignas(4 * sizeof(float)) float3 {
    float x, y, z;
};
struct alignas(4 * sizeof(float)) float4 {
    float x, y, z, w;
};
struct alignas(4) half2 {
    half x, y;
};
struct alignas(4) bfloat16x2_t {
    bfloat16_t x, y;
};
