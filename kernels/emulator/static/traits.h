// <metal_type_traits> and <metal_limits>, as far as kernels use them.
#pragma once

namespace metal {

template <typename T, T v>
struct integral_constant {
  static constexpr constant T value = v;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator T() const { return v; }
};

template <bool b>
using bool_constant = integral_constant<bool, b>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <bool condition, typename T = void>
struct enable_if {};
template <typename T>
struct enable_if<true, T> {
  typedef T type;
};
template <bool condition, typename T = void>
using enable_if_t = typename enable_if<condition, T>::type;

template <bool condition, typename T, typename F>
struct conditional {
  typedef T type;
};
template <typename T, typename F>
struct conditional<false, T, F> {
  typedef F type;
};
template <bool condition, typename T, typename F>
using conditional_t = typename conditional<condition, T, F>::type;

template <typename T>
struct remove_const {
  typedef T type;
};
template <typename T>
struct remove_const<const T> {
  typedef T type;
};
template <typename T>
using remove_cv_t = typename remove_const<T>::type;

template <typename T>
struct remove_addrspace {
  typedef T type;
};
template <typename T>
struct remove_addrspace<device T> {
  typedef T type;
};
template <typename T>
struct remove_addrspace<threadgroup T> {
  typedef T type;
};
template <typename T>
struct remove_addrspace<constant T> {
  typedef T type;
};
template <typename T>
struct remove_addrspace<thread T> {
  typedef T type;
};
template <typename T>
using remove_addrspace_t = typename remove_addrspace<T>::type;

template <typename T>
struct remove_reference {
  typedef T type;
};
template <typename T>
struct remove_reference<T&> {
  typedef T type;
};

template <typename T>
struct remove_pointer {
  typedef T type;
};
template <typename T>
struct remove_pointer<T*> {
  typedef T type;
};

#define TRAIT(name, condition) \
  template <typename T> \
  struct name : bool_constant<(condition)> {}; \
  template <typename T> \
  constexpr constant bool name##_v = (condition);

TRAIT(is_integral, __is_integral(T))
TRAIT(is_floating_point, __is_same(T, float) || __is_same(T, half) || __is_same(T, bfloat))
TRAIT(is_arithmetic, is_integral_v<T> || is_floating_point_v<T>)
TRAIT(is_signed, is_floating_point_v<T> || __is_signed(T))
TRAIT(is_unsigned, __is_unsigned(T))
#undef TRAIT

template <typename T, typename U>
struct is_same : bool_constant<__is_same(T, U)> {};
template <typename T, typename U>
constexpr constant bool is_same_v = __is_same(T, U);
template <typename From, typename To>
constexpr constant bool is_convertible_v = __is_convertible(From, To);

template <typename T>
struct numeric_limits {
  static constexpr T max() { return T(); }
  static constexpr T min() { return T(); }
  static constexpr T lowest() { return T(); }
  static constexpr T epsilon() { return T(); }
  static constexpr T infinity() { return T(); }
  static constexpr T quiet_NaN() { return T(); }
};

}  // namespace metal
