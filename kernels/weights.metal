// The attention weights of chosen heads and rows, made again from the log-sum-exp: exp(score - lse).
//
// A threadgroup has ROWS of the chosen rows of one chosen head, and a strip of 64 SIMDGROUPS keys, eight lanes a key.
//
// Threadgroup memory: none. Barriers: none.
// Device memory, bytes a chosen head and row of the batch, M chosen rows: read ceil(M / ROWS) S DK e
// and ceil(S / 64) M (DK e + 4); written 4 M S.
// Registers a thread, 4 bytes each: (ROWS + 1) DK / 8 + 5 ROWS and about 30 more; the plan keeps ROWS DK at 256 or
// less.

#include "unroll.metal"
#include "exponential.metal"
#include "lanes.metal"
#include "mask.metal"

const uint lane = thread_index_in_simdgroup;
const int T = query_shape[2];
const int S = key_shape[2];
const int n_rows = rows_shape[0];
const int batch = threadgroup_position_in_grid.z;
const int n_blocks = (n_rows + ROWS - 1) / ROWS;
const int chosen_head = threadgroup_position_in_grid.y / n_blocks;
const int first_row = threadgroup_position_in_grid.y % n_blocks * ROWS;
const int head = heads[chosen_head];
const int shared_head = head / (query_shape[1] / key_shape[1]);
const int begin = (threadgroup_position_in_grid.x * SIMDGROUPS + simdgroup_index_in_threadgroup) * 64;

const Mask<DOCUMENTS, ALLOWED> mask = mask_of<DOCUMENTS, ALLOWED>(
    slots,
    hidden + 4 * batch,
    query_documents + batch * T,
    key_documents + batch * S,
    allowed + batch * allowed_strides[0] + head * allowed_strides[1],
    allowed_strides[2],
    allowed_strides[3]);
const device Element* head_keys = key + batch * key_strides[0] + shared_head * key_strides[1];
const int64_t first_place = (int64_t(batch) * query_shape[1] + head) * T;

float queries[ROWS][DK / 8];
float lses[ROWS];
int chosen[ROWS];
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

for (int first = begin; first < metal::min(begin + 64, S); first += 4) {
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
    if (part_of(lane) == 0 && position < S && first_row + r < n_rows) {
      const int64_t place = ((int64_t(batch) * heads_shape[0] + chosen_head) * n_rows + first_row + r) * S + position;
      weights[place] = seen && score != -INFINITY ? power_of_e(score - lses[r]) : 0;
    }
  }
}
