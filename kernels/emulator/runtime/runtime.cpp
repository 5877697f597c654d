// The runtime of the emulator in one translation unit, so that the check of an access is inlined into its callbacks.
//
//   fiber.h              a thread of a threadgroup as a fiber
//   threadgroup.h        the threadgroup that is running
//   findings.h           what is found wrong
//   memory.h             guarded memory
//   access.h             the check of each load and store
//   instrumentation.h    what the compiler's instrumentation calls
//   threadgroup_memory.h threadgroup arrays
//   schedule.h           barriers, simd operations, and who runs next
//   library.h            where the kernel's code lies
//   signals.h            faults, time limit, Ctrl-C
//   launch.h             the grid, and what Python calls
#include "launch.h"
