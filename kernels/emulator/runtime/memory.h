// Guarded memory: each buffer and each threadgroup array lies in a slot of 4 GiB of address space of its own, so that
// any index of 32 bits stays in the slot, and the slot of an address is found by a shift.
#pragma once
#include <stdlib.h>

#include "findings.h"

namespace emulator {

// The last accesses to a cell of memory, for the race check.
struct Stamp {
  const void* code;
  uint32_t threadgroup, group_epoch, simdgroup_epoch;
  uint16_t thread;
  enum Kind : uint8_t { none, plain, atomic } kind;
};

struct Cell {
  Stamp written;
  Stamp read;                  // the last reader,
  Stamp read_by_simdgroup;     // the last before it in another simdgroup,
  Stamp read_by_lane;          // and the last before it in another lane of its simdgroup
};

struct Region {
  enum Kind : uint8_t { absent, input, output, threadgroup } kind;
  char name[64];
  uintptr_t low, high;
  uintptr_t origin;        // where the kernel's pointer points: above `low` where a stride is negative
  uintptr_t mapped;
  size_t mapped_bytes;
  size_t element_bytes;    // for messages
  size_t cell_bytes;       // the width of a cell below
  Cell* cells;             // null where nothing can race: inputs, and all of an unchecked launch
  uint8_t* covered;        // which elements an input's view has; null for all
  uint64_t bytes_read, bytes_written;
  bool initialised;        // an output that starts with a value
  int32_t number;          // of a threadgroup array in its kernel,
  uint32_t taken_by;       // and the number of the threadgroup that last took it

  Space space() const { return kind == threadgroup ? THREADGROUP : DEVICE; }
  const char* space_name() const {
    return kind == threadgroup ? "threadgroup array" : kind == input ? "input" : "output";
  }
  size_t bytes() const { return high - low; }
};

constexpr int SLOT_SHIFT = 32;
constexpr int BUFFER_SLOTS = 64, SLOTS = 128;  // buffers first, then threadgroup arrays
constexpr uintptr_t ARENA_BYTES = uintptr_t(SLOTS) << SLOT_SHIFT;
constexpr size_t MOST_BUFFER_BYTES = size_t(1) << 30;
// Each slot has its end somewhere else, so that an index that is wrong by a multiple of the size of a slot, as one that
// wrapped around at 32 bits, does not hit another buffer.
constexpr size_t SLOT_STEP = size_t(1) << 24;
inline Region regions[SLOTS];
inline uintptr_t arena = 0;

inline bool map_arena() {
  if (arena) return true;
  void* memory = mmap(nullptr, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) arena = reinterpret_cast<uintptr_t>(memory);
  return arena != 0;
}

inline bool in_arena(uintptr_t address) { return arena && address - arena < ARENA_BYTES; }
inline Region& region_of(uintptr_t address) { return regions[(address - arena) >> SLOT_SHIFT]; }

inline void free_slot(int slot) {
  Region& region = regions[slot];
  if (region.mapped_bytes) {
    // Mapping anew both frees the pages and makes the slot inaccessible.
    mmap(reinterpret_cast<void*>(region.mapped), region.mapped_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  free(region.cells);
  free(region.covered);
  region = Region{};
}

// Places a region so that its end touches the guard: an index beyond the end is the commonest mistake.
inline Region& place(int slot, size_t bytes, Region::Kind kind, const char* name, size_t element_bytes) {
  free_slot(slot);
  Region& region = regions[slot];
  uintptr_t end = arena + (uintptr_t(slot) << SLOT_SHIFT) + MOST_BUFFER_BYTES + slot * SLOT_STEP;
  region.kind = kind;
  region.low = end - ((bytes + 15) & ~size_t(15));
  region.high = region.low + bytes;
  region.origin = region.low;
  region.element_bytes = element_bytes;
  region.mapped = region.low & ~uintptr_t(page_bytes() - 1);
  region.mapped_bytes = end - region.mapped;
  snprintf(region.name, sizeof region.name, "%s", name);
  if (region.mapped_bytes)
    mprotect(reinterpret_cast<void*>(region.mapped), region.mapped_bytes, PROT_READ | PROT_WRITE);
  return region;
}

inline void make_cells(Region& region, size_t cell_bytes) {
  region.cell_bytes = cell_bytes;
  region.cells = static_cast<Cell*>(calloc(region.bytes() / cell_bytes + 1, sizeof(Cell)));
}

// Threads may rightly share a cell when they use memory in smaller pieces than its declared type: split the cells then.
inline void refine_cells(Region& region, size_t cell_bytes) {
  Cell* coarse = region.cells;
  size_t ratio = region.cell_bytes / cell_bytes;
  make_cells(region, cell_bytes);
  for (size_t cell = 0; cell < region.bytes() / cell_bytes; cell++) region.cells[cell] = coarse[cell / ratio];
  free(coarse);
}

}  // namespace emulator
