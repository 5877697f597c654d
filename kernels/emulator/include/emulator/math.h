// The functions of metal_math, metal_common, metal_integer, metal_relational and metal_geometric that compute kernels
// use. Floating functions are overloads for each type, as in Metal, so that `pow(float, half)` stays ambiguous; `max`
// and its like take two values of one type. A half or bfloat result is that of the float function, rounded once.
#pragma once
#include "limits.h"
#include "vectors.h"

namespace metal {

#define EMULATOR_FUNCTION_1(NAME, FORMULA)                   \
  inline float NAME(float x) { return FORMULA; }             \
  inline half NAME(half value) {                             \
    float x = value;                                         \
    return half(FORMULA);                                    \
  }                                                          \
  inline bfloat NAME(bfloat value) {                         \
    float x = value;                                         \
    return bfloat(FORMULA);                                  \
  }                                                          \
  template <class T, int N>                                  \
  vec<T, N> NAME(vec<T, N> values) {                         \
    for (int i = 0; i < N; i++) values[i] = NAME(values[i]); \
    return values;                                           \
  }

#define EMULATOR_FUNCTION_2(NAME, FORMULA)                \
  inline float NAME(float x, float y) { return FORMULA; } \
  inline half NAME(half a, half b) {                      \
    float x = a, y = b;                                   \
    return half(FORMULA);                                 \
  }                                                       \
  inline bfloat NAME(bfloat a, bfloat b) {                \
    float x = a, y = b;                                   \
    return bfloat(FORMULA);                               \
  }                                                       \
  template <class T, int N>                               \
  vec<T, N> NAME(vec<T, N> a, vec<T, N> b) {              \
    for (int i = 0; i < N; i++) a[i] = NAME(a[i], b[i]);  \
    return a;                                             \
  }

#define EMULATOR_FUNCTIONS                                 \
  EMULATOR_FUNCTION_1(acos, __builtin_acosf(x))            \
  EMULATOR_FUNCTION_1(acosh, __builtin_acoshf(x))          \
  EMULATOR_FUNCTION_1(asin, __builtin_asinf(x))            \
  EMULATOR_FUNCTION_1(asinh, __builtin_asinhf(x))          \
  EMULATOR_FUNCTION_1(atan, __builtin_atanf(x))            \
  EMULATOR_FUNCTION_1(atanh, __builtin_atanhf(x))          \
  EMULATOR_FUNCTION_1(ceil, __builtin_ceilf(x))            \
  EMULATOR_FUNCTION_1(cos, __builtin_cosf(x))              \
  EMULATOR_FUNCTION_1(cosh, __builtin_coshf(x))            \
  EMULATOR_FUNCTION_1(exp, __builtin_expf(x))              \
  EMULATOR_FUNCTION_1(exp2, __builtin_exp2f(x))            \
  EMULATOR_FUNCTION_1(exp10, __builtin_powf(10.0f, x))     \
  EMULATOR_FUNCTION_1(fabs, __builtin_fabsf(x))            \
  EMULATOR_FUNCTION_1(floor, __builtin_floorf(x))          \
  EMULATOR_FUNCTION_1(fract, x - __builtin_floorf(x))      \
  EMULATOR_FUNCTION_1(log, __builtin_logf(x))              \
  EMULATOR_FUNCTION_1(log2, __builtin_log2f(x))            \
  EMULATOR_FUNCTION_1(log10, __builtin_log10f(x))          \
  EMULATOR_FUNCTION_1(rint, __builtin_rintf(x))            \
  EMULATOR_FUNCTION_1(round, __builtin_roundf(x))          \
  EMULATOR_FUNCTION_1(rsqrt, 1.0f / __builtin_sqrtf(x))    \
  EMULATOR_FUNCTION_1(sin, __builtin_sinf(x))              \
  EMULATOR_FUNCTION_1(sinh, __builtin_sinhf(x))            \
  EMULATOR_FUNCTION_1(sqrt, __builtin_sqrtf(x))            \
  EMULATOR_FUNCTION_1(tan, __builtin_tanf(x))              \
  EMULATOR_FUNCTION_1(tanh, __builtin_tanhf(x))            \
  EMULATOR_FUNCTION_1(trunc, __builtin_truncf(x))          \
  EMULATOR_FUNCTION_2(atan2, __builtin_atan2f(x, y))       \
  EMULATOR_FUNCTION_2(copysign, __builtin_copysignf(x, y)) \
  EMULATOR_FUNCTION_2(divide, x / y)                       \
  EMULATOR_FUNCTION_2(fdim, __builtin_fdimf(x, y))         \
  EMULATOR_FUNCTION_2(fmax, __builtin_fmaxf(x, y))         \
  EMULATOR_FUNCTION_2(fmin, __builtin_fminf(x, y))         \
  EMULATOR_FUNCTION_2(fmod, __builtin_fmodf(x, y))         \
  EMULATOR_FUNCTION_2(pow, __builtin_powf(x, y))           \
  EMULATOR_FUNCTION_2(powr, __builtin_powf(x, y))

EMULATOR_FUNCTIONS
namespace fast {
EMULATOR_FUNCTIONS
}
namespace precise {
EMULATOR_FUNCTIONS
}

// Through double, where products of half and bfloat are exact, so that these round once as well.
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline half fma(half a, half b, half c) { return half(double(a) * double(b) + double(c)); }
inline bfloat fma(bfloat a, bfloat b, bfloat c) {
  return bfloat(float(double(float(a)) * double(float(b)) + double(float(c))));
}
template <class T, int N>
vec<T, N> fma(vec<T, N> a, vec<T, N> b, vec<T, N> c) {
  for (int i = 0; i < N; i++) a[i] = fma(a[i], b[i], c[i]);
  return a;
}
inline float ldexp(float x, int exponent) { return __builtin_ldexpf(x, exponent); }
inline half ldexp(half x, int exponent) { return half(__builtin_ldexpf(x, exponent)); }

// A NaN loses against a number.
template <class T, if_floating<T> = 0>
constexpr T max(T x, T y) {
  return x != x || x < y ? y : x;
}
template <class T, if_floating<T> = 0>
constexpr T min(T x, T y) {
  return x != x || y < x ? y : x;
}
template <class T, if_integral<T> = 0>
constexpr T max(T x, T y) {
  return x < y ? y : x;
}
template <class T, if_integral<T> = 0>
constexpr T min(T x, T y) {
  return y < x ? y : x;
}
template <class T, int N>
constexpr vec<T, N> max(vec<T, N> x, vec<T, N> y) {
  for (int i = 0; i < N; i++) x[i] = max(x[i], y[i]);
  return x;
}
template <class T, int N>
constexpr vec<T, N> min(vec<T, N> x, vec<T, N> y) {
  for (int i = 0; i < N; i++) x[i] = min(x[i], y[i]);
  return x;
}
template <class T, int N>
constexpr vec<T, N> max(vec<T, N> x, T y) {
  return max(x, vec<T, N>(y));
}
template <class T, int N>
constexpr vec<T, N> min(vec<T, N> x, T y) {
  return min(x, vec<T, N>(y));
}
namespace fast {
using metal::fma, metal::max, metal::min;
}
namespace precise {
using metal::fma, metal::max, metal::min;
}

template <class T>
constexpr T max3(T x, T y, T z) {
  return max(max(x, y), z);
}
template <class T>
constexpr T min3(T x, T y, T z) {
  return min(min(x, y), z);
}
template <class T>
constexpr T clamp(T x, T low, T high) {
  return min(max(x, low), high);
}
template <class T, int N>
constexpr vec<T, N> clamp(vec<T, N> x, T low, T high) {
  return min(max(x, low), high);
}
template <class T>
constexpr T saturate(T x) {
  return clamp(x, T(0.0f), T(1.0f));
}
template <class T, class U>
constexpr T mix(T x, T y, U weight) {
  return T(x + (y - x) * weight);
}
template <class T>
constexpr T step(T edge, T x) {
  return x < edge ? T(0.0f) : T(1.0f);
}
template <class T, if_scalar<T> = 0>
constexpr T abs(T x) {
  return x < T(0) ? T(-x) : x;
}
template <class T, int N>
constexpr vec<T, N> abs(vec<T, N> values) {
  for (int i = 0; i < N; i++) values[i] = abs(values[i]);
  return values;
}
template <class T, if_floating<T> = 0>
constexpr T sign(T x) {
  return x > T(0.0f) ? T(1.0f) : x < T(0.0f) ? T(-1.0f) : T(0.0f);
}
template <class T, if_scalar<T> = 0>
constexpr T select(T otherwise, T chosen, bool condition) {
  return condition ? chosen : otherwise;
}
template <class T, int N>
constexpr vec<T, N> select(vec<T, N> otherwise, vec<T, N> chosen, vec<bool, N> condition) {
  for (int i = 0; i < N; i++) otherwise[i] = condition[i] ? chosen[i] : otherwise[i];
  return otherwise;
}

template <class T, if_floating<T> = 0>
constexpr bool isnan(T x) {
  return x != x;
}
template <class T, if_floating<T> = 0>
constexpr bool isinf(T x) {
  return abs(x) == numeric_limits<T>::infinity();
}
template <class T, if_floating<T> = 0>
constexpr bool isfinite(T x) {
  return abs(x) < numeric_limits<T>::infinity();
}
template <class T, if_floating<T> = 0>
bool signbit(T x) {
  return __builtin_signbit(float(x));
}

template <class T, int N>
constexpr T dot(vec<T, N> a, vec<T, N> b) {
  T sum = T(a[0] * b[0]);
  for (int i = 1; i < N; i++) sum = T(sum + a[i] * b[i]);
  return sum;
}
template <class T, int N>
T length_squared(vec<T, N> a) {
  return dot(a, a);
}
template <class T, int N>
T length(vec<T, N> a) {
  return sqrt(dot(a, a));
}
template <class T, int N>
T distance(vec<T, N> a, vec<T, N> b) {
  return length(a - b);
}
template <class T, int N>
vec<T, N> normalize(vec<T, N> a) {
  return a * rsqrt(dot(a, a));
}

template <class T, if_integral<T> = 0>
constexpr T popcount(T x) {
  return T(__builtin_popcountll(make_unsigned_t<T>(x)));
}
template <class T, if_integral<T> = 0>
constexpr T clz(T x) {
  return T(x ? __builtin_clzll(make_unsigned_t<T>(x)) - (64 - 8 * int(sizeof(T))) : 8 * int(sizeof(T)));
}
template <class T, if_integral<T> = 0>
constexpr T ctz(T x) {
  return T(x ? __builtin_ctzll(make_unsigned_t<T>(x)) : 8 * int(sizeof(T)));
}
template <class T, if_integral<T> = 0>
constexpr T absdiff(T x, T y) {
  return x < y ? T(y - x) : T(x - y);
}
inline int mul24(int x, int y) { return x * y; }
inline uint mul24(uint x, uint y) { return x * y; }
inline int mulhi(int x, int y) { return int(long(x) * y >> 32); }
inline uint mulhi(uint x, uint y) { return uint(ulong(x) * y >> 32); }

}  // namespace metal
