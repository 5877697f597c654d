// Matrices of 8 x 8 that the lanes of a simdgroup hold together, two neighbouring elements each.
#pragma once
#include "simd.h"

namespace emulator {

// Which elements a lane holds is not in Metal's specification; this is the layout on which MLX's own kernels rely.
constexpr int row_of(int lane) { return (lane / 4 & 4) + lane / 2 % 4; }
constexpr int column_of(int lane) { return (lane / 4 & 2) * 2 + lane % 2 * 2; }

struct Owners {
  uint8_t lane[8][8];
  constexpr Owners() : lane() {
    for (int owner = 0; owner < 32; owner++)
      for (int element = 0; element < 2; element++) lane[row_of(owner)][column_of(owner) + element] = uint8_t(owner);
  }
};
static constexpr Owners owners{};

struct Factors {
  float left[2], right[2];
};

}  // namespace emulator

namespace metal {

template <class T, int Rows = 8, int Columns = 8>
struct simdgroup_matrix {
  static_assert(Rows == 8 && Columns == 8, "a simdgroup matrix has 8 x 8 elements");
  vec<T, 2> own;

  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T diagonal) {
    int lane = int(emulator_lane()), row = emulator::row_of(lane), column = emulator::column_of(lane);
    own = vec<T, 2>(row == column ? diagonal : T(0.0f), row == column + 1 ? diagonal : T(0.0f));
  }
  vec<T, 2>& thread_elements() { return own; }
  const vec<T, 2>& thread_elements() const { return own; }
};

template <class T, int Rows = 8, int Columns = 8>
simdgroup_matrix<T, Rows, Columns> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, Rows, Columns> filled;
  filled.own = vec<T, 2>(value);
  return filled;
}

// Products and sums are in float, whatever the types, and rounded once at the end.
template <class D, class A, class B, class C>
EMULATOR_UNCHECKED void simdgroup_multiply_accumulate(simdgroup_matrix<D>& result, simdgroup_matrix<A> left,
                                                      simdgroup_matrix<B> right, simdgroup_matrix<C> sum,
                                                      EMULATOR_SITE) {
  using emulator::Factors;
  Factors factors{{float(left.own.x), float(left.own.y)}, {float(right.own.x), float(right.own.y)}};
  auto gathered = emulator::gather<Factors>(factors, 0, emulator::Meeting::matrix_multiply,
                                            "simdgroup_multiply_accumulate", file, line);
  if (gathered.active != 0xffffffffu) {
    emulator_report("simd", "needs all 32 lanes", &gathered.call);
    return;
  }
  int lane = int(emulator_lane()), row = emulator::row_of(lane), column = emulator::column_of(lane);
  float first = float(sum.own.x), second = float(sum.own.y);
  for (int inner = 0; inner < 8; inner++) {
    float factor = gathered[emulator::owners.lane[row][inner]].value.left[inner % 2];
    const float* other = gathered[emulator::owners.lane[inner][column]].value.right;
    first += factor * other[0];
    second += factor * other[1];
  }
  result.own.x = D(first);
  result.own.y = D(second);
}
template <class D, class A, class B>
EMULATOR_UNCHECKED void simdgroup_multiply(simdgroup_matrix<D>& result, simdgroup_matrix<A> left,
                                           simdgroup_matrix<B> right, EMULATOR_SITE) {
  simdgroup_matrix<float> zero;
  zero.own.x = zero.own.y = 0.0f;
  simdgroup_multiply_accumulate(result, left, right, zero, file, line);
}

EMULATOR_UNCHECKED inline void meet_for_matrix(const char* name, const char* file, int line) {
  emulator::Call call{emulator::Meeting::matrix_move, name, file, line, 0};
  emulator_wait(&call);
}
// Where element `column` of row `row` lies in memory.
EMULATOR_INLINE ulong place_in_memory(ulong row, ulong column, ulong width, ulong2 origin, bool transposed) {
  return transposed ? (origin.x + column) * width + origin.y + row : (origin.y + row) * width + origin.x + column;
}
template <class T>
EMULATOR_INLINE void simdgroup_load(simdgroup_matrix<T>& matrix, const T* source, ulong width = 8,
                                    ulong2 origin = ulong2(0), bool transposed = false, EMULATOR_SITE) {
  meet_for_matrix("simdgroup_load", file, line);
  int lane = int(emulator_lane()), row = emulator::row_of(lane), column = emulator::column_of(lane);
  matrix.own.x = source[place_in_memory(row, column, width, origin, transposed)];
  matrix.own.y = source[place_in_memory(row, column + 1, width, origin, transposed)];
}
template <class T>
EMULATOR_INLINE void simdgroup_store(simdgroup_matrix<T> matrix, T* target, ulong width = 8, ulong2 origin = ulong2(0),
                                     bool transposed = false, EMULATOR_SITE) {
  meet_for_matrix("simdgroup_store", file, line);
  int lane = int(emulator_lane()), row = emulator::row_of(lane), column = emulator::column_of(lane);
  target[place_in_memory(row, column, width, origin, transposed)] = matrix.own.x;
  target[place_in_memory(row, column + 1, width, origin, transposed)] = matrix.own.y;
}

using simdgroup_float8x8 = simdgroup_matrix<float>;
using simdgroup_half8x8 = simdgroup_matrix<half>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat>;

}  // namespace metal
