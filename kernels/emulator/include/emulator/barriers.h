// Barriers, with the memory that each of them orders.
#pragma once
#include "abi.h"
#include "types.h"

namespace metal {

enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }

EMULATOR_UNCHECKED inline void threadgroup_barrier(mem_flags flags, EMULATOR_SITE) {
  emulator::Call call{emulator::Meeting::threadgroup_barrier, "threadgroup_barrier", file, line, uint(flags)};
  emulator_wait(&call);
}
EMULATOR_UNCHECKED inline void simdgroup_barrier(mem_flags flags, EMULATOR_SITE) {
  emulator::Call call{emulator::Meeting::simdgroup_barrier, "simdgroup_barrier", file, line, uint(flags)};
  emulator_wait(&call);
}

}  // namespace metal
