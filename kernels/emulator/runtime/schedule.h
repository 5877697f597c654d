// Runs a threadgroup: each simdgroup goes as far as it can before the next one starts. Taken forwards and backwards,
// these two extreme orders show what random ones seldom do.
#pragma once
#include "threadgroup_memory.h"

namespace emulator {

inline bool backwards = false;

inline bool same_call(const Call& one, const Call& other) {
  return one.meeting == other.meeting && one.line == other.line &&
         (one.name == other.name || !strcmp(one.name, other.name));
}

inline void describe(const Thread& thread, char* text, size_t room) {
  if (thread.state == State::exited) snprintf(text, room, "thread %u has ended", thread.index);
  else snprintf(text, room, "thread %u is at %s in line %d", thread.index, thread.call.name, thread.call.line);
}

// Threads that must meet in one place do not: says where the first is, and the first that is elsewhere.
inline void report_divergence(uint32_t first, uint32_t size) {
  const Thread* here = nullptr;
  for (uint32_t index = first; index < first + size && !here; index++)
    if (threads[index].state != State::exited) here = &threads[index];
  for (uint32_t index = first; index < first + size; index++) {
    const Thread& there = threads[index];
    if (there.state == here->state && same_call(there.call, here->call)) continue;
    char one[160], other[160];
    describe(*here, one, sizeof one);
    describe(there, other, sizeof other);
    report("divergence", at(here->call), "%s, while %s", one, other);
    break;
  }
  stopped = true;
}

inline void release(Thread& thread) {
  thread.state = State::ready;
  simdgroups[thread.simdgroup].ready++;
}

inline void count_meeting(Meeting meeting) {
  if (meeting == Meeting::simdgroup_barrier) counts.simdgroup_barriers++;
  else if (meeting == Meeting::matrix_multiply) counts.matrix_multiplies++;
  else if (meeting == Meeting::matrix_move) counts.matrix_moves++;
  else counts.simd_operations++;
}

// Ends a simd operation for which all lanes that still run are there; false if the simdgroup waits for something else.
inline bool complete_simd(Simdgroup& simdgroup) {
  uint32_t waiting = 0, exited = 0, active = 0;
  const Thread* first = nullptr;
  bool together = true;
  for (uint32_t index = simdgroup.first; index < simdgroup.first + simdgroup.size; index++) {
    const Thread& thread = threads[index];
    if (thread.state == State::exited) exited++;
    if (thread.state != State::in_simd) continue;
    waiting++;
    active |= 1u << thread.lane;
    if (!first) first = &thread;
    together = together && same_call(first->call, thread.call);
  }
  if (!waiting) return false;
  if (!together || waiting + exited != simdgroup.size) {
    report_divergence(simdgroup.first, simdgroup.size);
    return false;
  }
  const char* name = first->call.name;
  if (exited) report("simd", at(first->call), "%s while %u lanes of the simdgroup have ended", name, exited);
  count_meeting(first->call.meeting);
  for (int space = 0; space < SPACES; space++) simdgroup.epoch[space] += first->call.memory >> space & 1;
  simdgroup.exchanges++;
  for (uint32_t index = simdgroup.first; index < simdgroup.first + simdgroup.size; index++) {
    if (threads[index].state != State::in_simd) continue;
    threads[index].active_lanes = active;
    release(threads[index]);
  }
  return true;
}

// Ends a threadgroup barrier; false when all threads have ended.
inline bool complete_barrier() {
  uint32_t exited = 0;
  const Thread* first = nullptr;
  bool together = true;
  for (uint32_t index = 0; index < group.threads; index++) {
    const Thread& thread = threads[index];
    if (thread.state == State::exited) exited++;
    else if (!first) first = &thread;
    else together = together && same_call(first->call, thread.call);
  }
  if (exited == group.threads) return false;
  if (exited || !together) {
    report_divergence(0, group.threads);
    return false;
  }
  counts.threadgroup_barriers++;
  counts.threadgroup_barrier_calls += group.threads;
  for (int space = 0; space < SPACES; space++) group.epoch[space] += first->call.memory >> space & 1;
  for (uint32_t index = 0; index < group.threads; index++) release(threads[index]);
  return true;
}

inline Simdgroup* next_ready() {
  for (uint32_t step = 0; step < group.simdgroups; step++) {
    Simdgroup& simdgroup = simdgroups[backwards ? group.simdgroups - 1 - step : step];
    if (simdgroup.ready) return &simdgroup;
  }
  return nullptr;
}

inline void run_lanes(Simdgroup& simdgroup) {
  for (uint32_t step = 0; step < simdgroup.size && !stopped; step++) {
    Thread& thread = threads[simdgroup.first + (backwards ? simdgroup.size - 1 - step : step)];
    if (thread.state != State::ready) continue;
    current = &thread;
    switch_context(scheduler, thread.context);
    simdgroup.ready--;
  }
}

inline void run_threadgroup() {
  while (!stopped) {
    Simdgroup* simdgroup = next_ready();
    if (!simdgroup) {
      if (!complete_barrier()) return;
      continue;
    }
    run_lanes(*simdgroup);
    if (!stopped) complete_simd(*simdgroup);
  }
}

inline void wait_for(const Call& call) {
  current->call = call;
  current->state = call.meeting == Meeting::threadgroup_barrier ? State::at_barrier : State::in_simd;
  leave_to_scheduler();
}

}  // namespace emulator

EMULATOR_EXPORT void emulator_wait(const emulator::Call* call) { emulator::wait_for(*call); }

EMULATOR_EXPORT const void* emulator_exchange(const void* deposit, uint32_t bytes, const emulator::Call* call,
                                              uint32_t* active) {
  emulator::Thread& self = *emulator::current;
  emulator::Simdgroup& simdgroup = emulator::simdgroups[self.simdgroup];
  auto& deposits = simdgroup.deposits[simdgroup.exchanges & 1];
  memcpy(deposits[self.lane], deposit, bytes);
  emulator::wait_for(*call);
  *active = self.active_lanes;
  return deposits;
}

EMULATOR_EXPORT uint32_t emulator_lane() { return emulator::current->lane; }

EMULATOR_EXPORT void emulator_report(const char* kind, const char* message, const emulator::Call* call) {
  emulator::report(kind, emulator::at(*call), "%s %s", call->name, message);
}
