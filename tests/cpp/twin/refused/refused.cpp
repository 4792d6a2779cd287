// SPDX-License-Identifier: Apache-2.0
// Rules that the compiler checks. With VIOLATE=none every line compiles; with the name of a rule, one does not.
// Layer: tests. Only compiled, never run: refused.cmake makes a test of each rule.
#include <type_traits>

#include "kernel_operator.h"
#include "simt_api/asc_simt.h"

namespace ascend_deepep::twin_test {

enum class Rule {
    none,
    vf_arguments,
    launch_bound_range,
    barrier_pipe,
    ctrl_bits,
    word_types,
    atomic_types,
    hint_types,
    vector_types,
    queue_position,
    queue_depth,
    queue_config,
    padding_mode,
};

// The second alternative breaks the rule.
template <Rule rule, typename Good, typename Bad>
using Type = std::conditional_t<rule == Rule::VIOLATE, Bad, Good>;
template <Rule rule, typename T>
constexpr T value(T good, T bad) {
    return rule == Rule::VIOLATE ? bad : good;
}

struct Pair {
    uint32_t first;
    uint32_t second;
};
__simt_vf__ inline void takes(Type<Rule::vf_arguments, uint32_t, Pair>) {}

__simt_vf__ __launch_bounds__((value<Rule::launch_bound_range>(2048, 2049))) inline void bounded(uint32_t) {}

using Counter = Type<Rule::atomic_types, int64_t, long long>;
using Hinted = Type<Rule::hint_types, uint4, bool>;
__simt_vf__ inline void atomics_and_hints(__gm__ Counter* counter, __gm__ Hinted* hinted) {
    asc_atomic_add(counter, 1);
    asc_stcg(hinted, asc_ldcg(hinted));
}

void scalar_unit(__gm__ uint32_t* word, __gm__ Type<Rule::word_types, uint32_t, float>* bypass) {
    AscendC::ReadGmByPassDCache(bypass);
    AscendC::AtomicExch(word, 1u);
    AscendC::PipeBarrier<value<Rule::barrier_pipe>(PIPE_V, PIPE_S)>();
    constexpr int8_t kBit = value<Rule::ctrl_bits>(int8_t{60}, int8_t{61});
    AscendC::SetCtrlSpr<kBit, kBit>(1);
}

void simt(__gm__ Counter* counter, __gm__ Hinted* hinted) {
    asc_vf_call<takes>(dim3(1), Type<Rule::vf_arguments, uint32_t, Pair>{});
    asc_vf_call<bounded>(dim3(1), 1u);
    asc_vf_call<atomics_and_hints>(dim3(1), counter, hinted);
}

void queues(AscendC::TPipe& pipe) {
    using AscendC::TPosition;
    AscendC::TQue<value<Rule::queue_position>(TPosition::VECOUT, TPosition::VECCALC), 1> placed;
    AscendC::TQue<TPosition::VECIN, value<Rule::queue_depth>(1, 0)> deep;
    AscendC::TQue<TPosition::VECIN, 1, value<Rule::queue_config>(0, 1)> configured;
    pipe.InitBuffer(placed, 1, 32);
    pipe.InitBuffer(deep, 1, 32);
    pipe.InitBuffer(configured, 1, 32);
    deep.AllocTensor<int32_t>();
}

void copies_and_vectors(AscendC::GlobalTensor<int16_t> gm, AscendC::LocalTensor<int16_t> ub,
                        AscendC::LocalTensor<Type<Rule::vector_types, int16_t, uint16_t>> operand) {
    using AscendC::PaddingMode;
    constexpr PaddingMode kMode = value<Rule::padding_mode>(PaddingMode::Normal, PaddingMode::Compact);
    const AscendC::DataCopyExtParams shape{1, 32, 0, 0, 0};
    AscendC::DataCopyPad<int16_t, kMode>(ub, gm, shape, AscendC::DataCopyPadExtParams<int16_t>{});
    AscendC::Muls(operand, operand, {2}, 16);
}

}  // namespace ascend_deepep::twin_test
