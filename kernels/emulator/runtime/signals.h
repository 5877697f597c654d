// What ends a launch from outside: a fault in guarded memory, the time limit, and Ctrl-C.
#pragma once
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "access.h"
#if !defined(__APPLE__)
#include <ucontext.h>
#endif

namespace emulator {

inline sigjmp_buf launch_start;
inline pthread_t launcher;
inline volatile sig_atomic_t launching = 0, interrupted = 0;

constexpr int CAUGHT[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGINT};
constexpr int CAUGHT_COUNT = sizeof CAUGHT / sizeof *CAUGHT;
inline struct sigaction before[CAUGHT_COUNT];

inline const void* interrupted_code(void* context) {
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__APPLE__) && defined(__aarch64__)
  return reinterpret_cast<const void*>(machine->__ss.__pc);
#elif defined(__APPLE__)
  return reinterpret_cast<const void*>(machine->__ss.__rip);
#elif defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.pc);
#else
  (void)machine;
  return nullptr;
#endif
}

inline void report_fault_in_arena(uintptr_t address, const void* code) {
  const Region& region = region_of(address);
  long element = region.kind == Region::absent ? 0 : element_at(region, address);
  if (address >= region.low && address < region.high) {
    report("read-only", at(code), "writes input '%s' at index %ld", region.name, element);
  } else if (region.kind == Region::absent) {
    report("out of bounds", at(code), "an access far outside every buffer");
  } else {
    report("out of bounds", at(code), "an access of %s '%s' at index %ld, which has %zu elements", region.space_name(),
           region.name, element, region.bytes() / region.element_bytes);
  }
}

inline void report_fault(int signal, uintptr_t address, const void* code) {
  if (signal == SIGFPE) report("undefined", at(code), "an integer division by zero, or one that overflows");
  else if (in_arena(address)) report_fault_in_arena(address, code);
  else if (address - stack_of(current->index) < page_bytes()) report_stack(code);
  else report("out of bounds", at(code), "an access at a wild address");
}

// Gives a signal that is not about this launch to whoever was there before.
inline void pass_on(int signal, siginfo_t* info, void* context) {
  int index = 0;
  while (CAUGHT[index] != signal) index++;
  const struct sigaction& action = before[index];
  if (action.sa_flags & SA_SIGINFO) action.sa_sigaction(signal, info, context);
  else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) action.sa_handler(signal);
  else if (action.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);  // it comes again, and ends the process
}

// Another thread has got the signal: Ctrl-C is for the one that is busy in a kernel.
inline void on_signal_elsewhere(int signal, siginfo_t* info, void* context) {
  if (signal == SIGINT && launching) pthread_kill(launcher, SIGINT);
  else if (signal != SIGALRM || !launching) pass_on(signal, info, context);
}

// A launch that is to end is asked to at first: the next access, barrier or simd operation looks at `stopped`, and
// knows its line. The watchdog signals again until the launch has ended; then it is left from wherever the kernel's own
// code is, but from nowhere else, as malloc may be at work there.
inline void on_signal(int signal, siginfo_t* info, void* context) {
  bool ours = launching && pthread_equal(pthread_self(), launcher);
  if (!ours) return on_signal_elsewhere(signal, info, context);
  const void* code = static_cast<const char*>(interrupted_code(context)) + 1;  // as if it had been called from there
  bool request = signal == SIGALRM || signal == SIGINT;
  bool asked = stopped;
  if (signal == SIGINT) interrupted = 1;
  if (request) stopped = true;
  if (request && !(asked && current && library_offset(code))) return;
  if (!request && !current) return pass_on(signal, info, context);
  if (!request) report_fault(signal, uintptr_t(info->si_addr), code);
  else if (timed_out) report_timeout({current->call.file, current->call.line, code});
  stopped = true;
  siglongjmp(launch_start, 1);
}

class Signals {
 public:
  Signals() {
    launcher = pthread_self();
    stack_t alternative = {};
    alternative.ss_sp = memory;
    alternative.ss_size = sizeof memory;
    sigaltstack(&alternative, &old_stack);  // a fiber that has run out of stack has no room for a handler
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int index = 0; index < CAUGHT_COUNT; index++) sigaction(CAUGHT[index], &action, &before[index]);
    launching = 1;
  }
  ~Signals() {
    launching = 0;
    for (int index = 0; index < CAUGHT_COUNT; index++) sigaction(CAUGHT[index], &before[index], nullptr);
    sigaltstack(&old_stack, nullptr);
  }

 private:
  static inline char memory[65536];
  stack_t old_stack;
};

// Signals the launching thread when its time is over, and again until it has noticed.
class Watchdog {
 public:
  explicit Watchdog(uint32_t milliseconds) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);  // so that the new thread is never the one that handles Ctrl-C
    deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    watcher = std::thread([this] { watch(); });
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }
  ~Watchdog() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      over = true;
    }
    changed.notify_one();
    watcher.join();
  }

 private:
  void watch() {
    std::unique_lock<std::mutex> lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(10), [this] { return over; })) {
      if (std::chrono::steady_clock::now() > deadline) timed_out = true;
      if (timed_out || interrupted) pthread_kill(launcher, SIGALRM);
    }
  }

  std::chrono::steady_clock::time_point deadline;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread watcher;
};

}  // namespace emulator
