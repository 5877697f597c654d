// MLX's complex numbers.
#pragma once
#include "types.h"

template <class T>
struct complex_t {
  using value_type = T;
  T real, imag;

  constexpr complex_t() : real(T(0)), imag(T(0)) {}
  constexpr complex_t(T real, T imag) : real(real), imag(imag) {}
  template <class U, class = std::enable_if_t<metal::is_arithmetic_v<U>>>
  constexpr complex_t(U real) : real(T(real)), imag(T(0)) {}

  constexpr complex_t operator-() const { return {-real, -imag}; }
  friend constexpr complex_t operator+(complex_t a, complex_t b) { return {a.real + b.real, a.imag + b.imag}; }
  friend constexpr complex_t operator-(complex_t a, complex_t b) { return {a.real - b.real, a.imag - b.imag}; }
  friend constexpr complex_t operator*(complex_t a, complex_t b) {
    return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
  }
  friend constexpr complex_t operator/(complex_t a, complex_t b) {
    T scale = b.real * b.real + b.imag * b.imag;
    return {(a.real * b.real + a.imag * b.imag) / scale, (a.imag * b.real - a.real * b.imag) / scale};
  }
  constexpr complex_t& operator+=(complex_t other) { return *this = *this + other; }
  constexpr complex_t& operator*=(complex_t other) { return *this = *this * other; }
  friend constexpr bool operator==(complex_t a, complex_t b) { return a.real == b.real && a.imag == b.imag; }
};
using complex64_t = complex_t<float>;

template <class T>
constexpr bool is_complex_v = false;
template <class T>
constexpr bool is_complex_v<complex_t<T>> = true;
