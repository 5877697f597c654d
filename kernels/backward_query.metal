// The gradient of the queries, from the log-sum-exp that the forward pass gave: the weights are made again, not read.
//
// With p = exp(score - lse), dp = do v^T and delta = sum(do o) a row:  dq = scale * (p (dp - delta)) k.
// Dao 2023, FlashAttention-2, https://arxiv.org/abs/2307.08691, section 3.1.2; queries and keys have a kernel each, so
// that nothing is added to by two threadgroups, and the result is the same each time.
//
// A threadgroup has 8 SIMDGROUPS queries of one head, a simdgroup eight of them. Tiles of KEYS keys and values come
// into threadgroup memory in turn; a tile that no query of the threadgroup sees is not read.
//
// Threadgroup memory, bytes, e = sizeof(Element): KEYS (DK + DV) e + 32 KEYS.
// Device memory, bytes a head and row of the batch: read T (DK + DV) e + 8 T + ceil(T / (8 SIMDGROUPS)) S (DK + DV) e,
// less the tiles that are not seen; written T DK e. Masks as in forward.metal.
// Barriers: two a tile.
// Registers a thread, 4 bytes each: (DK + DV) / 8 (e / 2) + DK / 4 and about 40 more: above DK = DV = 160 in
// half types and 96 in float32 the compiler spills.

#include "unroll.metal"
#include "exponential.metal"
#include "fragment.metal"
#include "mask.metal"

constexpr int QUERIES = 8 * SIMDGROUPS;
constexpr int PAD = 16 / sizeof(Element);
constexpr int KEY_PITCH = DK + PAD;
constexpr int VALUE_PITCH = DV + PAD;
threadgroup Element keys[KEYS * KEY_PITCH];
threadgroup Element values[KEYS * VALUE_PITCH];

const uint lane = thread_index_in_simdgroup;
const uint thread_index = thread_index_in_threadgroup;
const int T = query_shape[2];
const int S = key_shape[2];
const int batch = threadgroup_position_in_grid.z;
const int head = threadgroup_position_in_grid.y;
const int shared_head = head / (query_shape[1] / key_shape[1]);
const int first_row = threadgroup_position_in_grid.x * QUERIES;
const int last_row = metal::min(first_row + QUERIES, T) - 1;
const int row = first_row + 8 * simdgroup_index_in_threadgroup + row_of(lane);
const int column = column_of(lane);
const int64_t place = (int64_t(batch) * query_shape[1] + head) * T + row;

const Mask<DOCUMENTS, ALLOWED> mask = mask_of<DOCUMENTS, ALLOWED>(
    slots,
    hidden + 4 * batch,
    query_documents + batch * T,
    key_documents + batch * S,
    allowed + batch * allowed_strides[0] + head * allowed_strides[1],
    allowed_strides[2],
    allowed_strides[3]);
const int2 span = span_of<DOCUMENTS>(mask.query_documents, first_row, last_row, lane);
const device float* row_bias = bias + batch * bias_strides[0] + head * bias_strides[1] + row * bias_strides[2];
const device Element* head_keys = key + batch * key_strides[0] + shared_head * key_strides[1];
const device Element* head_values = value + batch * value_strides[0] + shared_head * value_strides[1];

metal::vec<Element, 2> queries[DK / 8];
metal::vec<Element, 2> cotangents[DV / 8];
load_row<Element, DK>(
    queries,
    query + batch * query_strides[0] + head * query_strides[1] + row * query_strides[2],
    query_strides[3],
    row < T,
    lane);
load_row<Element, DV>(
    cotangents,
    cotangent + batch * cotangent_strides[0] + head * cotangent_strides[1] + row * cotangent_strides[2],
    cotangent_strides[3],
    row < T,
    lane);

const float row_lse = row < T ? lse[place] : 0;
const float row_delta = row < T ? delta[place] : 0;
float2 gradient[DK / 8] = {};

for (int first_key = 0; first_key < S; first_key += KEYS) {
  const int lane_key = metal::min(first_key + int(lane) % KEYS, S - 1);
  if (!metal::simd_any(mask.reaches(first_row, last_row, span, lane_key))) continue;

  threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  load_tile<Element, KEYS, DK, KEY_PITCH>(
      keys, head_keys + first_key * key_strides[2], key_strides[2], key_strides[3], S - first_key, thread_index,
      32 * SIMDGROUPS);
  load_tile<Element, KEYS, DV, VALUE_PITCH>(
      values, head_values + first_key * value_strides[2], value_strides[2], value_strides[3], S - first_key,
      thread_index, 32 * SIMDGROUPS);
  threadgroup_barrier(metal::mem_flags::mem_threadgroup);

  UNROLL
  for (int j = 0; j < KEYS / 8; j++) {
    const threadgroup Element* tile_keys = keys + 8 * j * KEY_PITCH;
    const threadgroup Element* tile_values = values + 8 * j * VALUE_PITCH;
    float2 scores = 0;
    float2 lost = 0;
    float2 slopes = 0;  // of the output by the weights: do v^T
    UNROLL
    for (int d = 0; d < DK / 8; d++) {
      add<Element>(scores, lost, multiply(widened(queries[d]), turned_piece(tile_keys + 8 * d, KEY_PITCH, lane)));
    }
    UNROLL
    for (int d = 0; d < DV / 8; d++) {
      slopes += multiply(widened(cotangents[d]), turned_piece(tile_values + 8 * d, VALUE_PITCH, lane));
    }
    UNROLL
    for (int i = 0; i < 2; i++) {
      const int position = first_key + 8 * j + column + i;
      const bool seen = row < T && position < S && mask.allows(row, position);
      float score = scores[i] * scale;
      if (BIASED && seen) score += row_bias[position * int(bias_strides[3])];
      // A blocked score and the log-sum-exp of an empty row are both -inf, and their difference is no number.
      const bool counts = seen && score != -INFINITY;
      slopes[i] = counts ? scale * power_of_e(score - row_lse) * (slopes[i] - row_delta) : 0;
    }
    UNROLL
    for (int d = 0; d < DK / 8; d++) {
      gradient[d] = multiply_add(slopes, piece(tile_keys + 8 * d, KEY_PITCH, lane), gradient[d]);
    }
  }
}

if (row < T) {
  UNROLL
  for (int d = 0; d < DK / 8; d++) {
    query_gradient[place * DK + 8 * d + column] = Element(gradient[d].x);
    query_gradient[place * DK + 8 * d + column + 1] = Element(gradient[d].y);
  }
}
