// What a compiled kernel and the runtime say to each other. Both sides include this file; nothing else is shared.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace emulator {

constexpr uint32_t SIMD_WIDTH = 32;
constexpr uint32_t DEPOSIT_BYTES = 64;  // what one lane can hand to the others in one simd operation

// The attributes that a kernel's parameters can ask for, under Metal's names.
struct Attributes {
  uint32_t thread_position_in_grid[3], thread_position_in_threadgroup[3], threadgroup_position_in_grid[3];
  uint32_t threads_per_grid[3], grid_size[3], grid_origin[3], threadgroups_per_grid[3];
  uint32_t threads_per_threadgroup[3], dispatch_threads_per_threadgroup[3];
  uint32_t thread_index_in_threadgroup, thread_index_in_simdgroup, thread_index_in_quadgroup;
  uint32_t simdgroup_index_in_threadgroup, quadgroup_index_in_threadgroup;
  uint32_t simdgroups_per_threadgroup, dispatch_simdgroups_per_threadgroup;
  uint32_t quadgroups_per_threadgroup, dispatch_quadgroups_per_threadgroup;
  uint32_t threads_per_simdgroup, thread_execution_width;
};

// Why threads wait for each other.
enum class Meeting : uint32_t { threadgroup_barrier, simdgroup_barrier, simd_operation, matrix_multiply, matrix_move };

// Where in the kernel's text a meeting is called.
struct Call {
  Meeting meeting;
  const char* name;
  const char* file;
  int32_t line;
  uint32_t memory;  // the bits of metal::mem_flags
};

using Entry = void (*)(void** buffers, const Attributes* attributes);

}  // namespace emulator

extern "C" {
// Waits until all threads of the threadgroup or of the simdgroup are there.
void emulator_wait(const emulator::Call* call);
// Hands `bytes` to the other lanes of the simdgroup; gives the deposits of all 32 lanes and which of them are there.
const void* emulator_exchange(const void* deposit, uint32_t bytes, const emulator::Call* call, uint32_t* active);
// The memory of a threadgroup array, which all threads of the group share.
void* emulator_threadgroup_array(int32_t number, size_t bytes, size_t element_bytes, const char* name);
// Checks an atomic access before it is made.
void emulator_atomic(const void* address, uint32_t bytes, bool reads, bool writes);
// Ends the launch, as a vector of `width` components has none of that index.
void emulator_refuse_component(int32_t index, int32_t width);
void emulator_report(const char* kind, const char* message, const emulator::Call* call);
uint32_t emulator_lane();
}
