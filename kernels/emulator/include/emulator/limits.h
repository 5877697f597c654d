// metal::numeric_limits and the constants of metal_math.
#pragma once
#include "types.h"

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define MAXFLOAT 3.402823466e+38f
#define HUGE_VALF __builtin_inff()
#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LOG10E_F 0.43429448190325182765f
#define M_LN2_F 0.69314718055994530942f
#define M_LN10_F 2.30258509299404568402f
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_PI_4_F 0.78539816339744830962f
#define M_1_PI_F 0.31830988618379067154f
#define M_2_PI_F 0.63661977236758134308f
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.70710678118654752440f

namespace metal {

template <class T>
struct numeric_limits {
  static_assert(is_integral_v<T>, "numeric_limits is for scalars");
  static constexpr bool is_signed = is_signed_v<T>, is_integer = true;
  static constexpr int digits = is_same_v<T, bool> ? 1 : int(sizeof(T) * 8) - is_signed;
  static constexpr T max() { return T(~0ul >> (64 - digits)); }
  static constexpr T min() { return is_signed ? T(-max() - 1) : T(0); }
  static constexpr T lowest() { return min(); }
};

#define EMULATOR_FLOATING_LIMITS(T, WORD, MANTISSA, MAX, MIN, INFINITE, QUIET_NAN, EPSILON) \
  template <>                                                                               \
  struct numeric_limits<T> {                                                                \
    static constexpr bool is_signed = true, is_integer = false;                             \
    static constexpr int digits = MANTISSA;                                                 \
    static constexpr T max() { return as_type<T>(WORD(MAX)); }                              \
    static constexpr T min() { return as_type<T>(WORD(MIN)); }                              \
    static constexpr T lowest() { return -max(); }                                          \
    static constexpr T infinity() { return as_type<T>(WORD(INFINITE)); }                    \
    static constexpr T quiet_NaN() { return as_type<T>(WORD(QUIET_NAN)); }                  \
    static constexpr T epsilon() { return as_type<T>(WORD(EPSILON)); }                      \
  };
EMULATOR_FLOATING_LIMITS(float, uint32_t, 24, 0x7f7fffff, 0x00800000, 0x7f800000, 0x7fc00000, 0x34000000)
EMULATOR_FLOATING_LIMITS(half, uint16_t, 11, 0x7bff, 0x0400, 0x7c00, 0x7e00, 0x1400)
EMULATOR_FLOATING_LIMITS(bfloat, uint16_t, 8, 0x7f7f, 0x0080, 0x7f80, 0x7fc0, 0x3c00)

}  // namespace metal
