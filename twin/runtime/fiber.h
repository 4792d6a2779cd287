// SPDX-License-Identifier: Apache-2.0
// Cooperative fibers: one saved stack pointer and one switch of about 20 instructions per architecture.
// Layer: twin/runtime. Saves the callee-saved registers only: twin code must not change the rounding mode.
// Under AddressSanitizer every switch is announced and a (re)started stack is unpoisoned first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ascend_deepep::twin {

struct Fiber {
    void* sp = nullptr;     // valid while the fiber is not running
    char* stack = nullptr;  // lowest address of its stack
    size_t stack_bytes = 0;
    void* fake_stack = nullptr;  // AddressSanitizer's
};

// Prepares `fiber` to run entry(arg) at its next switch. top_offset lowers the top of the stack (cache colouring).
// entry must not return; it calls fiber_entered() first and leaves by a switch.
void fiber_prepare(Fiber& fiber, void (*entry)(void*), void* arg, size_t top_offset = 0);

// First call on a new fiber. Fills in the stack bounds of `from`, the fiber that switched here, where unknown.
void fiber_entered(Fiber& from);

// Saves the running context in `from` and continues `to`. `from_ends`: `from` will never be resumed.
void fiber_switch(Fiber& from, Fiber& to, bool from_ends = false);

// A word at the low end of a stack that a growing stack overwrites first.
void fiber_set_canary(Fiber& fiber);
bool fiber_canary_intact(const Fiber& fiber);

// An anonymous, lazily backed mapping, released by unmap_pages.
char* map_pages(size_t bytes);
void unmap_pages(char* memory, size_t bytes);

}  // namespace ascend_deepep::twin
