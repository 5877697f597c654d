// What MLX puts before the text of every kernel of mx.fast.metal_kernel, as far as such kernels use it.
#pragma once
#pragma GCC system_header
#include "complex.h"
#include "metal.h"

using namespace metal;

using float16_t = half;
using bfloat16_t = bfloat;

template <class T>
struct Limits {
  static constexpr T max = metal::numeric_limits<T>::max(), min = metal::numeric_limits<T>::lowest();
  static constexpr T finite_max = max, finite_min = min;
};
#define EMULATOR_MLX_LIMITS(T)                                                                                        \
  template <>                                                                                                         \
  struct Limits<T> {                                                                                                  \
    static constexpr T max = metal::numeric_limits<T>::infinity(), min = -metal::numeric_limits<T>::infinity();       \
    static constexpr T finite_max = metal::numeric_limits<T>::max(), finite_min = metal::numeric_limits<T>::lowest(); \
  };
EMULATOR_MLX_LIMITS(float)
EMULATOR_MLX_LIMITS(half)
EMULATOR_MLX_LIMITS(bfloat)

template <class T>
constexpr T ceildiv(T number, T width) {
  return (number + width - 1) / width;
}

// Where the element with a row-major index lies in a strided array.
template <class Index = long>
Index elem_to_loc(Index element, const int* shape, const int64_t* strides, int ndim) {
  Index location = 0;
  for (int axis = ndim - 1; axis >= 0 && element > 0; axis--) {
    location += Index(element % shape[axis]) * Index(strides[axis]);
    element /= shape[axis];
  }
  return location;
}
template <class Index = long>
Index elem_to_loc(uint3 element, const int* shape, const int64_t* strides, int ndim) {
  Index location = Index(element.x) * Index(strides[ndim - 1]) + Index(element.y) * Index(strides[ndim - 2]);
  for (int axis = ndim - 3; axis >= 0; axis--) {
    location += Index(element.z % shape[axis]) * Index(strides[axis]);
    element.z /= shape[axis];
  }
  return location;
}
template <class Index = long>
Index elem_to_loc_1(uint element, const int64_t& stride) {
  return element * Index(stride);
}
template <class Index = long>
Index elem_to_loc_2(uint2 element, const int64_t* strides) {
  return element.x * Index(strides[1]) + element.y * Index(strides[0]);
}
template <class Index = long>
Index elem_to_loc_3(uint3 element, const int64_t* strides) {
  return element.x * Index(strides[2]) + element.y * Index(strides[1]) + element.z * Index(strides[0]);
}
