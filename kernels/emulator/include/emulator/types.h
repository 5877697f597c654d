// Scalars of the Metal shading language, and what the headers of the emulator need to say of functions.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <type_traits>

// Code of the emulator itself, whose accesses are not the kernel's. A compiler never inlines it into the kernel.
#define EMULATOR_UNCHECKED __attribute__((no_sanitize("thread"), no_sanitize("undefined")))
// Code of the emulator that accesses memory for the kernel: inlined, so that the access has the kernel's line.
#define EMULATOR_INLINE inline __attribute__((always_inline))
// Last parameters of a function that needs to know where it is called.
#define EMULATOR_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

#define __METAL__ 1
#define __METAL_VERSION__ 310
#define METAL_FUNC inline

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using half = _Float16;

// A float with the upper 16 bits alone. It comes from a float by an explicit conversion only and turns into one by
// itself; every operation rounds to nearest, ties to even.
struct bfloat {
  uint16_t bits;

  bfloat() = default;
  constexpr explicit bfloat(float value) : bits(rounded(value)) {}
  template <class T, class = std::enable_if_t<std::is_integral<T>::value || std::is_same<T, half>::value>>
  constexpr explicit bfloat(T value) : bits(rounded(float(value))) {}
  constexpr operator float() const { return __builtin_bit_cast(float, uint32_t(bits) << 16); }
  constexpr bfloat operator-() const { return bfloat(-float(*this)); }

  static constexpr uint16_t rounded(float value) {
    uint32_t word = __builtin_bit_cast(uint32_t, value);
    bool nan = (word & 0x7fffffff) > 0x7f800000;
    return uint16_t(nan ? word >> 16 | 0x40 : (word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
};

#define EMULATOR_BFLOAT_ARITHMETIC(OP)                                                                       \
  constexpr bfloat operator OP(bfloat a, bfloat b) { return bfloat(float(a) OP float(b)); }                  \
  constexpr bfloat& operator OP##=(bfloat& a, bfloat b) { return a = a OP b; }                               \
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value || std::is_same<T, half>::value>> \
  constexpr bfloat& operator OP##=(bfloat& a, T b) { return a = bfloat(float(a) OP float(b)); }
EMULATOR_BFLOAT_ARITHMETIC(+)
EMULATOR_BFLOAT_ARITHMETIC(-)
EMULATOR_BFLOAT_ARITHMETIC(*)
EMULATOR_BFLOAT_ARITHMETIC(/)

#define EMULATOR_BFLOAT_COMPARISON(OP) \
  constexpr bool operator OP(bfloat a, bfloat b) { return float(a) OP float(b); }
EMULATOR_BFLOAT_COMPARISON(<)
EMULATOR_BFLOAT_COMPARISON(>)
EMULATOR_BFLOAT_COMPARISON(<=)
EMULATOR_BFLOAT_COMPARISON(>=)
EMULATOR_BFLOAT_COMPARISON(==)
EMULATOR_BFLOAT_COMPARISON(!=)

template <class To, class From>
constexpr To as_type(From value) {
  static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
  return __builtin_bit_cast(To, value);
}

namespace metal {

using ::as_type;
using std::bool_constant, std::true_type, std::false_type, std::integral_constant;
using std::conditional, std::conditional_t, std::declval, std::enable_if, std::enable_if_t, std::decay_t;
using std::is_convertible, std::is_convertible_v, std::is_same, std::is_same_v, std::is_pointer, std::is_pointer_v;
using std::is_integral, std::is_integral_v, std::is_signed, std::is_signed_v, std::is_unsigned, std::is_unsigned_v;
using std::make_signed_t, std::make_unsigned_t;
using std::remove_const_t, std::remove_cv, std::remove_cv_t, std::remove_pointer_t;
using std::remove_reference, std::remove_reference_t;

template <class T>
struct is_floating_point : bool_constant<is_same_v<T, float> || is_same_v<T, half> || is_same_v<T, bfloat>> {};
template <class T>
constexpr bool is_floating_point_v = is_floating_point<remove_cv_t<T>>::value;
template <class T>
struct is_arithmetic : bool_constant<is_integral_v<T> || is_floating_point_v<T>> {};
template <class T>
constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T>
using remove_addrspace_t = T;  // address spaces are gone when C++ sees the kernel

template <class T>
using if_floating = enable_if_t<is_floating_point_v<T>, int>;
template <class T>
using if_integral = enable_if_t<is_integral_v<T>, int>;
template <class T>
using if_scalar = enable_if_t<is_arithmetic_v<T>, int>;

}  // namespace metal
