// Matrices in pieces of 8 x 8, spread over the 32 lanes of a simdgroup: a lane holds two neighbouring columns of a row.
//
// Which row and columns a lane holds is not written in Apple's specification; MLX's own kernels (steel/attn/mma.h) rest
// on the same placing. Products are taken in float32 for every element type: on Apple's GPUs half types are no faster.

#include <metal_simdgroup>
#include <metal_simdgroup_matrix>

inline int row_of(uint lane) { return ((lane / 4) & 4) + (lane / 2) % 4; }

inline int column_of(uint lane) { return ((lane / 4) & 2) * 2 + (lane % 2) * 2; }

// a b + c
inline float2 multiply_add(float2 a, float2 b, float2 c) {
  metal::simdgroup_matrix<float, 8, 8> left, right, sum;
  reinterpret_cast<thread float2&>(left.thread_elements()) = a;
  reinterpret_cast<thread float2&>(right.thread_elements()) = b;
  reinterpret_cast<thread float2&>(sum.thread_elements()) = c;
  metal::simdgroup_multiply_accumulate(sum, left, right, sum);
  return reinterpret_cast<thread float2&>(sum.thread_elements());
}

inline float2 multiply(float2 a, float2 b) { return multiply_add(a, b, float2(0)); }

// Add to a sum. For float32 what rounding loses is kept for the next time (Kahan 1965): with scores of a hundred and
// more, the weights would show it. Half types have lost more already.
template <typename Element>
inline void add(thread float2& sum, thread float2& lost, float2 part) {
  if (sizeof(Element) < 4) {
    sum += part;
    return;
  }
  const float2 restored = part - lost;
  const float2 rounded = sum + restored;
  lost = (rounded - sum) - restored;
  sum = rounded;
}

// The four lanes that share a row differ in bits 0 and 3.
inline float row_sum(float x) {
  x += metal::simd_shuffle_xor(x, 1);
  return x + metal::simd_shuffle_xor(x, 8);
}

inline float row_max(float x) {
  x = metal::max(x, metal::simd_shuffle_xor(x, 1));
  return metal::max(x, metal::simd_shuffle_xor(x, 8));
}

template <typename Element>
inline float2 widened(metal::vec<Element, 2> pair) {
  return float2(float(pair.x), float(pair.y));
}

// This lane's two elements of the piece whose corner `tile` points to.
template <typename Element>
inline float2 piece(const threadgroup Element* tile, int pitch, uint lane) {
  const threadgroup Element* place = tile + row_of(lane) * pitch + column_of(lane);
  return float2(float(place[0]), float(place[1]));
}

// The same of the transposed piece.
template <typename Element>
inline float2 turned_piece(const threadgroup Element* tile, int pitch, uint lane) {
  const threadgroup Element* place = tile + column_of(lane) * pitch + row_of(lane);
  return float2(float(place[0]), float(place[pitch]));
}

// Copy rows of WIDTH elements into a tile, eight elements a thread at a time; what lies behind `rows_left` becomes
// zero.
template <typename Element, int ROWS, int WIDTH, int PITCH>
inline void load_tile(
    threadgroup Element* tile,
    const device Element* source,
    int row_stride,
    int column_stride,
    int rows_left,
    uint thread_index,
    uint n_threads) {
  for (int i = thread_index; i < ROWS * (WIDTH / 8); i += n_threads) {
    const int row = i / (WIDTH / 8);
    const int column = i % (WIDTH / 8) * 8;
    const device Element* place = source + row * row_stride + column * column_stride;
    threadgroup Element* target = tile + row * PITCH + column;
    const bool present = row < rows_left;
    if (column_stride == 1) {  // elements in a row can be loaded together
      UNROLL
      for (int c = 0; c < 8; c++) target[c] = present ? place[c] : Element(0);
    } else {
      UNROLL
      for (int c = 0; c < 8; c++) target[c] = present ? place[c * column_stride] : Element(0);
    }
  }
}

// A row of WIDTH elements, as pieces that stay in registers; zeros where the row is not there.
template <typename Element, int WIDTH>
inline void load_row(
    thread metal::vec<Element, 2>* pieces, const device Element* row, int column_stride, bool present, uint lane) {
  UNROLL
  for (int d = 0; d < WIDTH / 8; d++) {
    const int column = 8 * d + column_of(lane);
    pieces[d] = present ? metal::vec<Element, 2>(row[column * column_stride], row[(column + 1) * column_stride])
                        : metal::vec<Element, 2>(Element(0), Element(0));
  }
}
