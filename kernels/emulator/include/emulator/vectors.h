// Vectors of two to four components. The translator turns the reading of `v.xzw` into `v.swizzle(at<0, 2, 3>{})` and
// the writing into `v.assignable(at<0, 2, 3>{}) = ...`.
#pragma once
#include "abi.h"
#include "types.h"

namespace metal {

template <class T, int N>
struct vec;
template <int... I>
struct at {};

template <class T, int N>
struct components;
template <class T>
struct alignas(2 * sizeof(T)) components<T, 2> {
  union {
    T elements[2];
    struct { T x, y; };
    struct { T r, g; };
  };
};
template <class T>
struct alignas(4 * sizeof(T)) components<T, 3> {
  union {
    T elements[3];
    struct { T x, y, z; };
    struct { T r, g, b; };
  };
};
template <class T>
struct alignas(4 * sizeof(T)) components<T, 4> {
  union {
    T elements[4];
    struct { T x, y, z, w; };
    struct { T r, g, b, a; };
  };
};

template <class T>
struct width_of : integral_constant<int, 1> {};
template <class T, int N>
struct width_of<vec<T, N>> : integral_constant<int, N> {};

// The chosen components of a vector that is assigned to; it never outlives the assignment.
template <class T, int... I>
struct assignable_components {
  using value = vec<T, sizeof...(I)>;
  T* elements;

  constexpr value operator=(value from) {
    int next = 0;
    ((elements[I] = from[next++]), ...);
    return from;
  }
  constexpr value get() const { return value(elements[I]...); }
  constexpr value operator+=(value from) { return *this = get() + from; }
  constexpr value operator-=(value from) { return *this = get() - from; }
  constexpr value operator*=(value from) { return *this = get() * from; }
  constexpr value operator/=(value from) { return *this = get() / from; }
};

#define EMULATOR_VECTOR_ARITHMETIC(OP)                                                  \
  friend constexpr vec operator OP(vec a, vec b) {                                      \
    vec result{};                                                                       \
    for (int i = 0; i < N; i++) result.elements[i] = T(a.elements[i] OP b.elements[i]); \
    return result;                                                                      \
  }                                                                                     \
  constexpr vec& operator OP##=(vec other) { return *this = *this OP other; }

#define EMULATOR_VECTOR_COMPARISON(OP)                                               \
  friend constexpr vec<bool, N> operator OP(vec a, vec b) {                          \
    vec<bool, N> result{};                                                           \
    for (int i = 0; i < N; i++) result.elements[i] = a.elements[i] OP b.elements[i]; \
    return result;                                                                   \
  }

#define EMULATOR_VECTOR_UNARY(OP, RESULT)                                    \
  constexpr vec<RESULT, N> operator OP() const {                             \
    vec<RESULT, N> result{};                                                 \
    for (int i = 0; i < N; i++) result.elements[i] = RESULT(OP elements[i]); \
    return result;                                                           \
  }

template <class T, int N>
struct vec : components<T, N> {
  using components<T, N>::elements;

  vec() = default;
  constexpr vec(T value) : components<T, N>{} {
    for (int i = 0; i < N; i++) elements[i] = value;
  }
  template <class U, class = enable_if_t<!is_same_v<U, T>>>
  constexpr explicit vec(vec<U, N> other) : components<T, N>{} {
    for (int i = 0; i < N; i++) elements[i] = T(other.elements[i]);
  }
  // From scalars and shorter vectors in any mixture that gives N components.
  template <class... Parts, class = enable_if_t<(sizeof...(Parts) > 1) && (width_of<Parts>::value + ...) == N>>
  constexpr vec(Parts... parts) : components<T, N>{} {
    int next = 0;
    (append(next, parts), ...);
  }

  // Compilers take an array at the end of a structure for one that goes on, so bounds are checked here; inlined, so
  // that an index that is wrong has the kernel's line.
  EMULATOR_INLINE constexpr T& operator[](int i) { return elements[checked(i)]; }
  EMULATOR_INLINE constexpr const T& operator[](int i) const { return elements[checked(i)]; }
  template <int... I>
  constexpr vec<T, sizeof...(I)> swizzle(at<I...>) const {
    return vec<T, sizeof...(I)>(elements[I]...);
  }
  template <int... I>
  constexpr assignable_components<T, I...> assignable(at<I...>) {
    return {elements};
  }

  EMULATOR_VECTOR_ARITHMETIC(+)
  EMULATOR_VECTOR_ARITHMETIC(-)
  EMULATOR_VECTOR_ARITHMETIC(*)
  EMULATOR_VECTOR_ARITHMETIC(/)
  EMULATOR_VECTOR_ARITHMETIC(%)
  EMULATOR_VECTOR_ARITHMETIC(&)
  EMULATOR_VECTOR_ARITHMETIC(|)
  EMULATOR_VECTOR_ARITHMETIC(^)
  EMULATOR_VECTOR_ARITHMETIC(<<)
  EMULATOR_VECTOR_ARITHMETIC(>>)
  EMULATOR_VECTOR_COMPARISON(==)
  EMULATOR_VECTOR_COMPARISON(!=)
  EMULATOR_VECTOR_COMPARISON(<)
  EMULATOR_VECTOR_COMPARISON(>)
  EMULATOR_VECTOR_COMPARISON(<=)
  EMULATOR_VECTOR_COMPARISON(>=)
  EMULATOR_VECTOR_COMPARISON(&&)
  EMULATOR_VECTOR_COMPARISON(||)
  EMULATOR_VECTOR_UNARY(-, T)
  EMULATOR_VECTOR_UNARY(~, T)
  EMULATOR_VECTOR_UNARY(!, bool)

 private:
  EMULATOR_INLINE static constexpr int checked(int i) {
    if (uint(i) >= uint(N)) emulator_refuse_component(i, N);
    return i;
  }
  template <class U>
  constexpr void append(int& next, U scalar) {
    elements[next++] = T(scalar);
  }
  template <class U, int M>
  constexpr void append(int& next, vec<U, M> part) {
    for (int i = 0; i < M; i++) elements[next++] = T(part.elements[i]);
  }
};

// Three floats in 12 bytes, where a float3 takes 16.
template <class T, int N>
struct packed_vec {
  T elements[N];

  packed_vec() = default;
  constexpr packed_vec(vec<T, N> from) {
    for (int i = 0; i < N; i++) elements[i] = from.elements[i];
  }
  constexpr operator vec<T, N>() const {
    vec<T, N> result{};
    for (int i = 0; i < N; i++) result.elements[i] = elements[i];
    return result;
  }
  constexpr T& operator[](int i) { return elements[i]; }
  constexpr const T& operator[](int i) const { return elements[i]; }
};

template <int N>
constexpr bool all(vec<bool, N> values) {
  for (int i = 0; i < N; i++)
    if (!values.elements[i]) return false;
  return true;
}
template <int N>
constexpr bool any(vec<bool, N> values) {
  return !all(!values);
}

template <class T, size_t N>
struct array {
  T elements[N];
  constexpr T& operator[](size_t i) { return elements[i]; }
  constexpr const T& operator[](size_t i) const { return elements[i]; }
  constexpr size_t size() const { return N; }
};

}  // namespace metal

#define EMULATOR_VECTOR_NAMES(NAME, TYPE)              \
  using NAME##2 = metal::vec<TYPE, 2>;                 \
  using NAME##3 = metal::vec<TYPE, 3>;                 \
  using NAME##4 = metal::vec<TYPE, 4>;                 \
  using packed_##NAME##2 = metal::packed_vec<TYPE, 2>; \
  using packed_##NAME##3 = metal::packed_vec<TYPE, 3>; \
  using packed_##NAME##4 = metal::packed_vec<TYPE, 4>;
EMULATOR_VECTOR_NAMES(bool, bool)
EMULATOR_VECTOR_NAMES(char, int8_t)
EMULATOR_VECTOR_NAMES(uchar, uchar)
EMULATOR_VECTOR_NAMES(short, short)
EMULATOR_VECTOR_NAMES(ushort, ushort)
EMULATOR_VECTOR_NAMES(int, int)
EMULATOR_VECTOR_NAMES(uint, uint)
EMULATOR_VECTOR_NAMES(long, long)
EMULATOR_VECTOR_NAMES(ulong, ulong)
EMULATOR_VECTOR_NAMES(half, half)
EMULATOR_VECTOR_NAMES(float, float)
EMULATOR_VECTOR_NAMES(bfloat, bfloat)
