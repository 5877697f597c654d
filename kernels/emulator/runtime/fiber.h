// Fibers: each thread of a threadgroup is one, so that it can stop at a barrier in the middle of the kernel.
// The switch saves what the calling convention asks for and no signal mask, which makes it a hundred times faster than
// swapcontext; other processors than the two below fall back on that.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace emulator {

#if defined(__APPLE__)
#define EMULATOR_SYMBOL "_emulator_switch"
#define EMULATOR_HIDDEN ".private_extern "
#else
#define EMULATOR_SYMBOL "emulator_switch"
#define EMULATOR_HIDDEN ".hidden "
#endif
#define EMULATOR_FUNCTION \
  ".text\n.globl " EMULATOR_SYMBOL "\n" EMULATOR_HIDDEN EMULATOR_SYMBOL "\n.p2align 4\n" EMULATOR_SYMBOL ":\n"

#if defined(__x86_64__)

struct Context {
  void** stack;
};
extern "C" void emulator_switch(void*** from, void** to);
asm(EMULATOR_FUNCTION R"(
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
    ret
)");

inline void prepare(Context& context, uintptr_t, uintptr_t top, void (*main)()) {
  void** stack = reinterpret_cast<void**>(top & ~uintptr_t(15));
  *--stack = nullptr;  // the return address of main, which never returns; it also aligns the stack as after a call
  *--stack = reinterpret_cast<void*>(main);
  for (int saved = 0; saved < 6; saved++) *--stack = nullptr;
  context.stack = stack;
}

inline void switch_context(Context& from, Context& to) { emulator_switch(&from.stack, to.stack); }

#elif defined(__aarch64__)

struct Context {
  void** stack;
};
extern "C" void emulator_switch(void*** from, void** to);
asm(EMULATOR_FUNCTION R"(
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");

inline void prepare(Context& context, uintptr_t, uintptr_t top, void (*main)()) {
  void** stack = reinterpret_cast<void**>(top & ~uintptr_t(15)) - 20;
  for (int saved = 0; saved < 20; saved++) stack[saved] = nullptr;
  stack[11] = reinterpret_cast<void*>(main);  // x30, where the first switch returns to
  context.stack = stack;
}

inline void switch_context(Context& from, Context& to) { emulator_switch(&from.stack, to.stack); }

#else

struct Context {
  ucontext_t context;
};

inline void prepare(Context& context, uintptr_t low, uintptr_t top, void (*main)()) {
  getcontext(&context.context);
  context.context.uc_stack.ss_sp = reinterpret_cast<void*>(low);
  context.context.uc_stack.ss_size = top - low;
  context.context.uc_link = nullptr;
  makecontext(&context.context, main, 0);
}

inline void switch_context(Context& from, Context& to) { swapcontext(&from.context, &to.context); }

#endif

// The stacks of all threads lie in one mapping. An odd number of pages keeps the same local variable of neighbouring
// threads out of the same cache set; the lowest page of each stack is a guard.
constexpr uint32_t MOST_THREADS = 1024;
constexpr size_t STACK_BYTES = 7 * 16384;
inline uintptr_t stacks = 0;

inline size_t page_bytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

inline uintptr_t stack_of(uint32_t thread) { return stacks + thread * STACK_BYTES; }

inline bool map_stacks() {
  if (stacks) return true;
  void* memory = mmap(nullptr, STACK_BYTES * MOST_THREADS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (memory == MAP_FAILED) return false;
  stacks = reinterpret_cast<uintptr_t>(memory);
  for (uint32_t thread = 0; thread < MOST_THREADS; thread++)
    mprotect(reinterpret_cast<void*>(stack_of(thread)), page_bytes(), PROT_NONE);
  return true;
}

}  // namespace emulator
