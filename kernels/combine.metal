// Put the splits of decode.metal together: their outputs, weighted by the softmax of their log-sum-exps.
//
// Dao et al. 2023, Flash-Decoding. A threadgroup is one simdgroup and has one row, whose columns its lanes share; a
// lane looks after one split while the weights are made. A split that saw nothing weighs nothing.
//
// Threadgroup memory: none. Barriers: none.
// Device memory, bytes a row: read 4 (DV + 1) for each split; written DV e + 4.

#include "exponential.metal"

const uint lane = thread_index_in_simdgroup;
const int rows = threadgroups_per_grid.y;
const int row = threadgroup_position_in_grid.y;
const int splits = split_lse_shape[0];

const float own = int(lane) < splits ? split_lse[lane * rows + row] : -INFINITY;
const float highest = metal::max(metal::simd_max(own), -metal::numeric_limits<float>::max());
const float share = power_of_e(own - highest);
const float sum = metal::simd_sum(share);
const float weight = sum == 0 ? 0 : share / sum;

for (int column = lane; column - int(lane) < DV; column += 32) {
  float mean = 0;
  for (int split = 0; split < splits; split++) {
    const float split_weight = metal::simd_shuffle(weight, ushort(split));
    if (column < DV) mean += split_weight * split_output[(int64_t(split) * rows + row) * DV + column];
  }
  if (column < DV) output[int64_t(row) * DV + column] = Element(mean);
}
if (lane == 0) lse[row] = sum == 0 ? -INFINITY : highest + metal::log(sum);
