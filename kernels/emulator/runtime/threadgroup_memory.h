// Threadgroup arrays: the first thread of a threadgroup that comes to a declaration takes the memory for all.
#pragma once
#include "instrumentation.h"

namespace emulator {

constexpr uint32_t MOST_THREADGROUP_BYTES = 32768;
inline bool checked = true;

// The slot of the declaration with this number in the kernel, or the next free one; SLOTS when none is left.
inline int slot_of_array(int32_t number) {
  int slot = BUFFER_SLOTS;
  while (slot < SLOTS && regions[slot].kind != Region::absent && regions[slot].number != number) slot++;
  return slot;
}

// Cells as wide as a scalar: two threads may write the two halves of a float2.
inline size_t cell_bytes_of(size_t element_bytes) {
  return element_bytes == 1 || element_bytes == 2 ? element_bytes : 4;
}

inline void take_for_group(Region& region, const void* code) {
  region.taken_by = group.number;
  group.memory_bytes += uint32_t(region.bytes() + 15) & ~15u;
  if (group.memory_bytes > counts.threadgroup_bytes) counts.threadgroup_bytes = group.memory_bytes;
  if (group.memory_bytes > MOST_THREADGROUP_BYTES) {
    report("limit", at(code), "threadgroup memory comes to %u bytes with '%s', and a threadgroup has at most %u",
           group.memory_bytes, region.name, MOST_THREADGROUP_BYTES);
    abandon_launch();
  }
  memset(reinterpret_cast<void*>(region.low), 0xff, region.bytes());  // NaN in every floating type
}

inline void* threadgroup_array(int32_t number, size_t bytes, size_t element_bytes, const char* name, const void* code) {
  int slot = slot_of_array(number);
  if (slot == SLOTS) {
    report("limit", at(code), "more than %d threadgroup arrays", SLOTS - BUFFER_SLOTS);
    abandon_launch();
  }
  Region& region = regions[slot];
  if (region.kind == Region::absent) {
    place(slot, bytes, Region::threadgroup, name, element_bytes);
    region.number = number;
    if (checked) make_cells(region, cell_bytes_of(element_bytes));
  }
  if (region.taken_by != group.number) take_for_group(region, code);
  return reinterpret_cast<void*>(region.low);
}

}  // namespace emulator

EMULATOR_EXPORT void* emulator_threadgroup_array(int32_t number, size_t bytes, size_t element_bytes, const char* name) {
  return emulator::threadgroup_array(number, bytes, element_bytes, name, EMULATOR_CALLER);
}
