// Atomics. All threads of the emulator share one thread of the processor, so plain operations are atomic; what is left
// to do is to tell the race check.
#pragma once
#include "abi.h"
#include "types.h"

namespace metal {

enum memory_order { memory_order_relaxed };

template <class T>
struct atomic {
  T value;
};
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_float = atomic<float>;
using atomic_ulong = atomic<ulong>;

template <class T>
EMULATOR_UNCHECKED T peek(const atomic<T>* object) {
  return object->value;
}
template <class T>
EMULATOR_UNCHECKED void poke(atomic<T>* object, T value) {
  object->value = value;
}

template <class T>
EMULATOR_INLINE T atomic_load_explicit(const atomic<T>* object, memory_order) {
  emulator_atomic(object, sizeof(T), true, false);
  return peek(object);
}
// `common_type_t` keeps T from being deduced from the value, so that an int can be stored in an atomic_uint.
template <class T>
EMULATOR_INLINE void atomic_store_explicit(atomic<T>* object, std::common_type_t<T> value, memory_order) {
  emulator_atomic(object, sizeof(T), false, true);
  poke(object, value);
}

#define EMULATOR_ATOMIC(NAME, FORMULA)                                                   \
  template <class T>                                                                     \
  EMULATOR_INLINE T NAME(atomic<T>* object, std::common_type_t<T> value, memory_order) { \
    emulator_atomic(object, sizeof(T), true, true);                                      \
    T old = peek(object);                                                                \
    poke(object, T(FORMULA));                                                            \
    return old;                                                                          \
  }
EMULATOR_ATOMIC(atomic_exchange_explicit, value)
EMULATOR_ATOMIC(atomic_fetch_add_explicit, old + value)
EMULATOR_ATOMIC(atomic_fetch_sub_explicit, old - value)
EMULATOR_ATOMIC(atomic_fetch_max_explicit, old < value ? value : old)
EMULATOR_ATOMIC(atomic_fetch_min_explicit, value < old ? value : old)
EMULATOR_ATOMIC(atomic_fetch_and_explicit, old& value)
EMULATOR_ATOMIC(atomic_fetch_or_explicit, old | value)
EMULATOR_ATOMIC(atomic_fetch_xor_explicit, old ^ value)

template <class T>
EMULATOR_INLINE bool atomic_compare_exchange_weak_explicit(atomic<T>* object, T* expected, T desired, memory_order,
                                                           memory_order) {
  emulator_atomic(object, sizeof(T), true, true);
  T old = peek(object);
  if (old == *expected) {
    poke(object, desired);
    return true;
  }
  *expected = old;
  return false;
}

}  // namespace metal
