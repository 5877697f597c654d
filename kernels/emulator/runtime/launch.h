// Launches a kernel over its grid.
#pragma once
#include "library.h"
#include "schedule.h"
#include "signals.h"

namespace emulator {

struct Launch {
  uint32_t grid[3], threadgroup[3];
  uint32_t buffers;  // how many of the slots are the kernel's arguments, in order
  uint32_t checked, backwards, milliseconds;
};

inline Entry entry;
inline void* arguments[BUFFER_SLOTS];

inline void thread_main() {
  entry(arguments, &current->attributes);
  current->state = State::exited;
  for (;;) leave_to_scheduler();
}

struct Extent {
  uint32_t grid[3], full[3], groups[3];  // threads in all, threads of a whole threadgroup, threadgroups
};

inline Extent extent_of(const Launch& launch) {
  Extent extent;
  for (int axis = 0; axis < 3; axis++) {
    uint32_t threads = launch.grid[axis], width = launch.threadgroup[axis];
    extent.grid[axis] = threads;
    extent.full[axis] = width < threads ? width : threads;
    extent.groups[axis] = threads ? (threads + extent.full[axis] - 1) / extent.full[axis] : 0;
  }
  return extent;
}

inline void unravel(uint32_t index, const uint32_t* shape, uint32_t* position) {
  position[0] = index % shape[0];
  position[1] = index / shape[0] % shape[1];
  position[2] = index / shape[0] / shape[1];
}

inline uint32_t product(const uint32_t* sizes) { return sizes[0] * sizes[1] * sizes[2]; }
inline uint32_t divide_up(uint32_t number, uint32_t width) { return (number + width - 1) / width; }

// The attributes that all threads of a threadgroup share. Groups at the ragged edge are smaller, as with
// dispatchThreads.
inline Attributes attributes_of_group(const Extent& extent, const uint32_t* position) {
  Attributes shared = {};
  for (int axis = 0; axis < 3; axis++) {
    uint32_t left = extent.grid[axis] - position[axis] * extent.full[axis];
    shared.threadgroup_position_in_grid[axis] = position[axis];
    shared.threads_per_threadgroup[axis] = left < extent.full[axis] ? left : extent.full[axis];
    shared.dispatch_threads_per_threadgroup[axis] = extent.full[axis];
    shared.threadgroups_per_grid[axis] = extent.groups[axis];
    shared.threads_per_grid[axis] = shared.grid_size[axis] = extent.grid[axis];
  }
  uint32_t size = product(shared.threads_per_threadgroup), full = product(extent.full);
  shared.simdgroups_per_threadgroup = divide_up(size, SIMD_WIDTH);
  shared.dispatch_simdgroups_per_threadgroup = divide_up(full, SIMD_WIDTH);
  shared.quadgroups_per_threadgroup = divide_up(size, 4);
  shared.dispatch_quadgroups_per_threadgroup = divide_up(full, 4);
  shared.threads_per_simdgroup = shared.thread_execution_width = SIMD_WIDTH;
  return shared;
}

inline void start_thread(uint32_t index, const Attributes& shared) {
  Thread& thread = threads[index];
  thread.index = index;
  thread.lane = index % SIMD_WIDTH;
  thread.simdgroup = index / SIMD_WIDTH;
  thread.state = State::ready;
  thread.call = Call{};
  Attributes& own = thread.attributes = shared;
  unravel(index, own.threads_per_threadgroup, own.thread_position_in_threadgroup);
  for (int axis = 0; axis < 3; axis++)
    own.thread_position_in_grid[axis] = own.threadgroup_position_in_grid[axis] *
            own.dispatch_threads_per_threadgroup[axis] + own.thread_position_in_threadgroup[axis];
  own.thread_index_in_threadgroup = index;
  own.thread_index_in_simdgroup = thread.lane;
  own.simdgroup_index_in_threadgroup = thread.simdgroup;
  own.thread_index_in_quadgroup = index % 4;
  own.quadgroup_index_in_threadgroup = index / 4;
  // Tops a few cache lines apart, for the sake of the cache as well.
  uintptr_t low = stack_of(index);
  prepare(thread.context, low + page_bytes(), low + STACK_BYTES - index % 16 * 256, thread_main);
}

inline void start_threadgroup(const Extent& extent, uint32_t index) {
  uint32_t position[3];
  unravel(index, extent.groups, position);
  Attributes shared = attributes_of_group(extent, position);
  group.number++;
  group.threads = product(shared.threads_per_threadgroup);
  group.simdgroups = shared.simdgroups_per_threadgroup;
  group.epoch[DEVICE] = group.epoch[THREADGROUP] = 0;
  group.memory_bytes = 0;
  for (uint32_t number = 0; number < group.simdgroups; number++) {
    Simdgroup& simdgroup = simdgroups[number];
    simdgroup.first = number * SIMD_WIDTH;
    uint32_t left = group.threads - simdgroup.first;
    simdgroup.size = simdgroup.ready = left < SIMD_WIDTH ? left : SIMD_WIDTH;
    simdgroup.epoch[DEVICE] = simdgroup.epoch[THREADGROUP] = simdgroup.exchanges = 0;
  }
  for (uint32_t thread = 0; thread < group.threads; thread++) start_thread(thread, shared);
  counts.threadgroups++;
  counts.threads += group.threads;
}

// No object with a destructor may live in here: a fault jumps back over it.
inline void run_grid(const Extent& extent) {
  if (sigsetjmp(launch_start, 1)) return;
  uint32_t total = product(extent.groups);
  for (uint32_t index = 0; index < total && !stopped; index++) {
    start_threadgroup(extent, backwards ? total - 1 - index : index);
    run_threadgroup();
  }
}

// An endless loop with a barrier or a simd operation in it is mostly stopped in the scheduler.
inline void report_timeout_where_threads_wait() {
  if (finding_count) return;
  for (uint32_t index = 0; index < group.threads; index++) {
    const Thread& thread = threads[index];
    if (thread.state != State::exited && thread.call.line) return report_timeout(at(thread.call));
  }
  report_timeout({});
}

inline void reset(const Launch& launch) {
  finding_count = 0;
  counts = Counts{};
  group = Threadgroup{};
  stopped = false;
  timed_out = false;
  interrupted = 0;
  checked = launch.checked;
  backwards = launch.backwards;
  for (int slot = BUFFER_SLOTS; slot < SLOTS; slot++) free_slot(slot);
  for (int slot = 0; slot < BUFFER_SLOTS; slot++)
    arguments[slot] = regions[slot].kind == Region::absent ? nullptr : reinterpret_cast<void*>(regions[slot].origin);
}

// Elements of outputs that no thread wrote; looked for only where nothing else is wrong, as that would explain them.
inline void report_unwritten(const Region& region) {
  if (region.kind != Region::output || !region.cells || region.initialised) return;
  size_t missing = 0, first = 0, cells = region.bytes() / region.cell_bytes;
  for (size_t cell = cells; cell-- > 0;)
    if (region.cells[cell].written.kind == Stamp::none) missing++, first = cell;
  if (!missing) return;
  size_t width = region.element_bytes / region.cell_bytes ? region.element_bytes / region.cell_bytes : 1;
  report("unwritten", {}, "%zu of %zu elements of output '%s' were never written, the first at index %zu",
         (missing + width - 1) / width, cells / width, region.name, first / width);
}

}  // namespace emulator

// Prepares memory for a launch; false when the system gives none.
EMULATOR_EXPORT bool emulator_prepare() { return emulator::map_arena() && emulator::map_stacks(); }

// Places argument `slot` in guarded memory and gives its address. An output without a first value starts as NaN.
EMULATOR_EXPORT void* emulator_place(int slot, size_t bytes, size_t element_bytes, const char* name, bool output,
                                     bool initialised, bool checked) {
  using namespace emulator;
  Region& region = place(slot, bytes, output ? Region::output : Region::input, name, element_bytes);
  region.initialised = initialised;
  if (output && checked) make_cells(region, cell_bytes_of(element_bytes));
  return reinterpret_cast<void*>(region.low);
}

// Lets the kernel's pointer to argument `slot` point `bytes` behind its beginning.
EMULATOR_EXPORT void emulator_shift(int slot, size_t bytes) {
  emulator::regions[slot].origin = emulator::regions[slot].low + bytes;
}

// A map with a byte an element, for the caller to mark the elements that the view of input `slot` has.
EMULATOR_EXPORT uint8_t* emulator_cover(int slot) {
  emulator::Region& region = emulator::regions[slot];
  region.covered = static_cast<uint8_t*>(calloc(region.bytes() / region.element_bytes + 1, 1));
  return region.covered;
}

EMULATOR_EXPORT void emulator_protect(int slot) {
  emulator::Region& region = emulator::regions[slot];
  if (region.mapped_bytes) mprotect(reinterpret_cast<void*>(region.mapped), region.mapped_bytes, PROT_READ);
}

EMULATOR_EXPORT void emulator_free(int slot) { emulator::free_slot(slot); }

// Runs the kernel; gives whether Ctrl-C ended it.
EMULATOR_EXPORT bool emulator_launch(emulator::Entry kernel, const emulator::Launch* launch) {
  using namespace emulator;
  reset(*launch);
  entry = kernel;
  find_library(reinterpret_cast<const void*>(kernel));
  {
    Signals signals;
    Watchdog watchdog(launch->milliseconds);
    run_grid(extent_of(*launch));
  }
  current = nullptr;
  if (timed_out) report_timeout_where_threads_wait();
  for (uint32_t slot = 0; slot < launch->buffers && !stopped && !finding_count; slot++) report_unwritten(regions[slot]);
  return interrupted;
}

EMULATOR_EXPORT uint32_t emulator_finding_count() { return emulator::finding_count; }
EMULATOR_EXPORT const emulator::Finding* emulator_findings() { return emulator::findings; }
EMULATOR_EXPORT const emulator::Counts* emulator_counts() { return &emulator::counts; }
EMULATOR_EXPORT int emulator_slots() { return emulator::SLOTS; }

struct Traffic {
  const char* name;
  uint64_t bytes_read, bytes_written;
};
// What went to and from a slot; the name is null for one that is not in use.
EMULATOR_EXPORT Traffic emulator_traffic(int slot) {
  const emulator::Region& region = emulator::regions[slot];
  return {region.kind == emulator::Region::absent ? nullptr : region.name, region.bytes_read, region.bytes_written};
}
