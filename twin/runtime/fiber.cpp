// SPDX-License-Identifier: Apache-2.0
// The fiber switch for x86-64 (System V) and aarch64 (AAPCS64), and the sanitizer's bookkeeping around it.
// Layer: twin/runtime.
#include "twin/runtime/fiber.h"

#include <sys/mman.h>

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define ASCEND_DEEPEP_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASCEND_DEEPEP_ASAN 1
#endif
#endif
#if defined(ASCEND_DEEPEP_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" void ascend_deepep_fiber_switch(void** save_sp, void* load_sp);
extern "C" void ascend_deepep_fiber_start();

#if defined(__x86_64__)
asm(R"(
.text
.hidden ascend_deepep_fiber_switch
.globl ascend_deepep_fiber_switch
.type ascend_deepep_fiber_switch,@function
.p2align 4
ascend_deepep_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
.size ascend_deepep_fiber_switch,.-ascend_deepep_fiber_switch
.hidden ascend_deepep_fiber_start
.globl ascend_deepep_fiber_start
.type ascend_deepep_fiber_start,@function
.p2align 4
ascend_deepep_fiber_start:
    .cfi_startproc
    .cfi_undefined %rip
    movq %r13, %rdi
    pushq $0
    jmp *%r12
    .cfi_endproc
.size ascend_deepep_fiber_start,.-ascend_deepep_fiber_start
)");
#elif defined(__aarch64__)
asm(R"(
.text
.hidden ascend_deepep_fiber_switch
.globl ascend_deepep_fiber_switch
.type ascend_deepep_fiber_switch,%function
.p2align 4
ascend_deepep_fiber_switch:
    sub sp, sp, #0xa0
    stp d8,  d9,  [sp, #0x00]
    stp d10, d11, [sp, #0x10]
    stp d12, d13, [sp, #0x20]
    stp d14, d15, [sp, #0x30]
    stp x19, x20, [sp, #0x40]
    stp x21, x22, [sp, #0x50]
    stp x23, x24, [sp, #0x60]
    stp x25, x26, [sp, #0x70]
    stp x27, x28, [sp, #0x80]
    stp x29, x30, [sp, #0x90]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp d8,  d9,  [sp, #0x00]
    ldp d10, d11, [sp, #0x10]
    ldp d12, d13, [sp, #0x20]
    ldp d14, d15, [sp, #0x30]
    ldp x19, x20, [sp, #0x40]
    ldp x21, x22, [sp, #0x50]
    ldp x23, x24, [sp, #0x60]
    ldp x25, x26, [sp, #0x70]
    ldp x27, x28, [sp, #0x80]
    ldp x29, x30, [sp, #0x90]
    add sp, sp, #0xa0
    ret
.size ascend_deepep_fiber_switch,.-ascend_deepep_fiber_switch
.hidden ascend_deepep_fiber_start
.globl ascend_deepep_fiber_start
.type ascend_deepep_fiber_start,%function
.p2align 4
ascend_deepep_fiber_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x20
    mov x30, xzr
    br x19
    .cfi_endproc
.size ascend_deepep_fiber_start,.-ascend_deepep_fiber_start
)");
#else
#error "the twin's fibers know x86-64 and aarch64; add the switch of this architecture here"
#endif

namespace ascend_deepep::twin {

namespace {
constexpr uint64_t kCanary = 0x7f1be25ca9a47d35ULL;
}

void fiber_prepare(Fiber& fiber, void (*entry)(void*), void* arg, size_t top_offset) {
#if defined(ASCEND_DEEPEP_ASAN)
    // An abandoned fiber leaves its frames' red zones behind; the new frames must not trip over them.
    __asan_unpoison_memory_region(fiber.stack, fiber.stack_bytes);
    fiber.fake_stack = nullptr;
#endif
    auto top = (reinterpret_cast<uintptr_t>(fiber.stack) + fiber.stack_bytes - top_offset) & ~uintptr_t{15};
#if defined(__x86_64__)
    auto* slot = reinterpret_cast<void**>(top);
    *--slot = reinterpret_cast<void*>(ascend_deepep_fiber_start);
    *--slot = nullptr;                         // rbp
    *--slot = nullptr;                         // rbx
    *--slot = reinterpret_cast<void*>(entry);  // r12
    *--slot = arg;                             // r13
    *--slot = nullptr;                         // r14
    *--slot = nullptr;                         // r15
    fiber.sp = slot;
#else
    constexpr size_t kSavedWords = 20;
    auto* slot = reinterpret_cast<void**>(top) - kSavedWords;
    for (size_t i = 0; i < kSavedWords; ++i) {
        slot[i] = nullptr;
    }
    slot[8] = reinterpret_cast<void*>(entry);                       // x19
    slot[9] = arg;                                                  // x20
    slot[19] = reinterpret_cast<void*>(ascend_deepep_fiber_start);  // x30
    fiber.sp = slot;
#endif
}

void fiber_entered([[maybe_unused]] Fiber& from) {
#if defined(ASCEND_DEEPEP_ASAN)
    const void* bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (from.stack == nullptr) {
        from.stack = static_cast<char*>(const_cast<void*>(bottom));
        from.stack_bytes = bytes;
    }
#endif
}

void fiber_switch(Fiber& from, Fiber& to, [[maybe_unused]] bool from_ends) {
#if defined(ASCEND_DEEPEP_ASAN)
    __sanitizer_start_switch_fiber(from_ends ? nullptr : &from.fake_stack, to.stack, to.stack_bytes);
#endif
    ascend_deepep_fiber_switch(&from.sp, to.sp);
#if defined(ASCEND_DEEPEP_ASAN)
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

void fiber_set_canary(Fiber& fiber) {
    *reinterpret_cast<uint64_t*>(fiber.stack) = kCanary;
}

bool fiber_canary_intact(const Fiber& fiber) {
    return *reinterpret_cast<const uint64_t*>(fiber.stack) == kCanary;
}

char* map_pages(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::bad_alloc();
    }
    return static_cast<char*>(memory);
}

void unmap_pages(char* memory, size_t bytes) {
#if defined(ASCEND_DEEPEP_ASAN)
    __asan_unpoison_memory_region(memory, bytes);
#endif
    munmap(memory, bytes);
}

}  // namespace ascend_deepep::twin
