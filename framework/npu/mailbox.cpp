// SPDX-License-Identifier: Apache-2.0
//
// Reading letters. Layer: framework, devices.
#include "framework/npu/mailbox.h"

#include <array>
#include <atomic>
#include <cstring>

#include "op_host/messages.h"
#include "op_host/tiling.h"

namespace ascend_deepep::npu {
namespace {

constexpr double kCyclesPerSecond = 1e3 * op_host::kCyclesPerMs;
constexpr int kReadings = 8;

template <typename T>
T field(const uint8_t* bytes, size_t offset) {
    T value;
    std::memcpy(&value, bytes + offset, sizeof(T));
    return value;
}

}  // namespace

uint64_t peek_sequence(const uint8_t* bytes) {
    return __atomic_load_n(reinterpret_cast<const uint64_t*>(bytes + offsetof(ControlPage, state.sequence)),
                           __ATOMIC_ACQUIRE);
}

Letter read_letter(const uint8_t* bytes) {
    const auto state = field<OperationState>(bytes, offsetof(ControlPage, state));
    return {state.sequence, state.is_broken != 0, field<uint64_t>(bytes, offsetof(ControlPage, abort_word)),
            field<OperationOutcome>(bytes, offsetof(ControlPage, outcome)),
            field<ErrorRecord>(bytes, offsetof(ControlPage, record))};
}

bool read_moving_letter(const uint8_t* bytes, Letter* letter) {
    std::array<uint8_t, kLetterBytes> now{}, again{};
    for (int reading = 0; reading < kReadings; ++reading) {
        std::memcpy(now.data(), bytes, kLetterBytes);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        std::memcpy(again.data(), bytes, kLetterBytes);
        *letter = read_letter(now.data());
        const bool is_closed = letter->next_sequence == letter->outcome.sequence + 1;
        if (now == again && (is_closed || letter->next_sequence == 0)) return true;
    }
    return false;
}

op_host::Status failure_in(const Letter& letter, uint32_t rank, uint32_t timeout_ms) {
    op_host::Status status;
    if (letter.abort_word == 0 && !letter.is_broken) return status;
    status.record = letter.record;
    if (status.record.code == Code::kOk) {  // the abort word came from a host, or its record is still being written
        status.record.code = letter.abort_word == 0 ? letter.outcome.code : static_cast<Code>(letter.abort_word >> 32);
        status.record.root = letter.abort_word == 0 ? rank : static_cast<uint32_t>(letter.abort_word) - 1;
        status.record.sequence = letter.next_sequence;
    }
    status.record.rank = rank;
    status.seconds = static_cast<double>(status.record.elapsed_cycles) / kCyclesPerSecond;
    status.message = op_host::describe(status.record, rank, status.seconds, timeout_ms / 1000.0);
    return status;
}

}  // namespace ascend_deepep::npu
