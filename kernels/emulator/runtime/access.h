// Every load and store of an instrumented kernel comes through `check_access`: bounds, races and uninitialised reads.
#pragma once
#include <initializer_list>

#include "memory.h"

namespace emulator {

struct Access {
  bool reads, writes, atomic;
};
constexpr Access READ{true, false, false}, WRITE{false, true, false};

// Whether nothing orders an earlier access before one that this thread makes now.
inline bool unordered(const Stamp& earlier, Space space, bool atomic) {
  if (earlier.kind == Stamp::none || (atomic && earlier.kind == Stamp::atomic)) return false;
  if (earlier.threadgroup != group.number) return space == DEVICE;  // threadgroups are never ordered
  if (earlier.group_epoch != group.epoch[space] || earlier.thread == current->index) return false;
  return earlier.thread / SIMD_WIDTH != current->simdgroup ||
         earlier.simdgroup_epoch == simdgroups[current->simdgroup].epoch[space];
}

inline Stamp stamp_now(Space space, Access access, const void* code) {
  return {code,
          group.number,
          group.epoch[space],
          simdgroups[current->simdgroup].epoch[space],
          uint16_t(current->index),
          access.atomic ? Stamp::atomic : Stamp::plain};
}

inline long element_at(const Region& region, uintptr_t address) {
  long offset = long(address - region.origin), width = long(region.element_bytes);
  return offset >= 0 ? offset / width : -((-offset + width - 1) / width);
}

__attribute__((noinline)) inline void report_race(const Region& region, uintptr_t address, Access access,
                                                  const Stamp& earlier, bool earlier_wrote, const void* code) {
  char other[64];
  if (earlier.threadgroup != group.number) snprintf(other, sizeof other, "a thread of another threadgroup");
  else snprintf(other, sizeof other, "thread %u", earlier.thread);
  report("race", at(code, earlier.code), "%s %s '%s' at index %ld, which %s %s with no barrier between that orders it",
         access.writes ? "writes" : "reads", region.space_name(), region.name, element_at(region, address), other,
         earlier_wrote ? "wrote" : "read");
}

__attribute__((noinline)) inline void report_uninitialised(const Region& region, uintptr_t address, const void* code) {
  report("uninitialised", at(code), "reads %s '%s' at index %ld, which was never written", region.space_name(),
         region.name, element_at(region, address));
}

inline void note_read(Cell& cell, const Stamp& now) {
  if (cell.read.kind != Stamp::none && cell.read.thread != now.thread) {
    bool same_simdgroup = cell.read.thread / SIMD_WIDTH == now.thread / SIMD_WIDTH;
    (same_simdgroup ? cell.read_by_lane : cell.read_by_simdgroup) = cell.read;
  }
  cell.read = now;
}

inline const Stamp* unordered_read(const Cell& cell, Space space, bool atomic) {
  for (const Stamp* earlier : {&cell.read, &cell.read_by_simdgroup, &cell.read_by_lane})
    if (unordered(*earlier, space, atomic)) return earlier;
  return nullptr;
}

inline bool was_written(const Region& region, const Cell& cell) {
  if (region.initialised) return true;
  return cell.written.kind != Stamp::none &&
         (region.kind != Region::threadgroup || cell.written.threadgroup == group.number);
}

inline void check_cell(Region& region, Cell& cell, uintptr_t address, Access access, const Stamp& now) {
  Space space = region.space();
  if (unordered(cell.written, space, access.atomic)) report_race(region, address, access, cell.written, true, now.code);
  if (access.reads && !was_written(region, cell)) report_uninitialised(region, address, now.code);
  if (!access.writes) return note_read(cell, now);
  if (const Stamp* earlier = unordered_read(cell, space, access.atomic))
    report_race(region, address, access, *earlier, false, now.code);
  cell.written = now;
}

inline void check_cells(Region& region, uintptr_t address, size_t bytes, Access access, const void* code) {
  if (bytes < region.cell_bytes) refine_cells(region, bytes == 2 ? 2 : 1);
  Stamp now = stamp_now(region.space(), access, code);
  size_t last = (address - region.low + bytes - 1) / region.cell_bytes;
  for (size_t cell = (address - region.low) / region.cell_bytes; cell <= last; cell++)
    check_cell(region, region.cells[cell], region.low + cell * region.cell_bytes, access, now);
}

inline void check_covered(const Region& region, uintptr_t address, size_t bytes, const void* code) {
  size_t last = (address - region.low + bytes - 1) / region.element_bytes;
  for (size_t element = (address - region.low) / region.element_bytes; element <= last; element++)
    if (!region.covered[element])
      report("out of bounds", at(code), "reads input '%s' at index %ld, which its strided view leaves out", region.name,
             element_at(region, region.low + element * region.element_bytes));
}

[[noreturn]] __attribute__((noinline)) inline void refuse(uintptr_t address, size_t bytes, bool write,
                                                          const void* code) {
  const char* verb = write ? "writes" : "reads";
  uintptr_t all_stacks = STACK_BYTES * MOST_THREADS, own = stack_of(current->index);
  if (in_arena(address)) {
    const Region& region = region_of(address);
    if (region.kind == Region::absent)
      report("out of bounds", at(code), "%s %zu bytes far outside every buffer", verb, bytes);
    else
      report("out of bounds", at(code), "%s %zu bytes of %s '%s' at index %ld, which has %zu elements", verb, bytes,
             region.space_name(), region.name, element_at(region, address), region.bytes() / region.element_bytes);
  } else if (address < own && own - address < all_stacks) {
    report_stack(code);
  } else if (address - stacks < all_stacks) {
    report("out of bounds", at(code), "%s private memory of thread %zu", verb, (address - stacks) / STACK_BYTES);
  } else if (address < 4096) {
    report("out of bounds", at(code), "%s through a null pointer, as that of a buffer that is not bound", verb);
  } else {
    report("out of bounds", at(code), "%s %zu bytes at a wild address", verb, bytes);
  }
  abandon_launch();
}

// The time is over, or Ctrl-C was pressed.
[[noreturn]] __attribute__((noinline)) inline void give_up(const void* code) {
  if (timed_out) report_timeout(at(code));
  abandon_launch();
}

inline void count(Region& region, size_t bytes, Access access) {
  if (access.reads) region.bytes_read += bytes;
  if (access.writes) region.bytes_written += bytes;
}

inline void check_access(uintptr_t address, size_t bytes, Access access, const void* code) {
  Thread* self = current;
  if (stopped) give_up(code);
  if (address - stack_of(self->index) < STACK_BYTES) return;
  if (!in_arena(address)) {
    bool constant_table = !access.writes && address - library_low < library_high - library_low;
    if (!constant_table) refuse(address, bytes, access.writes, code);
    return;
  }
  Region& region = region_of(address);
  if (region.kind == Region::absent || address < region.low || address + bytes > region.high)
    refuse(address, bytes, access.writes, code);
  if (region.kind == Region::input && access.writes) {
    report("read-only", at(code), "writes input '%s' at index %ld", region.name, element_at(region, address));
    abandon_launch();
  }
  count(region, bytes, access);
  if (region.cells) check_cells(region, address, bytes, access, code);
  if (region.covered) check_covered(region, address, bytes, code);
}

}  // namespace emulator
