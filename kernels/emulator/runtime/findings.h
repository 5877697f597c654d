// What is found wrong during a launch. Nothing here allocates: a finding can be made inside a signal handler.
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "threadgroup.h"

namespace emulator {

struct Finding {
  char kind[24];
  char message[400];
  const char* file;  // the place as the compiler told it, or null where only a code address is known
  int32_t line;
  uint64_t code;   // offsets into the kernel's library, 0 where unknown
  uint64_t other;  // the other access of a race
};

constexpr uint32_t MOST_FINDINGS = 64;
inline Finding findings[MOST_FINDINGS];
inline uint32_t finding_count = 0;
inline uintptr_t library_low = 0, library_high = 0;  // where the kernel's library lies in memory

// Where something happened: either in the words of the compiler or as a code address.
struct Site {
  const char* file = nullptr;
  int32_t line = 0;
  const void* code = nullptr;
  const void* other = nullptr;
};

inline Site at(const void* code, const void* other = nullptr) { return {nullptr, 0, code, other}; }
inline Site at(const Call& call) { return {call.file, call.line, nullptr, nullptr}; }

inline uint64_t library_offset(const void* code) {
  uintptr_t address = reinterpret_cast<uintptr_t>(code);
  return address - library_low < library_high - library_low ? address - library_low : 0;
}

inline bool known(const char* kind, const Site& site) {
  for (uint32_t index = 0; index < finding_count; index++) {
    const Finding& finding = findings[index];
    bool same_place = finding.code == library_offset(site.code) && finding.line == site.line;
    if (same_place && !strcmp(finding.kind, kind)) return true;
  }
  return false;
}

inline void add_thread(char* message, size_t room) {
  if (!current) return;
  const uint32_t* position = current->attributes.threadgroup_position_in_grid;
  size_t used = strlen(message);
  snprintf(message + used, room - used, ", by thread %u (simdgroup %u, lane %u) of threadgroup (%u, %u, %u)",
           current->index, current->simdgroup, current->lane, position[0], position[1], position[2]);
}

// One finding for each kind and place: a wrong line is usually wrong in every thread.
__attribute__((format(printf, 3, 4))) inline void report(const char* kind, const Site& site, const char* format, ...) {
  if (known(kind, site) || finding_count == MOST_FINDINGS) return;
  Finding& finding = findings[finding_count++];
  snprintf(finding.kind, sizeof finding.kind, "%s", kind);
  va_list values;
  va_start(values, format);
  vsnprintf(finding.message, sizeof finding.message, format, values);
  va_end(values);
  add_thread(finding.message, sizeof finding.message);
  finding.file = site.file;
  finding.line = site.line;
  finding.code = library_offset(site.code);
  finding.other = library_offset(site.other);
}

inline void report_timeout(const Site& site) {
  report("timeout", site, "the kernel did not end in time; is there an endless loop?");
}

inline void report_stack(const void* code) {
  report("stack", at(code), "the private memory of a thread comes to more than %zu bytes", STACK_BYTES - page_bytes());
}

}  // namespace emulator
