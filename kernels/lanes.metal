// Products of rows, eight lanes each: a simdgroup works on four keys at a time, and a lane on an eighth of each head.

#include <metal_simdgroup>

inline int part_of(uint lane) { return lane % 8; }

inline int key_of(uint lane) { return lane / 8; }

inline float sum_of_parts(float x) {
  x += metal::simd_shuffle_xor(x, 1);
  x += metal::simd_shuffle_xor(x, 2);
  return x + metal::simd_shuffle_xor(x, 4);
}

// This lane's eighth of a row that all four groups of lanes want: read once a simdgroup, and passed on.
template <typename Element, int WIDTH>
inline void load_shared_part(
    thread float* part, const device Element* row, int column_stride, bool present, uint lane) {
  UNROLL
  for (int i = 0; i < WIDTH / 8; i++) {
    const bool reads = present && key_of(lane) == 0;
    const float found = reads ? float(row[(part_of(lane) * (WIDTH / 8) + i) * column_stride]) : 0;
    part[i] = metal::simd_shuffle(found, part_of(lane));
  }
}

// This lane's eighth of its key's row.
template <typename Element, int WIDTH>
inline void load_part(thread float* part, const device Element* row, int column_stride, bool present, uint lane) {
  UNROLL
  for (int i = 0; i < WIDTH / 8; i++) {
    part[i] = present ? float(row[(part_of(lane) * (WIDTH / 8) + i) * column_stride]) : 0;
  }
}

template <int WIDTH>
inline float product(thread const float* a, thread const float* b) {
  float sum = 0;
  UNROLL
  for (int i = 0; i < WIDTH / 8; i++) sum = metal::fma(a[i], b[i], sum);
  return sum_of_parts(sum);
}
