// The inner part of the reference implementations of all contractions: one block of a matrix product. The innermost
// loop runs over contiguous elements and keeps its sums in registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lathe {

constexpr int64_t contractRows = 64, contractColumns = 64; // largest extents of a block of results
constexpr int64_t contractDepth = 256;                     // number of reduction steps that are packed at a time

/// Number of columns in a panel of the second factor. Four rows of sums of this width fit the registers of any 64-bit
/// machine.
template <class T> constexpr int64_t panelWidth = 32 / sizeof(T);

/// Adds a product to a tile of sums: sums[r][c] += sum over k of a[r, k] * panel[k][c] for R rows; a[r, k] is a[r *
/// rowStride + k * depthStride].
template <class T, int R>
void contractTile(const T *a, int64_t rowStride, int64_t depthStride, const T *panel, int64_t depth, T *sums) {
  constexpr int64_t width = panelWidth<T>;
  T sum[R][width];
  for (int r = 0; r < R; ++r)
    for (int64_t c = 0; c < width; ++c)
      sum[r][c] = sums[r * contractColumns + c];
  for (int64_t k = 0; k < depth; ++k)
    for (int r = 0; r < R; ++r) {
      T value = a[r * rowStride + k * depthStride];
      for (int64_t c = 0; c < width; ++c)
        sum[r][c] += value * panel[k * width + c];
    }
  for (int r = 0; r < R; ++r)
    for (int64_t c = 0; c < width; ++c)
      sums[r * contractColumns + c] = sum[r][c];
}

/// Computes a block of a matrix product, at most contractRows x contractColumns results. `pack(k0, k1, panels)` writes
/// rows k0 to k1 of the second factor as panels[column / width][k - k0][column % width]; columns beyond the last may
/// hold any finite value. `store(row, column, value)` receives the results. T is float, double, or uint64_t (integers
/// wrap).
template <class T, class Pack, class Store>
void contractBlock(int64_t rows, int64_t columns, int64_t depth, const T *a, int64_t rowStride, int64_t depthStride,
                   Pack &&pack, Store &&store) {
  constexpr int64_t width = panelWidth<T>;
  std::vector<T> sums(contractRows * contractColumns, T(0)),
      panels(std::min(depth, contractDepth) * contractColumns, T(0));
  for (int64_t k0 = 0; k0 < depth; k0 += contractDepth) {
    int64_t part = std::min(contractDepth, depth - k0);
    pack(k0, k0 + part, panels.data());
    for (int64_t column = 0; column < columns; column += width) {
      const T *panel = panels.data() + column * part;
      for (int64_t row = 0; row < rows; row += 4) {
        const T *from = a + row * rowStride + k0 * depthStride;
        T *to = sums.data() + row * contractColumns + column;
        switch (std::min<int64_t>(4, rows - row)) {
        case 4:
          contractTile<T, 4>(from, rowStride, depthStride, panel, part, to);
          break;
        case 3:
          contractTile<T, 3>(from, rowStride, depthStride, panel, part, to);
          break;
        case 2:
          contractTile<T, 2>(from, rowStride, depthStride, panel, part, to);
          break;
        default:
          contractTile<T, 1>(from, rowStride, depthStride, panel, part, to);
        }
      }
    }
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      store(row, column, sums[row * contractColumns + column]);
}

/// Type in which T is multiplied: signed and unsigned integers are multiplied modulo 2^64.
template <class T> using ContractType = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;

} // namespace lathe
