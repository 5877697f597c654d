// The functions of metal_simdgroup: each lane deposits a value, waits for the others, and reads what they deposited.
#pragma once
#include "abi.h"
#include "math.h"

namespace emulator {

template <class T>
struct Deposit {
  T value;
  uint32_t argument;
};

// The deposits of all lanes of a simdgroup, of which some may be missing.
template <class T>
struct Gathered {
  const uint8_t* deposits;
  uint32_t active;
  Call call;

  EMULATOR_UNCHECKED bool has(int lane) const { return lane >= 0 && lane < int(SIMD_WIDTH) && (active >> lane & 1); }
  EMULATOR_UNCHECKED const Deposit<T>& operator[](int lane) const {
    return *reinterpret_cast<const Deposit<T>*>(deposits + lane * DEPOSIT_BYTES);
  }
  // The value of a lane that must be there; all bits set, which is NaN, where it is not.
  EMULATOR_UNCHECKED T from(int lane) const {
    if (has(lane)) return (*this)[lane].value;
    emulator_report("simd", "reads a lane that is not active or does not exist", &call);
    T nothing;
    __builtin_memset(&nothing, 0xff, sizeof nothing);
    return nothing;
  }
};

template <class T>
EMULATOR_UNCHECKED Gathered<T> gather(T value, uint32_t argument, Meeting meeting, const char* name, const char* file,
                                      int line) {
  static_assert(sizeof(Deposit<T>) <= DEPOSIT_BYTES, "a lane deposits at most 64 bytes");
  Deposit<T> deposit{value, argument};
  Gathered<T> gathered{nullptr, 0, {meeting, name, file, line, 0}};
  gathered.deposits = static_cast<const uint8_t*>(
      emulator_exchange(&deposit, sizeof deposit, &gathered.call, &gathered.active));
  return gathered;
}

// In pairs at distance 16, 8, ...: floating sums then round like a tree, as on the device, and not like a chain.
template <class T, class Combine>
EMULATOR_UNCHECKED T reduce(const Gathered<T>& gathered, Combine combine) {
  T values[SIMD_WIDTH];
  uint32_t present = gathered.active;
  for (uint32_t lane = 0; lane < SIMD_WIDTH; lane++)
    if (present >> lane & 1) values[lane] = gathered[lane].value;
  for (uint32_t distance = SIMD_WIDTH / 2; distance; distance /= 2) {
    for (uint32_t lane = 0; lane < distance; lane++) {
      bool left = present >> lane & 1, right = present >> (lane + distance) & 1;
      if (left && right) values[lane] = combine(values[lane], values[lane + distance]);
      else if (right) values[lane] = values[lane + distance];
    }
    present |= present >> distance;
  }
  return values[0];
}

template <class T>
struct Pair {
  T value, filling;
};

}  // namespace emulator

#define EMULATOR_GATHER(TYPE, VALUE, ARGUMENT, NAME) \
  emulator::gather<TYPE>(VALUE, ARGUMENT, emulator::Meeting::simd_operation, NAME, file, line)

namespace metal {

#define EMULATOR_REDUCTION(NAME, FORMULA)                                    \
  template <class T>                                                         \
  EMULATOR_UNCHECKED T NAME(T x, EMULATOR_SITE) {                            \
    struct Combine {                                                         \
      EMULATOR_UNCHECKED T operator()(T a, T b) const { return T(FORMULA); } \
    };                                                                       \
    return emulator::reduce(EMULATOR_GATHER(T, x, 0, #NAME), Combine{});     \
  }
EMULATOR_REDUCTION(simd_sum, a + b)
EMULATOR_REDUCTION(simd_product, a * b)
EMULATOR_REDUCTION(simd_max, max(a, b))
EMULATOR_REDUCTION(simd_min, min(a, b))
EMULATOR_REDUCTION(simd_and, a& b)
EMULATOR_REDUCTION(simd_or, a | b)
EMULATOR_REDUCTION(simd_xor, a ^ b)

#define EMULATOR_SHUFFLE(NAME, LANE)                            \
  template <class T>                                            \
  EMULATOR_UNCHECKED T NAME(T x, ushort delta, EMULATOR_SITE) { \
    int lane = int(emulator_lane());                            \
    return EMULATOR_GATHER(T, x, delta, #NAME).from(LANE);      \
  }
EMULATOR_SHUFFLE(simd_shuffle, ((void)lane, delta))
EMULATOR_SHUFFLE(simd_shuffle_xor, lane ^ delta)
EMULATOR_SHUFFLE(simd_shuffle_rotate_down, (lane + delta) % 32)
EMULATOR_SHUFFLE(simd_shuffle_rotate_up, (lane - delta) & 31)
// The lanes at the end keep their own value.
EMULATOR_SHUFFLE(simd_shuffle_down, lane + delta < 32 ? lane + delta : lane)
EMULATOR_SHUFFLE(simd_shuffle_up, lane >= delta ? lane - delta : lane)

template <class T>
EMULATOR_UNCHECKED T simd_shuffle_and_fill_up(T x, T filling, ushort delta, EMULATOR_SITE) {
  int lane = int(emulator_lane());
  emulator::Pair<T> pair{x, filling};
  auto gathered = EMULATOR_GATHER(emulator::Pair<T>, pair, delta, "simd_shuffle_and_fill_up");
  return lane >= delta ? gathered.from(lane - delta).value : gathered.from(lane - delta + 32).filling;
}
template <class T>
EMULATOR_UNCHECKED T simd_shuffle_and_fill_down(T x, T filling, ushort delta, EMULATOR_SITE) {
  int lane = int(emulator_lane());
  emulator::Pair<T> pair{x, filling};
  auto gathered = EMULATOR_GATHER(emulator::Pair<T>, pair, delta, "simd_shuffle_and_fill_down");
  return lane + delta < 32 ? gathered.from(lane + delta).value : gathered.from(lane + delta - 32).filling;
}

template <class T>
EMULATOR_UNCHECKED T simd_broadcast(T x, ushort lane, EMULATOR_SITE) {
  auto gathered = EMULATOR_GATHER(T, x, lane, "simd_broadcast");
  for (int other = 0; other < 32; other++)
    if (gathered.has(other) && gathered[other].argument != lane)
      emulator_report("simd", "is asked for different lanes by the lanes of one simdgroup", &gathered.call);
  return gathered.from(lane);
}
template <class T>
EMULATOR_UNCHECKED T simd_broadcast_first(T x, EMULATOR_SITE) {
  auto gathered = EMULATOR_GATHER(T, x, 0, "simd_broadcast_first");
  return gathered.from(__builtin_ctz(gathered.active));
}

#define EMULATOR_PREFIX(NAME, START, OP, LAST)                              \
  template <class T>                                                        \
  EMULATOR_UNCHECKED T NAME(T x, EMULATOR_SITE) {                           \
    int lane = int(emulator_lane());                                        \
    auto gathered = EMULATOR_GATHER(T, x, 0, #NAME);                        \
    T result = T(START);                                                    \
    for (int other = 0; other < LAST; other++)                              \
      if (gathered.has(other)) result = T(result OP gathered[other].value); \
    return result;                                                          \
  }
EMULATOR_PREFIX(simd_prefix_inclusive_sum, 0, +, lane + 1)
EMULATOR_PREFIX(simd_prefix_exclusive_sum, 0, +, lane)
EMULATOR_PREFIX(simd_prefix_inclusive_product, 1, *, lane + 1)
EMULATOR_PREFIX(simd_prefix_exclusive_product, 1, *, lane)

// Which lanes said yes.
struct simd_vote {
  ulong votes, active;
  explicit operator ulong() const { return votes; }
  bool all() const { return votes == active; }
  bool any() const { return votes != 0; }
};
EMULATOR_UNCHECKED inline simd_vote simd_ballot(bool yes, EMULATOR_SITE) {
  auto gathered = EMULATOR_GATHER(uint, yes, 0, "simd_ballot");
  simd_vote vote{0, gathered.active};
  for (int lane = 0; lane < 32; lane++)
    if (gathered.has(lane)) vote.votes |= ulong(gathered[lane].value) << lane;
  return vote;
}
EMULATOR_UNCHECKED inline bool simd_all(bool yes, EMULATOR_SITE) { return simd_ballot(yes, file, line).all(); }
EMULATOR_UNCHECKED inline bool simd_any(bool yes, EMULATOR_SITE) { return simd_ballot(yes, file, line).any(); }

}  // namespace metal
