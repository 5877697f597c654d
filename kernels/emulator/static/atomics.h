// <metal_atomic>, with the one memory order that Metal has for them.
#pragma once

namespace metal {

enum memory_order { memory_order_relaxed };

template <typename T>
struct atomic {
  T held;
};

#define CHANGE(name, space) \
  template <typename T> \
  T name(space atomic<T>*, T, memory_order);

#define ATOMICS(space) \
  template <typename T> \
  T atomic_load_explicit(const space atomic<T>*, memory_order); \
  template <typename T> \
  void atomic_store_explicit(space atomic<T>*, T, memory_order); \
  template <typename T> \
  bool atomic_compare_exchange_weak_explicit(space atomic<T>*, thread T*, T, memory_order, memory_order); \
  CHANGE(atomic_exchange_explicit, space) \
  CHANGE(atomic_fetch_add_explicit, space) \
  CHANGE(atomic_fetch_sub_explicit, space) \
  CHANGE(atomic_fetch_max_explicit, space) \
  CHANGE(atomic_fetch_min_explicit, space) \
  CHANGE(atomic_fetch_and_explicit, space) \
  CHANGE(atomic_fetch_or_explicit, space) \
  CHANGE(atomic_fetch_xor_explicit, space)

ATOMICS(device)
ATOMICS(threadgroup)
#undef ATOMICS
#undef CHANGE

typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<float> atomic_float;

}  // namespace metal

using metal::memory_order_relaxed;
