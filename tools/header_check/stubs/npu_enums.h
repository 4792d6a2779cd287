// SPDX-License-Identifier: Apache-2.0
//
// Compiler enums and vector-register types. Values are arbitrary: only that names exist and differ matters.
// Layer: build. Own stand-ins.
#pragma once
enum pipe_t {
    PIPE_S = 0,
    PIPE_V,
    PIPE_M,
    PIPE_MTE1,
    PIPE_MTE2,
    PIPE_MTE3,
    PIPE_ALL,
    PIPE_MTE4,
    PIPE_MTE5,
    PIPE_V2,
    PIPE_FIX,
    PIPE_NUM
};
enum event_t { EVENT_ID0 = 0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
enum class ROUND { R, A, F, C, Z, O, H };
constexpr std::integral_constant<ROUND, ROUND::R> ROUND_R{};
constexpr std::integral_constant<ROUND, ROUND::A> ROUND_A{};
constexpr std::integral_constant<ROUND, ROUND::F> ROUND_F{};
constexpr std::integral_constant<ROUND, ROUND::C> ROUND_C{};
constexpr std::integral_constant<ROUND, ROUND::Z> ROUND_Z{};
constexpr std::integral_constant<ROUND, ROUND::O> ROUND_O{};
constexpr std::integral_constant<ROUND, ROUND::H> ROUND_H{};
enum class RoundingSaturation { RS_DISABLE_VALUE, RS_ENABLE_VALUE };
constexpr std::integral_constant<RoundingSaturation, RoundingSaturation::RS_DISABLE_VALUE> RS_DISABLE{};
constexpr std::integral_constant<RoundingSaturation, RoundingSaturation::RS_ENABLE_VALUE> RS_ENABLE{};
enum class Dist : int {};
enum class DistVST : int {};
enum class Part : int {};
enum class Part_T : int {};
enum class Pos : int {};
enum class Pat : int {};
enum class Spr : int {};
enum class Order : int {};
enum class Post : int { POST_UPDATE_VALUE = 1 };
enum class HiloPart : int { Lower, Higher };
enum class Mode : int { MODE_ZEROING_VALUE, MODE_MERGING_VALUE };
enum class Bin : int {};
enum class cache_line_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class dcci_dst_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class L1CacheType { NON_CACHEABLE, CACHEABLE };
enum class LD_L2CacheType { L2_CACHE_HINT_NORMAL_FV };
enum class ST_L2CacheType { L2_CACHE_HINT_NORMAL_FV };
enum mem_dsb_t : int { DSB_ALL, DSB_DDR, DSB_UB, DSB_SEQ };
enum mem_t : int { L0A, L0B, L0C };
enum pad_t : int { PAD_NONE = 0 };
enum atomic_type_t : int {};
enum atomic_op_t : int {};
enum QuantMode_t : int {
    NoQuant,
    F322F16,
    F322BF16,
    DEQF16,
    VDEQF16,
    DEQS16,
    VDEQS16,
    REQ8,
    VREQ8,
    REQ4,
    VREQ4,
    QF162B8_PRE,
    VQF162B8_PRE,
    QF162S16_PRE,
    VQF162S16_PRE,
    QF162S4_PRE,
    VQF162S4_PRE,
    QF322B8_PRE,
    VQF322B8_PRE,
    QF322BF16_PRE,
    VQF322BF16_PRE,
    QF322F16_PRE,
    VQF322F16_PRE,
    QF322F32_PRE,
    VQF322F32_PRE,
    QF322FP8_PRE,
    VQF322FP8_PRE,
    QF322HIF8_PRE,
    VQF322HIF8_PRE,
    QF322HIF8_PRE_HYBRID,
    VQF322HIF8_PRE_HYBRID,
    QS322BF16_PRE,
    VQS322BF16_PRE
};
enum class QuantMode_post : int { NoConv = 0 };
enum class StoreMode : int {};
// vector registers
#define ASCCHK_REG(n)   \
    struct n {          \
        uint8_t raw[1]; \
    }
ASCCHK_REG(vector_bool);
ASCCHK_REG(vector_align);
ASCCHK_REG(vector_address);
ASCCHK_REG(vector_s8);
ASCCHK_REG(vector_u8);
ASCCHK_REG(vector_s16);
ASCCHK_REG(vector_u16);
ASCCHK_REG(vector_s32);
ASCCHK_REG(vector_u32);
ASCCHK_REG(vector_s64);
ASCCHK_REG(vector_u64);
ASCCHK_REG(vector_f16);
ASCCHK_REG(vector_f32);
ASCCHK_REG(vector_bf16);
ASCCHK_REG(vector_s4x2);
ASCCHK_REG(vector_hif8);
ASCCHK_REG(vector_f8e8m0);
ASCCHK_REG(vector_f8e5m2);
ASCCHK_REG(vector_f8e4m3);
ASCCHK_REG(vector_f4e2m1x2);
ASCCHK_REG(vector_f4e1m2x2);
struct ub_addr8_t {
    int v;
    constexpr ub_addr8_t(int x = 0) : v(x) {}
};
enum Order_t : int {};
#define __VEC_SCOPE__
#define __in_pipe__(...)
#define __out_pipe__(...)
