// <metal_math>, <metal_common>, <metal_integer>, <metal_relational> and <metal_geometric>, as far as kernels use them.
//
// A function of one element type takes arguments of that type alone: max(float, half) does not compile in Metal either.
#pragma once

#define OF_ONE(name) \
  float name(float); \
  half name(half); \
  bfloat name(bfloat); \
  template <typename T, int N> \
  vec<T, N> name(vec<T, N>);

#define OF_TWO(name) \
  float name(float, float); \
  half name(half, half); \
  bfloat name(bfloat, bfloat); \
  template <typename T, int N> \
  vec<T, N> name(vec<T, N>, vec<T, N>);

#define OF_THREE(name) \
  float name(float, float, float); \
  half name(half, half, half); \
  bfloat name(bfloat, bfloat, bfloat); \
  template <typename T, int N> \
  vec<T, N> name(vec<T, N>, vec<T, N>, vec<T, N>);

#define MATHS \
  OF_ONE(exp) OF_ONE(exp2) OF_ONE(exp10) OF_ONE(log) OF_ONE(log2) OF_ONE(log10) \
  OF_ONE(sqrt) OF_ONE(rsqrt) OF_ONE(floor) OF_ONE(ceil) OF_ONE(rint) OF_ONE(round) OF_ONE(trunc) OF_ONE(fabs) \
  OF_ONE(fract) OF_ONE(saturate) \
  OF_ONE(sin) OF_ONE(cos) OF_ONE(tan) OF_ONE(asin) OF_ONE(acos) OF_ONE(atan) \
  OF_ONE(sinh) OF_ONE(cosh) OF_ONE(tanh) OF_ONE(asinh) OF_ONE(acosh) OF_ONE(atanh) \
  OF_TWO(pow) OF_TWO(powr) OF_TWO(atan2) OF_TWO(fmod) OF_TWO(fmax) OF_TWO(fmin) OF_TWO(divide) OF_TWO(copysign) \
  OF_THREE(fma)

namespace metal {

MATHS
namespace fast {
MATHS
}
namespace precise {
MATHS
}

template <typename T>
constexpr T max(T, T);
template <typename T>
constexpr T min(T, T);
template <typename T>
constexpr T max3(T, T, T);
template <typename T>
constexpr T min3(T, T, T);
template <typename T>
constexpr T clamp(T, T, T);
template <typename T>
constexpr T abs(T);
template <typename T>
T sign(T);
template <typename T>
T mix(T, T, T);
template <typename T>
T popcount(T);
template <typename T>
T clz(T);
template <typename T>
T ctz(T);
template <typename T>
T mulhi(T, T);

template <typename T>
T select(T, T, bool);
template <typename T, typename Choice, int N>
vec<T, N> select(vec<T, N>, vec<T, N>, vec<Choice, N>);

bool isnan(float);
bool isinf(float);
bool isfinite(float);
template <typename T, int N>
bool all(vec<T, N>);
template <typename T, int N>
bool any(vec<T, N>);
template <typename T, int N>
T dot(vec<T, N>, vec<T, N>);
template <typename T, int N>
T length(vec<T, N>);

template <typename To, typename From>
constexpr To as_type(From) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs two types of one size");
  return To();
}

}  // namespace metal

#undef MATHS
#undef OF_ONE
#undef OF_TWO
#undef OF_THREE

using metal::as_type;
