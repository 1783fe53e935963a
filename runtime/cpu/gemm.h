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

//@ TLC_AVX2
// Defined where the compiler was not told of AVX2, yet can make functions that use it: the processor
// decides at run time which are called.
#if defined(__GNUC__) && defined(__x86_64__) && !(defined(__AVX2__) && defined(__FMA__))
#define TLC_AVX2 __attribute__((target("avx2,fma")))
#endif

//@ gemm_registers
// What kernels are made for. They are inlined into the function of the instruction set that they are to
// use, hence TLC_INLINE on all that is in between.
template <int VectorBytes, int MostRows> struct gemm_registers {
  enum : int { bytes = VectorBytes, rows = MostRows };
};

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
template <class Registers, class S> constexpr int gemm_lanes() {
  return Registers::bytes > 0 ? Registers::bytes / int(sizeof(S)) : 4;
}

//@ gemm_vector
#if TLC_VECTOR_BYTES > 0
template <class S, int Bytes> struct gemm_vector {
  typedef S type __attribute__((vector_size(Bytes)));
};
#else
template <class S, int Bytes> struct gemm_vector {
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
template <class Registers, class S, int Rows, int Vectors>
TLC_INLINE void gemm_kernel(int k, const S *TLC_RESTRICT a, int64_t a_row, int64_t a_step,
                            const S *TLC_RESTRICT b, int64_t b_row, S *TLC_RESTRICT c,
                            int64_t c_row) {
  using vector = typename gemm_vector<S, Registers::bytes>::type;
  constexpr int lanes = gemm_lanes<Registers, S>();
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
// As gemm_kernel for a number of rows that is known at run time, at most Rows.
template <class Registers, class S, int Vectors, int Rows>
TLC_INLINE void gemm_rows(int rows, int k, const S *a, int64_t a_row, int64_t a_step, const S *b,
                          int64_t b_row, S *c, int64_t c_row) {
  if constexpr (Rows > 1) {
    if (rows < Rows)
      return gemm_rows<Registers, S, Vectors, Rows - 1>(rows, k, a, a_row, a_step, b, b_row, c,
                                                        c_row);
  }
  gemm_kernel<Registers, S, Rows, Vectors>(k, a, a_row, a_step, b, b_row, c, c_row);
}

//@ gemm_panel
// Up to two vectors of columns of c: all rows. `columns` that fill no vector go through a copy.
template <class Registers, class S>
TLC_INLINE void gemm_panel(int m, int columns, int k, const S *a, int64_t a_row, int64_t a_step,
                           const S *b, int64_t b_row, S *c, int64_t c_row) {
  constexpr int lanes = gemm_lanes<Registers, S>(), most = Registers::rows;
  for (int i = 0; i < m; i += most) {
    const int rows = m - i < most ? m - i : most;
    const S *const first = a + i * a_row;
    S *const to = c + i * c_row;
    if (columns == 2 * lanes) {
      gemm_rows<Registers, S, 2, most>(rows, k, first, a_row, a_step, b, b_row, to, c_row);
      continue;
    }
    int done = 0;
    if (columns >= lanes) {
      gemm_rows<Registers, S, 1, most>(rows, k, first, a_row, a_step, b, b_row, to, c_row);
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
TLC_INLINE void gemm_pack(S *TLC_RESTRICT to, int width, const T *TLC_RESTRICT from, int rows,
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

//@ gemm_tile_with
// gemm_tile with given registers. What is not stored as the kernel reads it is copied first.
template <class Registers, int M, int N, int K, bool TransposeA, bool TransposeB, class C, class A,
          class B>
TLC_INLINE void gemm_tile_with(C *c, const A *a, const B *b, int ldc, int lda, int ldb) {
  using S = typename sum_type<C>::type;
  constexpr int panel = 2 * gemm_lanes<Registers, S>();
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
    gemm_panel<Registers, S>(M, N - j < panel ? N - j : panel, K, left, a_row, a_step, right + j, b_row,
                  to + j, c_row);
  if constexpr (!std::is_same<C, S>::value)
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j)
        from_sum(c[int64_t(i) * ldc + j], sums[i * N + j]);
}

//@ gemm_tile
// c[M, N] += op(a) op(b) for tiles in a core's cache: a is [M, K] ([K, M] if TransposeA), b is [K, N]
// ([N, K] if TransposeB).
#ifdef TLC_AVX2
template <int M, int N, int K, bool TransposeA, bool TransposeB, class C, class A, class B>
TLC_AVX2 inline void gemm_tile_avx2(C *c, const A *a, const B *b, int ldc, int lda, int ldb) {
  gemm_tile_with<gemm_registers<32, 6>, M, N, K, TransposeA, TransposeB>(c, a, b, ldc, lda, ldb);
}
#endif
template <int M, int N, int K, bool TransposeA, bool TransposeB, class C, class A, class B>
inline void gemm_tile(C *c, const A *a, const B *b, int ldc, int lda, int ldb) {
#ifdef TLC_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return gemm_tile_avx2<M, N, K, TransposeA, TransposeB>(c, a, b, ldc, lda, ldb);
#endif
  gemm_tile_with<gemm_registers<TLC_VECTOR_BYTES, TLC_GEMM_ROWS>, M, N, K, TransposeA, TransposeB>(
      c, a, b, ldc, lda, ldb);
}

//@ end
} // namespace tlc
