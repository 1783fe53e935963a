// Matrix products of one thread: a register-blocked kernel on GCC and Clang vectors, and what calls it.
//
// c += op(a) op(b). Matrices are row-major with a leading dimension in elements; op transposes. Sums
// are made in double for double, int32 for integers, float for all other floats, over all of k.
#pragma once

#include "bfloat16.h"
#include "convert.h"
#include "half.h"

#include <type_traits>

namespace tlc {

//@ TLC_VECTOR_BYTES
// Bytes of a vector register, and the rows of c that a kernel keeps in registers beside two vectors.
#if !defined(__GNUC__)
#define TLC_VECTOR_BYTES 0
#define TLC_GEMM_ROWS 4
#elif defined(__AVX512F__)
#define TLC_VECTOR_BYTES 64
#define TLC_GEMM_ROWS 12
#elif defined(__AVX__)
#define TLC_VECTOR_BYTES 32
#define TLC_GEMM_ROWS 6
#else
#define TLC_VECTOR_BYTES 16
#define TLC_GEMM_ROWS 4
#endif

//@ sum_type
template <class C> struct sum_type { using type = float; };
template <> struct sum_type<double> { using type = double; };
template <> struct sum_type<int8_t> { using type = int32_t; };
template <> struct sum_type<uint8_t> { using type = int32_t; };
template <> struct sum_type<int16_t> { using type = int32_t; };
template <> struct sum_type<int32_t> { using type = int32_t; };

//@ to_sum
// An element as a number of the sum's type.
template <class S, class T> inline S to_sum(T x) {
  if constexpr (std::is_arithmetic<T>::value)
    return S(x);
  else
    return S(to_float(x));
}

//@ gemm_lanes
// Elements of a vector of sums; 4 where there are no vectors and loops stand for them.
template <class S> constexpr int gemm_lanes() {
  return TLC_VECTOR_BYTES > 0 ? TLC_VECTOR_BYTES / int(sizeof(S)) : 4;
}

//@ gemm_vector
#if TLC_VECTOR_BYTES > 0
template <class S> struct gemm_vector {
  typedef S type __attribute__((vector_size(TLC_VECTOR_BYTES)));
};
#else
template <class S> struct gemm_vector {
  struct type {
    S lane[4];
    friend type operator*(S x, const type &v) {
      return {{x * v.lane[0], x * v.lane[1], x * v.lane[2], x * v.lane[3]}};
    }
    type &operator+=(const type &v) {
      for (int i = 0; i < 4; ++i)
        lane[i] += v.lane[i];
      return *this;
    }
  };
};
#endif

//@ gemm_kernel
// Rows x (Vectors of lanes) of c in registers while k runs. The element (i, x) of a lies at
// i * a_row + x * a_step; row x of b begins at x * b_row.
template <class S, int Rows, int Vectors>
inline void gemm_kernel(int k, const S *TLC_RESTRICT a, int64_t a_row, int64_t a_step,
                        const S *TLC_RESTRICT b, int64_t b_row, S *TLC_RESTRICT c, int64_t c_row) {
  using vector = typename gemm_vector<S>::type;
  constexpr int lanes = gemm_lanes<S>();
  vector sum[Rows][Vectors];
  TLC_UNROLL(16)
  for (int i = 0; i < Rows; ++i)
    TLC_UNROLL(4)
    for (int v = 0; v < Vectors; ++v)
      memcpy(&sum[i][v], c + i * c_row + v * lanes, sizeof(vector));
  for (int x = 0; x < k; ++x) {
    vector row[Vectors];
    TLC_UNROLL(4)
    for (int v = 0; v < Vectors; ++v)
      memcpy(&row[v], b + x * b_row + v * lanes, sizeof(vector));
    TLC_UNROLL(16)
    for (int i = 0; i < Rows; ++i) {
      const S factor = a[i * a_row + x * a_step];
      TLC_UNROLL(4)
      for (int v = 0; v < Vectors; ++v)
        sum[i][v] += factor * row[v];
    }
  }
  TLC_UNROLL(16)
  for (int i = 0; i < Rows; ++i)
    TLC_UNROLL(4)
    for (int v = 0; v < Vectors; ++v)
      memcpy(c + i * c_row + v * lanes, &sum[i][v], sizeof(vector));
}

//@ gemm_rows
// As gemm_kernel for a number of rows that is known at run time, at most TLC_GEMM_ROWS.
template <class S, int Vectors, int Rows = TLC_GEMM_ROWS>
inline void gemm_rows(int rows, int k, const S *a, int64_t a_row, int64_t a_step, const S *b,
                      int64_t b_row, S *c, int64_t c_row) {
  if constexpr (Rows > 1) {
    if (rows < Rows)
      return gemm_rows<S, Vectors, Rows - 1>(rows, k, a, a_row, a_step, b, b_row, c, c_row);
  }
  gemm_kernel<S, Rows, Vectors>(k, a, a_row, a_step, b, b_row, c, c_row);
}

//@ gemm_panel
// Up to two vectors of columns of c: all rows. `columns` that fill no vector go through a copy.
template <class S>
inline void gemm_panel(int m, int columns, int k, const S *a, int64_t a_row, int64_t a_step,
                       const S *b, int64_t b_row, S *c, int64_t c_row) {
  constexpr int lanes = gemm_lanes<S>(), most = TLC_GEMM_ROWS;
  for (int i = 0; i < m; i += most) {
    const int rows = m - i < most ? m - i : most;
    const S *const first = a + i * a_row;
    S *const to = c + i * c_row;
    if (columns == 2 * lanes) {
      gemm_rows<S, 2>(rows, k, first, a_row, a_step, b, b_row, to, c_row);
      continue;
    }
    int done = 0;
    if (columns >= lanes) {
      gemm_rows<S, 1>(rows, k, first, a_row, a_step, b, b_row, to, c_row);
      done = lanes;
    }
    for (int r = 0; r < rows; ++r)
      for (int j = done; j < columns; ++j) {
        S sum = to[r * c_row + j];
        for (int x = 0; x < k; ++x)
          sum += first[r * a_row + x * a_step] * b[x * b_row + j];
        to[r * c_row + j] = sum;
      }
  }
}

//@ gemm_pack
// A copy of a matrix in the sum's type: element (i, j) of `from` lies at i * row + j * column; `to`
// gets rows of `width` elements, zeros behind the last.
template <class S, class T>
inline void gemm_pack(S *TLC_RESTRICT to, int width, const T *TLC_RESTRICT from, int rows,
                      int columns, int64_t row, int64_t column) {
  if (column == 1) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        to[int64_t(i) * width + j] = to_sum<S>(from[i * row + j]);
  } else { // a block at a time, so that reads and writes both stay within few lines
    for (int first = 0; first < columns; first += 16)
      for (int i = 0; i < rows; ++i)
        for (int j = first; j < columns && j < first + 16; ++j)
          to[int64_t(i) * width + j] = to_sum<S>(from[i * row + j * column]);
  }
  for (int i = 0; i < rows; ++i)
    for (int j = columns; j < width; ++j)
      to[int64_t(i) * width + j] = S(0);
}

//@ from_sum
template <class S, class C> inline void from_sum(C &to, S value) { to = C(value); }

//@ from_sum_half : from_sum half
TLC_FN void from_sum(float16 &to, float value) { to = to_half(value); }

//@ from_sum_bfloat16 : from_sum bfloat16
TLC_FN void from_sum(bfloat16 &to, float value) { to = to_bfloat16(value); }

//@ gemm_tile
// c[M, N] += op(a) op(b) for tiles in a core's cache: a is [M, K] ([K, M] if TransposeA), b is [K, N]
// ([N, K] if TransposeB). What is not stored as the kernel reads it is copied first.
template <int M, int N, int K, bool TransposeA, bool TransposeB, class C, class A, class B>
inline void gemm_tile(C *c, const A *a, const B *b, int ldc, int lda, int ldb) {
  using S = typename sum_type<C>::type;
  constexpr int panel = 2 * gemm_lanes<S>();
  const S *left, *right;
  int64_t a_row, a_step, b_row;
  alignas(64) S packed_a[std::is_same<A, S>::value ? 1 : M * K];
  alignas(64) S packed_b[std::is_same<B, S>::value && !TransposeB ? 1 : K * N];
  if constexpr (std::is_same<A, S>::value) {
    left = a, a_row = TransposeA ? 1 : lda, a_step = TransposeA ? lda : 1;
  } else {
    gemm_pack(packed_a, K, a, M, K, TransposeA ? 1 : lda, TransposeA ? lda : 1);
    left = packed_a, a_row = K, a_step = 1;
  }
  if constexpr (std::is_same<B, S>::value && !TransposeB) {
    right = b, b_row = ldb;
  } else {
    gemm_pack(packed_b, N, b, K, N, TransposeB ? 1 : ldb, TransposeB ? ldb : 1);
    right = packed_b, b_row = N;
  }
  alignas(64) S sums[std::is_same<C, S>::value ? 1 : M * N];
  S *to = sums;
  int64_t c_row = N;
  if constexpr (std::is_same<C, S>::value) {
    to = c, c_row = ldc;
  } else {
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j)
        sums[i * N + j] = to_sum<S>(c[int64_t(i) * ldc + j]);
  }
  for (int j = 0; j < N; j += panel)
    gemm_panel<S>(M, N - j < panel ? N - j : panel, K, left, a_row, a_step, right + j, b_row,
                  to + j, c_row);
  if constexpr (!std::is_same<C, S>::value)
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j)
        from_sum(c[int64_t(i) * ldc + j], sums[i * N + j]);
}

//@ gemm_block_sizes
// How a large product is cut: `step` of k at a time, so that a panel of b stays in the first cache and
// a block of a, `rows` high, in the second.
struct gemm_block_sizes {
  enum : int { rows = 192, columns = 1024, step = 320 };
};

//@ gemm_block_bytes
// Scratch memory of gemm_block.
template <class S> constexpr int64_t gemm_block_bytes() {
  return int64_t(sizeof(S)) * gemm_block_sizes::step *
             (gemm_block_sizes::rows + gemm_block_sizes::columns) +
         256;
}

//@ gemm_block
// c[m, n] += op(a) op(b) of any size: a and b are packed block by block into `scratch`
// (gemm_block_bytes, 64-byte aligned).
template <bool TransposeA, bool TransposeB, class S, class A, class B>
inline void gemm_block(int m, int n, int k, S *c, int64_t ldc, const A *a, int64_t lda, const B *b,
                       int64_t ldb, unsigned char *scratch) {
  constexpr int lanes = gemm_lanes<S>(), panel = 2 * lanes, most = TLC_GEMM_ROWS;
  constexpr int high = gemm_block_sizes::rows, wide = gemm_block_sizes::columns;
  constexpr int deep = gemm_block_sizes::step;
  S *const packed_b = reinterpret_cast<S *>(scratch), *const packed_a = packed_b + deep * wide;
  const auto at_a = [&](int i, int x) { return TransposeA ? a + x * lda + i : a + i * lda + x; };
  const auto at_b = [&](int x, int j) { return TransposeB ? b + j * ldb + x : b + x * ldb + j; };
  for (int j0 = 0; j0 < n; j0 += wide)
    for (int x0 = 0; x0 < k; x0 += deep) {
      const int width = n - j0 < wide ? n - j0 : wide, depth = k - x0 < deep ? k - x0 : deep;
      for (int j = 0; j < width; j += panel) // one panel: `depth` rows of 2 vectors
        gemm_pack(packed_b + int64_t(j) * depth, panel, at_b(x0, j0 + j), depth,
                  width - j < panel ? width - j : panel, TransposeB ? 1 : ldb,
                  TransposeB ? ldb : 1);
      for (int i0 = 0; i0 < m; i0 += high) {
        const int height = m - i0 < high ? m - i0 : high;
        for (int i = 0; i < height; i += most) // one panel: `depth` columns of `most` elements
          gemm_pack(packed_a + int64_t(i) * depth, most, at_a(i0 + i, x0), depth,
                    height - i < most ? height - i : most, TransposeA ? lda : 1,
                    TransposeA ? 1 : lda);
        for (int j = 0; j < width; j += panel) {
          const int columns = width - j < panel ? width - j : panel;
          for (int i = 0; i < height; i += most)
            gemm_panel<S>(height - i < most ? height - i : most, columns, depth,
                          packed_a + int64_t(i) * depth, 1, most, packed_b + int64_t(j) * depth,
                          panel, c + (i0 + i) * ldc + j0 + j, ldc);
        }
      }
    }
}

//@ end
} // namespace tlc
