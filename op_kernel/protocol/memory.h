// SPDX-License-Identifier: Apache-2.0
//
// Scalar access to GM that does not pass the data cache, and typed views of regions. Layer: protocol.
// The only way scalar code of these kernels reads or writes GM words (flags, counters, tables, device registers).
#ifndef ASCEND_DEEPEP_PROTOCOL_MEMORY_H
#define ASCEND_DEEPEP_PROTOCOL_MEMORY_H

#include "contract/block.h"
#include "kernel_operator.h"

namespace ascend_deepep::kernel {

template <typename T>
__aicore__ inline T load(__gm__ T* address) {
    return AscendC::ReadGmByPassDCache<T>(address);
}

template <typename T>
__aicore__ inline void store(__gm__ T* address, T value) {
    AscendC::WriteGmByPassDCache<T>(address, value);
}

// Scalar stores of this core before it are in GM before scalar stores and atomics behind it.
__aicore__ inline void store_barrier() {
    AscendC::DataSyncBarrier<AscendC::MemDsbT::DDR>();
}

// Structures travel as 64-bit words: device code can neither load nor store a whole structure in GM.
template <typename T>
__aicore__ inline void load_struct(T* to, GM_ADDR from) {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0, "whole words");
    uint64_t* words = reinterpret_cast<uint64_t*>(to);
    for (uint32_t i = 0; i < sizeof(T) / sizeof(uint64_t); ++i) {
        words[i] = load((__gm__ uint64_t*)from + i);
    }
}

template <typename T>
__aicore__ inline void store_struct(GM_ADDR to, const T& from) {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0, "whole words");
    const uint64_t* words = reinterpret_cast<const uint64_t*>(&from);
    for (uint32_t i = 0; i < sizeof(T) / sizeof(uint64_t); ++i) {
        store((__gm__ uint64_t*)to + i, words[i]);
    }
}

template <typename T>
__aicore__ inline AscendC::GlobalTensor<T> gm_tensor(GM_ADDR address) {
    AscendC::GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer((__gm__ T*)address);
    return tensor;
}

template <typename T>
__aicore__ inline __ubuf__ T* ub_pointer(const AscendC::LocalTensor<T>& tensor) {
    return (__ubuf__ T*)tensor.GetPhyAddr();
}

// One pipe waits for what another has been given so far. Pairs at once, so the event id is free again afterwards.
template <AscendC::HardEvent event>
__aicore__ inline void sync() {
    const int32_t id = static_cast<int32_t>(GetTPipePtr()->FetchEventID(event));
    AscendC::SetFlag<event>(id);
    AscendC::WaitFlag<event>(id);
}

// Bytes from GM to UB: any length, any GM alignment.
__aicore__ inline void copy_in(const AscendC::LocalTensor<uint8_t>& to, GM_ADDR from, uint32_t bytes) {
    const AscendC::DataCopyExtParams shape{1, bytes, 0, 0, 0};
    const AscendC::DataCopyPadExtParams<uint8_t> no_pad{false, 0, 0, 0};
    AscendC::DataCopyPad(to, gm_tensor<uint8_t>(from), shape, no_pad);
}

// Bytes from UB to GM: any length, any GM alignment.
__aicore__ inline void copy_out(GM_ADDR to, const AscendC::LocalTensor<uint8_t>& from, uint32_t bytes) {
    const AscendC::DataCopyExtParams shape{1, bytes, 0, 0, 0};
    AscendC::DataCopyPad(gm_tensor<uint8_t>(to), from, shape);
}

}  // namespace ascend_deepep::kernel

#endif  // ASCEND_DEEPEP_PROTOCOL_MEMORY_H
