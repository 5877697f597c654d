// softmax(scale q k^T + bias) v over the keys that the mask allows, and the log-sum-exp of every row of scores.
//
// Exact, in tiles: Dao et al. 2022, FlashAttention, https://arxiv.org/abs/2205.14135, with the running maximum and sum
// of Milakov and Gimelshein 2018, https://arxiv.org/abs/1805.02867.
//
// A threadgroup has 8 SIMDGROUPS queries of one head, a simdgroup eight of them, in registers. Tiles of KEYS keys and
// values come into threadgroup memory in turn; a tile that no query of the threadgroup sees is not read at all.
// A row that sees nothing gives zeros and -inf.
//
// Threadgroup memory, bytes, e = sizeof(Element): KEYS (DK + DV) e + 32 KEYS (rows are 16 bytes longer than they need
// to be, so that the rows of a piece start in different banks).
// Device memory, bytes a head and row of the batch: read T DK e + ceil(T / (8 SIMDGROUPS)) S (DK + DV) e, less the
// tiles that are not seen; written T DV e + 4 T. Documents add 4 (T + S ceil(T / 8 SIMDGROUPS)) and more, an array its
// visible part. Barriers: two a tile.
// Registers a thread, 4 bytes each: DK / 8 (e / 2) + DV / 4 + KEYS / 4 and about 30 more: below 128, the most that
// leave room for 768 threads a core, up to DK = DV = 192 in half types and 128 in float32; above, the compiler spills.

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
load_row<Element, DK>(
    queries,
    query + batch * query_strides[0] + head * query_strides[1] + row * query_strides[2],
    query_strides[3],
    row < T,
    lane);

float2 context[DV / 8] = {};
float top = -metal::numeric_limits<float>::max();  // finite, so that -inf - top stays -inf
float total = 0;

for (int first_key = 0; first_key < S; first_key += KEYS) {
  // One lane a key; every simdgroup comes to the same answer, so that all of them meet at the barriers.
  const int lane_key = metal::min(first_key + int(lane) % KEYS, S - 1);
  if (!metal::simd_any(mask.reaches(first_row, last_row, span, lane_key))) continue;
  const bool open = !BIASED && first_key + KEYS <= S && last_row == first_row + QUERIES - 1 &&
      metal::simd_all(mask.opens(first_row, last_row, lane_key));

  threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  load_tile<Element, KEYS, DK, KEY_PITCH>(
      keys, head_keys + first_key * key_strides[2], key_strides[2], key_strides[3], S - first_key, thread_index,
      32 * SIMDGROUPS);
  load_tile<Element, KEYS, DV, VALUE_PITCH>(
      values, head_values + first_key * value_strides[2], value_strides[2], value_strides[3], S - first_key,
      thread_index, 32 * SIMDGROUPS);
  threadgroup_barrier(metal::mem_flags::mem_threadgroup);

  float2 scores[KEYS / 8];
  float highest = top;
  UNROLL
  for (int j = 0; j < KEYS / 8; j++) {
    float2 products = 0;
    float2 lost = 0;
    UNROLL
    for (int d = 0; d < DK / 8; d++) {
      const threadgroup Element* corner = keys + 8 * j * KEY_PITCH + 8 * d;
      add<Element>(products, lost, multiply(widened(queries[d]), turned_piece(corner, KEY_PITCH, lane)));
    }
    scores[j] = products * scale;
    if (!open) {
      UNROLL
      for (int i = 0; i < 2; i++) {
        const int position = first_key + 8 * j + column + i;
        const bool seen = row < T && position < S && mask.allows(row, position);
        if (BIASED && seen) scores[j][i] += row_bias[position * int(bias_strides[3])];
        scores[j][i] = seen ? scores[j][i] : -INFINITY;
      }
    }
    highest = metal::max(highest, metal::max(scores[j].x, scores[j].y));
  }

  highest = row_max(highest);
  const float shrink = power_of_e(top - highest);
  top = highest;
  total *= shrink;
  UNROLL
  for (int d = 0; d < DV / 8; d++) context[d] *= shrink;
  UNROLL
  for (int j = 0; j < KEYS / 8; j++) {
    const float2 weights = float2(power_of_e(scores[j].x - top), power_of_e(scores[j].y - top));
    total += weights.x + weights.y;
    UNROLL
    for (int d = 0; d < DV / 8; d++) {
      context[d] = multiply_add(
          weights, piece(values + 8 * j * VALUE_PITCH + 8 * d, VALUE_PITCH, lane), context[d]);
    }
  }
}

total = row_sum(total);
if (row < T) {
  const int64_t place = (int64_t(batch) * query_shape[1] + head) * T + row;
  UNROLL
  for (int d = 0; d < DV / 8; d++) {
    const float2 mean = total == 0 ? float2(0) : context[d] / total;
    output[place * DV + 8 * d + column] = Element(mean.x);
    output[place * DV + 8 * d + column + 1] = Element(mean.y);
  }
  if (column == 0) lse[place] = total == 0 ? -INFINITY : top + metal::log(total);
}
