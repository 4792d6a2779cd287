// SPDX-License-Identifier: Apache-2.0
// The rules of the AscendC subset that the twin checks while a kernel runs: the one place of their names and texts.
// Layer: twin/runtime. docs/ascendc_subset.md has a row and a test for each; rules that the compiler checks are in
// twin/include/twin_detail/compile_rules.h. Words in brackets at a text's end say what the two numbers behind it are.
#pragma once

namespace ascend_deepep::twin {

struct Rule {
    const char* name;  // kebab-case, never changed: messages, tests and the page carry it
    const char* text;
};

namespace rules {

// Copies.
inline constexpr Rule kCopyWholeUnits{"copy-whole-units",
                                      "count copies move whole 32 B blocks; hardware would round down (bytes, unit)"};
inline constexpr Rule kCopyMaxUnits{"copy-max-units", "a count copy has at most 65535 blocks of 32 B"};
inline constexpr Rule kCopyBlockCount{"copy-block-count", "blockCount must be 1..4095"};
inline constexpr Rule kCopyBlockLength{"copy-block-length", "blockLen out of range, at least 1 (length, limit)"};
inline constexpr Rule kCopyWholeElements{"copy-whole-elements", "blockLen must be whole elements (bytes, element)"};
inline constexpr Rule kCopyUbStride{"copy-ub-stride", "a stride in UB is 0..65535 blocks of 32 B"};
inline constexpr Rule kCopyGmStride{"copy-gm-stride",
                                    "a stride in GM is 0..2^40-1 bytes, of a load also down to -blockLen"};
inline constexpr Rule kPadSize{"pad-size", "padding is at most 32 B a side (bytes)"};
inline constexpr Rule kPadValue{"pad-value", "64-bit elements can be padded with 0 only"};
inline constexpr Rule kUbAlignment{"ub-alignment", "UB address must be a multiple of 32 B (offset, unit)"};
inline constexpr Rule kGmAlignment{"gm-alignment", "GM address of a copy must be aligned to its element"};
inline constexpr Rule kUbRange{"ub-range", "UB range outside its buffer (end, buffer size)"};
inline constexpr Rule kGmTensorRange{"gm-tensor-range", "past the end of the GlobalTensor (elements)"};
inline constexpr Rule kTensorOffset{"tensor-offset", "offset past the tensor's end (elements)"};

// Vector instructions.
inline constexpr Rule kVectorCount{"vector-count", "count is negative"};
inline constexpr Rule kOperandOverlap{"operand-overlap",
                                      "operands coincide or lie apart; where Cast widens they lie apart (bytes)"};
inline constexpr Rule kCastTriple{
    "cast-triple", "illegal (dst, src, RoundMode): hardware skips it silently (mode, element sizes as dst*16+src)"};

// UB, TPipe and buffers.
inline constexpr Rule kUbBudget{"ub-budget", "UB overflow: buffers exceed what the launch gave (bytes)"};
inline constexpr Rule kUbLaunchSize{"ub-launch-size", "UB of a launch must leave 8 KB and a 32 KB DCache (bytes)"};
inline constexpr Rule kUbOverrun{"ub-overrun", "UB was written past the launch's UB size (offset, size)"};
inline constexpr Rule kOneTpipe{"one-tpipe", "a kernel has one TPipe"};
inline constexpr Rule kOneUbAllocator{"one-ub-allocator",
                                      "a kernel cuts UB by TPipe or by LocalTensors at addresses, never by both"};
inline constexpr Rule kTpipeLive{"tpipe-live", "no TPipe is live"};
inline constexpr Rule kTpipeBuffers{"tpipe-buffers", "buffers of a TPipe"};
inline constexpr Rule kBufferSize{"buffer-size", "a buffer of 0 bytes"};
inline constexpr Rule kBufferInitialised{"buffer-initialised",
                                         "not initialised, or before the last TPipe::Reset or Destroy"};

// Queues.
inline constexpr Rule kMutexIds{"mutex-ids", "queue buffers of a kernel: each takes one of the mutex ids 0..27"};
inline constexpr Rule kQueueBuffers{"queue-buffers", "a queue needs buffers"};
inline constexpr Rule kQueueAlloc{"queue-alloc",
                                  "all buffers of the queue are out: the kernel would hang (buffers out, buffers)"};
inline constexpr Rule kQueueEnque{"queue-enque", "tensor was not allocated, or is queued already (state)"};
inline constexpr Rule kQueueFull{"queue-full", "the queue is full (depth)"};
inline constexpr Rule kQueueEmpty{"queue-empty", "the queue is empty: the kernel would read garbage"};
inline constexpr Rule kQueueFree{"queue-free", "tensor is free or still queued (state)"};
inline constexpr Rule kQueueOwner{"queue-owner", "tensor does not belong to this queue"};
inline constexpr Rule kQueueLeft{"queue-left", "a queue's tensor was not freed (buffer)"};

// Events.
inline constexpr Rule kEventId{"event-id", "event id must be 0..7"};
inline constexpr Rule kEventSetTwice{"event-set-twice",
                                     "flag is set already: SetFlag twice without WaitFlag (event id)"};
inline constexpr Rule kEventNotSet{"event-not-set", "no SetFlag came before: the pipe would wait for ever (event id)"};
inline constexpr Rule kEventLeft{"event-left", "SetFlag without its WaitFlag (event id)"};
inline constexpr Rule kEventIdsReserved{"event-ids-reserved", "all 8 event ids are reserved"};

// Words of GM, the scalar unit.
inline constexpr Rule kGmOnly{"gm-only", "takes GM addresses only, this is UB (bytes)"};
inline constexpr Rule kWordAlignment{"word-alignment", "a word must be aligned to its size"};
inline constexpr Rule kGmKnownRange{
    "gm-known-range", "an access lies in a tensor of the call, a window or the workspace (bytes, known ranges)"};
inline constexpr Rule kWindowRange{"window-range", "an access stays inside the window (end, window size)"};
inline constexpr Rule kPeerWindow{
    "peer-window", "peers' windows are written by block copies only (offset from the own window, its size)"};
inline constexpr Rule kPollOutsideWait{"poll-outside-wait",
                                       "the same word is read over and over without giving way (reads)"};
inline constexpr Rule kCtrlRestored{"ctrl-restored", "CTRL at the kernel's end is not what it was at its start"};
inline constexpr Rule kScalarCodeOnly{"scalar-code-only", "is for scalar code only, this is a SIMT function"};

// SIMT functions.
inline constexpr Rule kSimtThreads{"simt-threads", "threads of a SIMT function: 1..2048"};
inline constexpr Rule kLaunchBounds{"launch-bounds", "threads of a SIMT function are within its __launch_bounds__"};
inline constexpr Rule kVfArgumentWords{"vf-argument-words",
                                       "arguments beyond 26 words of 32 bit go through a relay stack in UB"};
inline constexpr Rule kDivergentBarrier{"divergent-barrier",
                                        "divergent barrier: threads returned while others wait (returned)"};
inline constexpr Rule kDivergentCollective{"divergent-collective",
                                           "divergent warp collective: lanes of one warp are at different calls"};
inline constexpr Rule kShuffleWidth{"shuffle-width", "width must be a power of two up to 32"};
inline constexpr Rule kAtomicMemory{"atomic-memory", "64-bit atomics exist on GM only, this is UB (bytes)"};
inline constexpr Rule kSimtNeverWaits{"simt-never-waits", "SIMT functions never wait"};
inline constexpr Rule kSimtCodeOnly{"simt-code-only", "is for SIMT code only"};
inline constexpr Rule kSimtStack{"simt-stack", "a SIMT thread overran its stack (bytes)"};

// Launch.
inline constexpr Rule kLaunchCores{"launch-cores", "cores of a launch: 1..128"};
inline constexpr Rule kNestedLaunch{"nested-launch", "a kernel cannot launch a kernel"};
inline constexpr Rule kCoreStack{"core-stack", "the kernel overran its core's stack (bytes)"};

// Windows.
inline constexpr Rule kWindowOrNot{"window-or-not", "a load lies in windows or outside of them (pieces)"};
inline constexpr Rule kPutWholeBlocks{"put-whole-blocks",
                                      "a peer's window is written by whole 512 B blocks (offset and length beyond)"};
inline constexpr Rule kPutRegion{"put-region", "a put lies in one region that peers may write (offset, window size)"};
inline constexpr Rule kPutInside{"put-inside", "a copy stays inside one window (end, window size)"};
inline constexpr Rule kOwnWindowOnly{"own-window-only",
                                     "a kernel reads its own window only, and stays inside it (end, window size)"};

}  // namespace rules

}  // namespace ascend_deepep::twin
