// How a launched kernel gets its arguments.
#pragma once
#include "abi.h"
#include "vectors.h"

namespace emulator {

// A buffer for a parameter that is a pointer, and for one that is a reference; the parameter says of what type.
struct PointerArgument {
  void* address;
  template <class T>
  operator T*() const {
    return static_cast<T*>(address);
  }
};
struct ReferenceArgument {
  void* address;
  template <class T>
  operator T&() const {
    return *static_cast<T*>(address);
  }
};

// An attribute of the thread, for a parameter of any integral type or, where it has three components, of any vector.
struct AttributeArgument {
  uint32_t values[3];
  EMULATOR_UNCHECKED AttributeArgument(uint32_t value) : values{value, 0, 0} {}
  EMULATOR_UNCHECKED AttributeArgument(const uint32_t (&three)[3]) : values{three[0], three[1], three[2]} {}
  template <class T, int N>
  operator metal::vec<T, N>() const {
    metal::vec<T, N> result;
    for (int i = 0; i < N; i++) result[i] = T(values[i]);
    return result;
  }
  template <class T, class = std::enable_if_t<std::is_integral<T>::value>>
  operator T() const {
    return T(values[0]);
  }
};

// The size of one number in an array of scalars, vectors or structures; it says how fine races are looked for.
template <class T>
struct scalar_bytes {
  static constexpr size_t value = sizeof(T);
};
template <class T, int N>
struct scalar_bytes<metal::vec<T, N>> {
  static constexpr size_t value = sizeof(T);
};

// What the translator makes of `threadgroup float tile[32]`: a reference to memory that all threads of the group share.
template <class Array>
EMULATOR_INLINE Array& threadgroup_array(int number, const char* name) {
  using Element = std::remove_all_extents_t<Array>;
  return *static_cast<Array*>(emulator_threadgroup_array(number, sizeof(Array), scalar_bytes<Element>::value, name));
}

}  // namespace emulator

#define EMULATOR_ENTRY extern "C" __attribute__((visibility("default"))) EMULATOR_UNCHECKED
