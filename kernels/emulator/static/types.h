// Address spaces, scalars and vectors.
#pragma once

#define device __global
#define threadgroup __local
#define constant __constant
#define thread __private

#define METAL_FUNC inline
#define __METAL_VERSION__ 310
#define __METAL__ 1

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LN2_F 0.69314718055994530942f
#define M_PI_F 3.14159265358979323846f
#define M_SQRT2_F 1.41421356237309504880f

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef __bf16 bfloat;

// What MLX calls the two half types.
typedef half float16_t;
typedef bfloat bfloat16_t;

namespace metal {

template <typename T, int N>
using vec = T __attribute__((ext_vector_type(N)));

template <typename T>
struct vector_traits {
  typedef T element;
  static constexpr constant int size = 1;
};

template <typename T, int N>
struct vector_traits<T __attribute__((ext_vector_type(N)))> {
  typedef T element;
  static constexpr constant int size = N;
};

}  // namespace metal

// A vector of bool has elements of a byte: the language beneath has no vector of bool of its own.
#define VECTORS(name, element) \
  typedef metal::vec<element, 2> name##2; \
  typedef metal::vec<element, 3> name##3; \
  typedef metal::vec<element, 4> name##4;

VECTORS(bool, int8_t)
VECTORS(char, int8_t)
VECTORS(uchar, uint8_t)
VECTORS(short, int16_t)
VECTORS(ushort, uint16_t)
VECTORS(int, int32_t)
VECTORS(uint, uint32_t)
VECTORS(long, int64_t)
VECTORS(ulong, uint64_t)
VECTORS(half, half)
VECTORS(bfloat, bfloat)
VECTORS(float, float)
#undef VECTORS

// Written by the translation, for what this language writes otherwise.

// `float4(a, b, ...)` becomes made<float4>(a, b, ...).
template <typename Vector, typename... Parts>
constexpr Vector made(Parts... parts) {
  constexpr int given = (0 + ... + metal::vector_traits<Parts>::size);
  constexpr int wanted = metal::vector_traits<Vector>::size;
  static_assert(
      sizeof...(Parts) == 0 || given == wanted || (sizeof...(Parts) == 1 && given == 1),
      "a vector is made of one scalar, or of as many components as it has");
  return Vector();
}

// `threadgroup float tile[4];` becomes a reference to this.
template <typename Variable>
threadgroup Variable& threadgroup_variable();
