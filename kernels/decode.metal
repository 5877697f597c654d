// Attention of a few new queries over a long cache: each split of the keys gives its own output and log-sum-exp.
//
// Split keys: Dao et al. 2023, Flash-Decoding, https://crfm.stanford.edu/2023/10/12/flashdecoding.html. Query heads
// that share a key head are worked on together, so that the cache is read once for all of them: Ainslie et al. 2023,
// https://arxiv.org/abs/2305.13245. The splits are put together by combine.metal; one split alone is the result.
//
// A row is one query of one of the heads that share the keys, head by head. A threadgroup has ROWS rows and one split,
// and each of its SIMDGROUPS simdgroups every SIMDGROUPS-th four keys of it, eight lanes a key; each eight lanes keep a
// running maximum, sum and output of their own, which meet at the end.
//
// Threadgroup memory, bytes: 4 SIMDGROUPS ROWS (DV + 2).
// Device memory, bytes a key head and row of the batch, R = T H / Hkv rows: read ceil(R / ROWS) S (DK + DV) e, less the
// keys that are not seen, and n SIMDGROUPS R DK e for n splits; written n R (DV e' + 4), e' = sizeof(Output).
// Barriers: one.
// Registers a thread, 4 bytes each: ROWS (DK + DV + 16) / 8 + (DK + DV) / 8 and about 30 more; the plan keeps ROWS (DK
// + DV) at 512 or less.

#include "unroll.metal"
#include "exponential.metal"
#include "lanes.metal"
#include "mask.metal"

threadgroup float outputs[SIMDGROUPS * ROWS * DV];
threadgroup float tops[SIMDGROUPS * ROWS];
threadgroup float totals[SIMDGROUPS * ROWS];

const uint lane = thread_index_in_simdgroup;
const int simdgroup = simdgroup_index_in_threadgroup;
const int B = query_shape[0];
const int H = query_shape[1];
const int T = query_shape[2];
const int S = key_shape[2];
const int n_sharing = H / key_shape[1];
const int n_blocks = (n_sharing * T + ROWS - 1) / ROWS;
const int split = threadgroup_position_in_grid.x;
const int shared_head = threadgroup_position_in_grid.y / n_blocks;
const int first_row = threadgroup_position_in_grid.y % n_blocks * ROWS;
const int batch = threadgroup_position_in_grid.z;
const int splits = threadgroups_per_grid.x;
const int keys_a_split = (S + splits - 1) / splits;
const int stop = metal::min((split + 1) * keys_a_split, S);

// What does not depend on the head; the array's part of the mask is looked up row by row.
const Mask<DOCUMENTS, false> mask = mask_of<DOCUMENTS, false>(
    slots, hidden + 4 * batch, query_documents + batch * T, key_documents + batch * S, allowed, 0, 0);
const int2 span = span_of<DOCUMENTS>(mask.query_documents, 0, T - 1, lane);
const device Element* head_keys = key + batch * key_strides[0] + shared_head * key_strides[1];
const device Element* head_values = value + batch * value_strides[0] + shared_head * value_strides[1];

// The number of splits is no part of the text: a growing cache would have it compiled anew.
int rows[ROWS];
float queries[ROWS][DK / 8];
float context[ROWS][DV / 8] = {};
float top[ROWS];
float total[ROWS] = {};
UNROLL
for (int r = 0; r < ROWS; r++) {
  const int head = shared_head * n_sharing + (first_row + r) / T;
  rows[r] = (first_row + r) % T;
  load_shared_part<Element, DK>(
      queries[r],
      query + batch * query_strides[0] + head * query_strides[1] + rows[r] * query_strides[2],
      query_strides[3],
      first_row + r < n_sharing * T,
      lane);
  top[r] = -metal::numeric_limits<float>::max();
}

for (int first = split * keys_a_split + 4 * simdgroup; first < stop; first += 4 * SIMDGROUPS) {
  const int position = first + key_of(lane);
  const bool present = position < stop && mask.reaches(0, T - 1, span, position);
  if (!metal::simd_any(present)) continue;

  float keys[DK / 8];
  float values[DV / 8];
  load_part<Element, DK>(keys, head_keys + position * key_strides[2], key_strides[3], present, lane);
  load_part<Element, DV>(values, head_values + position * value_strides[2], value_strides[3], present, lane);
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    float score = product<DK>(queries[r], keys) * scale;
    bool seen = present && first_row + r < n_sharing * T && mask.allows(rows[r], position);
    if ((ALLOWED || BIASED) && seen) {
      const int head = shared_head * n_sharing + (first_row + r) / T;
      if (BIASED) {
        const device float* row_bias =
            bias + batch * bias_strides[0] + head * bias_strides[1] + rows[r] * bias_strides[2];
        score += row_bias[position * int(bias_strides[3])];
      }
      if (ALLOWED) {
        const device bool* row_allowed =
            allowed + batch * allowed_strides[0] + head * allowed_strides[1] + rows[r] * allowed_strides[2];
        seen = row_allowed[position * int(allowed_strides[3])];
      }
    }
    const float highest = metal::max(top[r], seen ? score : -INFINITY);
    const float shrink = power_of_e(top[r] - highest);
    const float weight = seen ? power_of_e(score - highest) : 0;
    top[r] = highest;
    total[r] = total[r] * shrink + weight;
    UNROLL
    for (int i = 0; i < DV / 8; i++) context[r][i] = context[r][i] * shrink + weight * values[i];
  }
}

// The four keys of a simdgroup meet: lanes that hold the same part differ in bits 3 and 4.
UNROLL
for (int r = 0; r < ROWS; r++) {
  float highest = metal::max(top[r], metal::simd_shuffle_xor(top[r], 8));
  highest = metal::max(highest, metal::simd_shuffle_xor(highest, 16));
  const float shrink = power_of_e(top[r] - highest);
  float sum = total[r] * shrink;
  sum += metal::simd_shuffle_xor(sum, 8);
  sum += metal::simd_shuffle_xor(sum, 16);
  UNROLL
  for (int i = 0; i < DV / 8; i++) {
    float part = context[r][i] * shrink;
    part += metal::simd_shuffle_xor(part, 8);
    part += metal::simd_shuffle_xor(part, 16);
    if (key_of(lane) == 0) outputs[(simdgroup * ROWS + r) * DV + part_of(lane) * (DV / 8) + i] = part;
  }
  if (lane == 0) {
    tops[simdgroup * ROWS + r] = highest;
    totals[simdgroup * ROWS + r] = sum;
  }
}
threadgroup_barrier(metal::mem_flags::mem_threadgroup);

// The simdgroups meet: a thread an element of the output.
for (int i = thread_index_in_threadgroup; i < ROWS * DV; i += 32 * SIMDGROUPS) {
  const int r = i / DV;
  if (first_row + r >= n_sharing * T) break;
  float highest = -metal::numeric_limits<float>::max();
  UNROLL
  for (int s = 0; s < SIMDGROUPS; s++) highest = metal::max(highest, tops[s * ROWS + r]);
  float sum = 0;
  float part = 0;
  UNROLL
  for (int s = 0; s < SIMDGROUPS; s++) {
    const float shrink = power_of_e(tops[s * ROWS + r] - highest);
    sum += totals[s * ROWS + r] * shrink;
    part += outputs[(s * ROWS + r) * DV + i % DV] * shrink;
  }
  const int64_t place =
      ((int64_t(split) * B + batch) * H + shared_head * n_sharing + (first_row + r) / T) * T + (first_row + r) % T;
  output[place * DV + i % DV] = Output(sum == 0 ? 0 : part / sum);
  if (i % DV == 0) lse[place] = sum == 0 ? -INFINITY : highest + metal::log(sum);
}
