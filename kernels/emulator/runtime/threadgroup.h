// The threadgroup that is running: its threads, its simdgroups, and how far memory has been ordered between them.
// One threadgroup runs at a time, on one thread of the processor, so all of this is plain global state.
#pragma once
#include "../include/emulator/abi.h"
#include "fiber.h"

namespace emulator {

enum class State : uint8_t { ready, in_simd, at_barrier, exited };
enum Space : uint8_t { DEVICE, THREADGROUP, SPACES };  // bit i of metal::mem_flags orders space i

struct Thread {
  Context context;
  uint32_t index, lane, simdgroup;
  State state;
  Call call;                // where it waits
  const uint8_t* deposits;  // what the simd operation that it waited for has gathered
  uint32_t active_lanes;
  Attributes attributes;
};

struct Simdgroup {
  uint32_t first, size, ready;
  uint32_t epoch[SPACES];  // how many simdgroup barriers have ordered each space
  uint32_t exchanges;
  // Two sets: a lane may reach the next operation before another has read the results of this one.
  uint8_t deposits[2][SIMD_WIDTH][DEPOSIT_BYTES];
};

struct Threadgroup {
  uint32_t number;  // counts the threadgroups of a launch from 1
  uint32_t threads, simdgroups;
  uint32_t epoch[SPACES];  // how many threadgroup barriers have ordered each space
  uint32_t memory_bytes;
};

struct Counts {
  uint64_t threadgroups, threads;
  uint64_t threadgroup_barriers, threadgroup_barrier_calls, simdgroup_barriers;
  uint64_t simd_operations, matrix_multiplies, matrix_moves;
  uint64_t threadgroup_bytes;
};

inline Thread threads[MOST_THREADS];
inline Simdgroup simdgroups[MOST_THREADS / SIMD_WIDTH];
inline Threadgroup group;
inline Counts counts;
inline Thread* volatile current = nullptr;  // the thread that runs now; null inside the scheduler
inline Context scheduler;
inline volatile bool stopped = false;    // the launch is over, whatever the threads are at,
inline volatile bool timed_out = false;  // as it took too long

inline void leave_to_scheduler() {
  Thread* self = current;
  current = nullptr;
  switch_context(self->context, scheduler);
}

// Ends the launch from inside a thread.
[[noreturn]] inline void abandon_launch() {
  stopped = true;
  current->state = State::exited;
  for (;;) leave_to_scheduler();
}

}  // namespace emulator
