// Barriers, <metal_simdgroup> and <metal_simdgroup_matrix>.
#pragma once

namespace metal {

enum class mem_flags : int { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
mem_flags operator|(mem_flags, mem_flags);

#define REDUCTION(name) \
  template <typename T> \
  T name(T);

REDUCTION(simd_sum)
REDUCTION(simd_product)
REDUCTION(simd_max)
REDUCTION(simd_min)
REDUCTION(simd_and)
REDUCTION(simd_or)
REDUCTION(simd_xor)
REDUCTION(simd_prefix_inclusive_sum)
REDUCTION(simd_prefix_exclusive_sum)
REDUCTION(simd_broadcast_first)
REDUCTION(quad_sum)
REDUCTION(quad_max)
REDUCTION(quad_min)
#undef REDUCTION

#define SHUFFLE(name) \
  template <typename T> \
  T name(T, ushort);

SHUFFLE(simd_shuffle)
SHUFFLE(simd_shuffle_xor)
SHUFFLE(simd_shuffle_up)
SHUFFLE(simd_shuffle_down)
SHUFFLE(simd_shuffle_rotate_up)
SHUFFLE(simd_shuffle_rotate_down)
SHUFFLE(simd_broadcast)
SHUFFLE(quad_shuffle_xor)
#undef SHUFFLE

template <typename T>
T simd_shuffle_and_fill_up(T, T, ushort);
template <typename T>
T simd_shuffle_and_fill_down(T, T, ushort);
bool simd_all(bool);
bool simd_any(bool);
bool simd_is_first();

template <typename T, int rows, int columns>
struct simdgroup_matrix {
  static_assert(rows == 8 && columns == 8, "a simdgroup matrix has 8 rows and 8 columns");
  static_assert(is_floating_point_v<T>, "a simdgroup matrix holds float, half or bfloat");
  vec<T, 2> elements;
  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T);
  thread vec<T, 2>& thread_elements() thread;
  const thread vec<T, 2>& thread_elements() const thread;
};

template <typename T, int rows, int columns>
simdgroup_matrix<T, rows, columns> make_filled_simdgroup_matrix(T);

template <typename D, typename A, typename B, typename C>
void simdgroup_multiply_accumulate(
    thread simdgroup_matrix<D, 8, 8>&,
    const thread simdgroup_matrix<A, 8, 8>&,
    const thread simdgroup_matrix<B, 8, 8>&,
    const thread simdgroup_matrix<C, 8, 8>&);

template <typename D, typename A, typename B>
void simdgroup_multiply(
    thread simdgroup_matrix<D, 8, 8>&,
    const thread simdgroup_matrix<A, 8, 8>&,
    const thread simdgroup_matrix<B, 8, 8>&);

#define LOAD_AND_STORE(space) \
  template <typename T> \
  void simdgroup_load( \
      thread simdgroup_matrix<T, 8, 8>&, const space T*, ulong pitch = 8, ulong2 origin = 0, bool transposed = false); \
  template <typename T> \
  void simdgroup_store( \
      const thread simdgroup_matrix<T, 8, 8>&, space T*, ulong pitch = 8, ulong2 origin = 0, bool transposed = false);

LOAD_AND_STORE(device)
LOAD_AND_STORE(threadgroup)
#undef LOAD_AND_STORE

typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

}  // namespace metal

using metal::mem_flags;
void threadgroup_barrier(metal::mem_flags);
void simdgroup_barrier(metal::mem_flags);
namespace metal {
using ::simdgroup_barrier;
using ::threadgroup_barrier;
}  // namespace metal
