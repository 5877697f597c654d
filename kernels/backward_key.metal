// The gradients of keys and values, from the log-sum-exp that the forward pass gave.
//
// With p = exp(score - lse), dp = do v^T and delta = sum(do o) a row:  dv = p^T do,  dk = scale * (p (dp - delta))^T q.
// Dao 2023, FlashAttention-2, https://arxiv.org/abs/2307.08691, section 3.1.2. A threadgroup goes through all the query
// heads that share its keys, one after the other: no atomics, the same result each time.
//
// A threadgroup has 8 SIMDGROUPS keys of one key head, a simdgroup eight of them; scores are held transposed, a key a
// row. Tiles of QUERIES queries, with what came back to them, come into threadgroup memory in turn; a tile in which no
// query sees a key of the threadgroup is not read.
//
// Threadgroup memory, bytes, e = sizeof(Element): QUERIES (DK + DV) e + 40 QUERIES.
// Device memory, bytes a key head and row of the batch, G = H / Hkv: read S (DK + DV) e
// + G ceil(S / (8 SIMDGROUPS)) T ((DK + DV) e + 8), less the tiles that are not seen; written S (DK + DV) e.
// Barriers: two a tile.
// Registers a thread, 4 bytes each: (DK + DV) / 8 (e / 2) + (DK + DV) / 4 and about 40 more; above DK = DV = 128 in
// half types and 64 in float32 the compiler spills.

#include "unroll.metal"
#include "exponential.metal"
#include "fragment.metal"
#include "mask.metal"

constexpr int KEYS = 8 * SIMDGROUPS;
constexpr int PAD = 16 / sizeof(Element);
constexpr int QUERY_PITCH = DK + PAD;
constexpr int COTANGENT_PITCH = DV + PAD;
threadgroup Element queries[QUERIES * QUERY_PITCH];
threadgroup Element cotangents[QUERIES * COTANGENT_PITCH];
threadgroup float lses[QUERIES];
threadgroup float deltas[QUERIES];

const uint lane = thread_index_in_simdgroup;
const uint thread_index = thread_index_in_threadgroup;
const int T = query_shape[2];
const int S = key_shape[2];
const int batch = threadgroup_position_in_grid.z;
const int shared_head = threadgroup_position_in_grid.y;
const int n_sharing = query_shape[1] / key_shape[1];
const int first_key = threadgroup_position_in_grid.x * KEYS;
const int last_key = metal::min(first_key + KEYS, S) - 1;
const int position = first_key + 8 * simdgroup_index_in_threadgroup + row_of(lane);
const int column = column_of(lane);

metal::vec<Element, 2> keys[DK / 8];
metal::vec<Element, 2> values[DV / 8];
load_row<Element, DK>(
    keys,
    key + batch * key_strides[0] + shared_head * key_strides[1] + position * key_strides[2],
    key_strides[3],
    position < S,
    lane);
load_row<Element, DV>(
    values,
    value + batch * value_strides[0] + shared_head * value_strides[1] + position * value_strides[2],
    value_strides[3],
    position < S,
    lane);

const int2 span = span_of<DOCUMENTS>(key_documents + batch * S, first_key, last_key, lane);
float2 of_keys[DK / 8] = {};
float2 of_values[DV / 8] = {};

for (int head = shared_head * n_sharing; head < (shared_head + 1) * n_sharing; head++) {
  const Mask<DOCUMENTS, ALLOWED> mask = mask_of<DOCUMENTS, ALLOWED>(
      slots,
      hidden + 4 * batch,
      query_documents + batch * T,
      key_documents + batch * S,
      allowed + batch * allowed_strides[0] + head * allowed_strides[1],
      allowed_strides[2],
      allowed_strides[3]);
  const device float* head_bias = bias + batch * bias_strides[0] + head * bias_strides[1];
  const device Element* head_queries = query + batch * query_strides[0] + head * query_strides[1];
  const device Element* head_cotangents = cotangent + batch * cotangent_strides[0] + head * cotangent_strides[1];
  const int64_t first_place = (int64_t(batch) * query_shape[1] + head) * T;

  for (int first_row = 0; first_row < T; first_row += QUERIES) {
    const int lane_row = metal::min(first_row + int(lane) % QUERIES, T - 1);
    if (!metal::simd_any(mask.is_reached(lane_row, first_key, last_key, span))) continue;

    threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    load_tile<Element, QUERIES, DK, QUERY_PITCH>(
        queries, head_queries + first_row * query_strides[2], query_strides[2], query_strides[3], T - first_row,
        thread_index, 32 * SIMDGROUPS);
    load_tile<Element, QUERIES, DV, COTANGENT_PITCH>(
        cotangents, head_cotangents + first_row * cotangent_strides[2], cotangent_strides[2], cotangent_strides[3],
        T - first_row, thread_index, 32 * SIMDGROUPS);
    if (thread_index < QUERIES && first_row + int(thread_index) < T) {
      lses[thread_index] = lse[first_place + first_row + thread_index];
      deltas[thread_index] = delta[first_place + first_row + thread_index];
    }
    threadgroup_barrier(metal::mem_flags::mem_threadgroup);

    UNROLL
    for (int j = 0; j < QUERIES / 8; j++) {
      const threadgroup Element* tile_queries = queries + 8 * j * QUERY_PITCH;
      const threadgroup Element* tile_cotangents = cotangents + 8 * j * COTANGENT_PITCH;
      float2 scores = 0;
      float2 lost = 0;
      float2 slopes = 0;
      UNROLL
      for (int d = 0; d < DK / 8; d++) {
        add<Element>(scores, lost, multiply(widened(keys[d]), turned_piece(tile_queries + 8 * d, QUERY_PITCH, lane)));
      }
      UNROLL
      for (int d = 0; d < DV / 8; d++) {
        slopes += multiply(widened(values[d]), turned_piece(tile_cotangents + 8 * d, COTANGENT_PITCH, lane));
      }
      float2 weights = 0;
      UNROLL
      for (int i = 0; i < 2; i++) {
        const int tile_row = 8 * j + column + i;
        const int row = first_row + tile_row;
        const bool seen = row < T && position < S && mask.allows(row, position);
        float score = scores[i] * scale;
        if (BIASED && seen) score += head_bias[row * bias_strides[2] + position * bias_strides[3]];
        if (seen && score != -INFINITY) {
          weights[i] = power_of_e(score - lses[tile_row]);
          slopes[i] = scale * weights[i] * (slopes[i] - deltas[tile_row]);
        } else {
          slopes[i] = 0;
        }
      }
      UNROLL
      for (int d = 0; d < DV / 8; d++) {
        of_values[d] =
            multiply_add(weights, piece(tile_cotangents + 8 * d, COTANGENT_PITCH, lane), of_values[d]);
      }
      UNROLL
      for (int d = 0; d < DK / 8; d++) {
        of_keys[d] = multiply_add(slopes, piece(tile_queries + 8 * d, QUERY_PITCH, lane), of_keys[d]);
      }
    }
  }
}

if (position < S) {
  const int64_t place = (int64_t(batch) * key_shape[1] + shared_head) * S + position;
  UNROLL
  for (int d = 0; d < DK / 8; d++) {
    key_gradient[place * DK + 8 * d + column] = Element(of_keys[d].x);
    key_gradient[place * DK + 8 * d + column + 1] = Element(of_keys[d].y);
  }
  UNROLL
  for (int d = 0; d < DV / 8; d++) {
    value_gradient[place * DV + 8 * d + column] = Element(of_values[d].x);
    value_gradient[place * DV + 8 * d + column + 1] = Element(of_values[d].y);
  }
}
