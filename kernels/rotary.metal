// Turn the queries and the keys of a layer by the angles of their positions, in one launch.
//
// Su et al. 2021, https://arxiv.org/abs/2104.09864; feature i is paired with feature i + D / 2. In plain MLX this is
// eight operations each for queries and keys. The new keys are not put into the cache here: a custom kernel cannot
// write into an array that is there, and to copy the cache would cost more than the launch.
//
// A thread has one pair of features of one head and position, of the queries first, then of the keys.
//
// Threadgroup memory: none. Barriers: none.
// Device memory, bytes a position and row of the batch: read and written (H + Hkv) D e each; angles (H + Hkv) 4 D.

const int D = 2 * HALF;
const int H = query_shape[1];
const int T = query_shape[2];
const int Hkv = key_shape[1];
const int thread_index = thread_position_in_grid.x;
const int feature = thread_index % HALF;
const int row = thread_index / HALF % T;
const int head = thread_index / (HALF * T) % (H + Hkv);
const int batch = thread_index / (HALF * T * (H + Hkv));
if (batch >= query_shape[0]) return;

const int64_t angle = batch * cosine_strides[0] + row * cosine_strides[2] + feature * cosine_strides[3];
const float along = cosine[angle];
const float across = sine[batch * sine_strides[0] + row * sine_strides[2] + feature * sine_strides[3]];
if (head < H) {
  const int64_t found = batch * query_strides[0] + head * query_strides[1] + row * query_strides[2];
  const float x = query[found + feature * query_strides[3]];
  const float y = query[found + (feature + HALF) * query_strides[3]];
  const int64_t place = ((int64_t(batch) * H + head) * T + row) * D + feature;
  turned_query[place] = Element(x * along - y * across);
  turned_query[place + HALF] = Element(x * across + y * along);
} else {
  const int key_head = head - H;
  const int64_t found = batch * key_strides[0] + key_head * key_strides[1] + row * key_strides[2];
  const float x = key[found + feature * key_strides[3]];
  const float y = key[found + (feature + HALF) * key_strides[3]];
  const int64_t place = ((int64_t(batch) * Hkv + key_head) * T + row) * D + feature;
  turned_key[place] = Element(x * along - y * across);
  turned_key[place + HALF] = Element(x * across + y * along);
}
