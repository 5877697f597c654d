// Where a kernel's library lies in memory: code addresses are told relative to it, and its constant tables may be read.
#pragma once
#include <dlfcn.h>

#include "findings.h"
#if defined(__APPLE__)
#include <mach-o/getsect.h>
#include <mach-o/loader.h>
#else
#include <link.h>
#endif

namespace emulator {

#if defined(__APPLE__)

inline void find_library(const void* code) {
  Dl_info info;
  library_low = library_high = 0;
  if (!dladdr(code, &info)) return;
  auto header = static_cast<const mach_header_64*>(info.dli_fbase);
  library_low = library_high = reinterpret_cast<uintptr_t>(header);
  for (const char* segment : {"__TEXT", "__DATA_CONST", "__DATA"}) {
    unsigned long bytes = 0;
    if (const uint8_t* low = getsegmentdata(header, segment, &bytes))
      library_high = library_high > uintptr_t(low) + bytes ? library_high : uintptr_t(low) + bytes;
  }
}

#else

inline int match_library(dl_phdr_info* info, size_t, void* code) {
  uintptr_t low = info->dlpi_addr, high = low;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    const auto& header = info->dlpi_phdr[index];
    uintptr_t end = info->dlpi_addr + header.p_vaddr + header.p_memsz;
    if (header.p_type == PT_LOAD && end > high) high = end;
  }
  if (uintptr_t(code) - low >= high - low) return 0;
  library_low = low;
  library_high = high;
  return 1;
}

inline void find_library(const void* code) {
  library_low = library_high = 0;
  dl_iterate_phdr(match_library, const_cast<void*>(code));
}

#endif

}  // namespace emulator
