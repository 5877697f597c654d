// The kernels are compiled with -fsanitize=thread,bounds,... but linked with no sanitiser: the compiler's calls come
// here.
#pragma once
#include "access.h"

#define EMULATOR_EXPORT extern "C" __attribute__((visibility("default")))
#define EMULATOR_CALLER __builtin_return_address(0)

using emulator::READ, emulator::WRITE;

#define EMULATOR_ACCESS_CALLBACKS(BYTES)                                       \
  EMULATOR_EXPORT void __tsan_read##BYTES(void* address) {                     \
    emulator::check_access(uintptr_t(address), BYTES, READ, EMULATOR_CALLER);  \
  }                                                                            \
  EMULATOR_EXPORT void __tsan_write##BYTES(void* address) {                    \
    emulator::check_access(uintptr_t(address), BYTES, WRITE, EMULATOR_CALLER); \
  }                                                                            \
  EMULATOR_EXPORT void __tsan_unaligned_read##BYTES(void* address) {           \
    emulator::check_access(uintptr_t(address), BYTES, READ, EMULATOR_CALLER);  \
  }                                                                            \
  EMULATOR_EXPORT void __tsan_unaligned_write##BYTES(void* address) {          \
    emulator::check_access(uintptr_t(address), BYTES, WRITE, EMULATOR_CALLER); \
  }

EMULATOR_ACCESS_CALLBACKS(1)
EMULATOR_ACCESS_CALLBACKS(2)
EMULATOR_ACCESS_CALLBACKS(4)
EMULATOR_ACCESS_CALLBACKS(8)
EMULATOR_ACCESS_CALLBACKS(16)

EMULATOR_EXPORT void __tsan_init() {}
EMULATOR_EXPORT void __tsan_func_entry(void*) {}
EMULATOR_EXPORT void __tsan_func_exit() {}

EMULATOR_EXPORT void __tsan_read_range(void* address, size_t bytes) {
  if (bytes) emulator::check_access(uintptr_t(address), bytes, READ, EMULATOR_CALLER);
}
EMULATOR_EXPORT void __tsan_write_range(void* address, size_t bytes) {
  if (bytes) emulator::check_access(uintptr_t(address), bytes, WRITE, EMULATOR_CALLER);
}
EMULATOR_EXPORT void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  if (bytes) emulator::check_access(uintptr_t(from), bytes, READ, EMULATOR_CALLER);
  if (bytes) emulator::check_access(uintptr_t(to), bytes, WRITE, EMULATOR_CALLER);
  return memcpy(to, from, bytes);
}
EMULATOR_EXPORT void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  if (bytes) emulator::check_access(uintptr_t(from), bytes, READ, EMULATOR_CALLER);
  if (bytes) emulator::check_access(uintptr_t(to), bytes, WRITE, EMULATOR_CALLER);
  return memmove(to, from, bytes);
}
EMULATOR_EXPORT void* __tsan_memset(void* to, int value, size_t bytes) {
  if (bytes) emulator::check_access(uintptr_t(to), bytes, WRITE, EMULATOR_CALLER);
  return memset(to, value, bytes);
}
EMULATOR_EXPORT void emulator_atomic(const void* address, uint32_t bytes, bool reads, bool writes) {
  emulator::check_access(uintptr_t(address), bytes, {reads, writes, true}, EMULATOR_CALLER);
}

EMULATOR_EXPORT void emulator_refuse_component(int32_t index, int32_t width) {
  emulator::report("out of bounds", emulator::at(EMULATOR_CALLER), "index %d of a vector of %d components", index,
                   width);
  emulator::abandon_launch();
}

// What the compilers hand to the handlers of undefined behaviour: the layouts of compiler-rt's ubsan_handlers.h, which
// GCC shares.
namespace emulator {

struct SourceLocation {
  const char* file;
  uint32_t line, column;
};
struct TypeDescriptor {
  uint16_t kind, info;
  char name[1];
};
struct OutOfBoundsData {
  SourceLocation location;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};
struct TypeMismatchData {
  SourceLocation location;
  const TypeDescriptor* type;
  uint8_t log_alignment, check;
};

inline void report_undefined(const void* data, const char* what, const void* code) {
  const SourceLocation& location = *static_cast<const SourceLocation*>(data);
  report("undefined", {location.file, int32_t(location.line), code}, "%s", what);
}

}  // namespace emulator

EMULATOR_EXPORT void __ubsan_handle_out_of_bounds(void* data, uintptr_t index) {
  const auto& place = *static_cast<const emulator::OutOfBoundsData*>(data);
  emulator::report("out of bounds", {place.location.file, int32_t(place.location.line), EMULATOR_CALLER},
                   "index %ld of an array of type %s", long(int32_t(index)), place.array->name);
  emulator::abandon_launch();
}
EMULATOR_EXPORT void __ubsan_handle_type_mismatch_v1(void* data, uintptr_t address) {
  const auto& place = *static_cast<const emulator::TypeMismatchData*>(data);
  if (!address) emulator::refuse(address, 1, false, EMULATOR_CALLER);
  emulator::report("misaligned", {place.location.file, int32_t(place.location.line), EMULATOR_CALLER},
                   "an access of type %s needs an address that is a multiple of %u bytes", place.type->name,
                   1u << place.log_alignment);
}

#define EMULATOR_UNDEFINED_1(NAME, WHAT)                              \
  EMULATOR_EXPORT void __ubsan_handle_##NAME(void* data, uintptr_t) { \
    emulator::report_undefined(data, WHAT, EMULATOR_CALLER);          \
  }
#define EMULATOR_UNDEFINED_2(NAME, WHAT)                                         \
  EMULATOR_EXPORT void __ubsan_handle_##NAME(void* data, uintptr_t, uintptr_t) { \
    emulator::report_undefined(data, WHAT, EMULATOR_CALLER);                     \
  }
EMULATOR_UNDEFINED_1(negate_overflow, "a negation overflows")
EMULATOR_UNDEFINED_2(add_overflow, "a signed addition overflows")
EMULATOR_UNDEFINED_2(sub_overflow, "a signed subtraction overflows")
EMULATOR_UNDEFINED_2(mul_overflow, "a signed multiplication overflows")
EMULATOR_UNDEFINED_2(shift_out_of_bounds, "a shift by a negative amount, or by the width of the type or more")

EMULATOR_EXPORT void __ubsan_handle_divrem_overflow(void* data, uintptr_t, uintptr_t) {
  emulator::report_undefined(data, "an integer division by zero, or one that overflows", EMULATOR_CALLER);
  emulator::abandon_launch();  // the processor would trap
}
EMULATOR_EXPORT void __ubsan_handle_missing_return(void* data) {
  emulator::report_undefined(data, "a function that gives a value ends without one", EMULATOR_CALLER);
  emulator::abandon_launch();
}
