// What the weights of chosen heads and rows add up to, and how much of it lies outside an intended mask; no weight is
// written.
//
// A right model gives 1 and 0, and 0 and 0 for a row that sees nothing. A threadgroup has ROWS of the chosen rows of
// one chosen head, and all keys, four a simdgroup at a time, eight lanes a key.
//
// Threadgroup memory, bytes: 8 SIMDGROUPS ROWS. Barriers: one.
// Device memory, bytes a chosen head and row of the batch, M chosen rows: read ceil(M / ROWS) S DK e
// and SIMDGROUPS M (DK e + 4); written 8 M.
// Registers a thread, 4 bytes each: (ROWS + 1) DK / 8 + 5 ROWS and about 30 more; the plan keeps ROWS DK at 256 or
// less.

#include "unroll.metal"
#include "exponential.metal"
#include "lanes.metal"
#include "mask.metal"

threadgroup float sums[SIMDGROUPS * ROWS];
threadgroup float strays[SIMDGROUPS * ROWS];

const uint lane = thread_index_in_simdgroup;
const int simdgroup = simdgroup_index_in_threadgroup;
const int T = query_shape[2];
const int S = key_shape[2];
const int n_rows = rows_shape[0];
const int batch = threadgroup_position_in_grid.z;
const int chosen_head = threadgroup_position_in_grid.y;
const int first_row = threadgroup_position_in_grid.x * ROWS;
const int head = heads[chosen_head];
const int shared_head = head / (query_shape[1] / key_shape[1]);

const Mask<DOCUMENTS, ALLOWED> mask = mask_of<DOCUMENTS, ALLOWED>(
    slots,
    hidden + 4 * batch,
    query_documents + batch * T,
    key_documents + batch * S,
    allowed + batch * allowed_strides[0] + head * allowed_strides[1],
    allowed_strides[2],
    allowed_strides[3]);
const Mask<INTENDED_DOCUMENTS, INTENDED_ALLOWED> intended = mask_of<INTENDED_DOCUMENTS, INTENDED_ALLOWED>(
    intended_slots,
    intended_hidden + 4 * batch,
    intended_query_documents + batch * T,
    intended_key_documents + batch * S,
    intended_allowed + batch * intended_allowed_strides[0] + head * intended_allowed_strides[1],
    intended_allowed_strides[2],
    intended_allowed_strides[3]);
const device Element* head_keys = key + batch * key_strides[0] + shared_head * key_strides[1];
const int64_t first_place = (int64_t(batch) * query_shape[1] + head) * T;

float queries[ROWS][DK / 8];
float lses[ROWS];
int chosen[ROWS];
float sum[ROWS] = {};
float stray[ROWS] = {};
UNROLL
for (int r = 0; r < ROWS; r++) {
  chosen[r] = rows[metal::min(first_row + r, n_rows - 1)];
  load_shared_part<Element, DK>(
      queries[r],
      query + batch * query_strides[0] + head * query_strides[1] + chosen[r] * query_strides[2],
      query_strides[3],
      true,
      lane);
  lses[r] = lse[first_place + chosen[r]];
}

for (int first = 4 * simdgroup; first < S; first += 4 * SIMDGROUPS) {
  const int position = first + key_of(lane);
  float keys[DK / 8];
  load_part<Element, DK>(keys, head_keys + position * key_strides[2], key_strides[3], position < S, lane);
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    float score = product<DK>(queries[r], keys) * scale;
    const bool seen = position < S && mask.allows(chosen[r], position);
    if (BIASED && seen) {
      const device float* row_bias =
          bias + batch * bias_strides[0] + head * bias_strides[1] + chosen[r] * bias_strides[2];
      score += row_bias[position * int(bias_strides[3])];
    }
    // All eight lanes of a key hold the same weight: one of them counts it.
    const bool counts = part_of(lane) == 0 && seen && score != -INFINITY;
    const float weight = counts ? power_of_e(score - lses[r]) : 0;
    sum[r] += weight;
    if (counts && !intended.allows(chosen[r], position)) stray[r] += weight;
  }
}

UNROLL
for (int r = 0; r < ROWS; r++) {
  const float whole_sum = metal::simd_sum(sum[r]);
  const float whole_stray = metal::simd_sum(stray[r]);
  if (lane == 0) {
    sums[simdgroup * ROWS + r] = whole_sum;
    strays[simdgroup * ROWS + r] = whole_stray;
  }
}
threadgroup_barrier(metal::mem_flags::mem_threadgroup);

const int r = thread_index_in_threadgroup;
if (r < ROWS && first_row + r < n_rows) {
  float whole_sum = 0;
  float whole_stray = 0;
  UNROLL
  for (int s = 0; s < SIMDGROUPS; s++) {
    whole_sum += sums[s * ROWS + r];
    whole_stray += strays[s * ROWS + r];
  }
  const int64_t place = (int64_t(batch) * heads_shape[0] + chosen_head) * n_rows + first_row + r;
  row_sum[place] = whole_sum;
  outside[place] = whole_stray;
}
