#include "ops/Contract.h"
#include "ops/ReferenceSupport.h"

namespace lathe {
namespace {

/// A matrix in place: element [i, j] is data[i * rowStride + j * columnStride].
template <class T> struct Matrix {
  const T *data;
  int64_t rowStride, columnStride;
};

/// store(batch, row, column, value) for every element of a(batch) * b(batch), M x K times K x N, in parallel blocks.
template <class T, class A, class B, class Store>
void multiply(const ReferenceCall &call, int64_t batches, int64_t m, int64_t n, int64_t depth, A &&matrixA, B &&matrixB,
              Store &&store) {
  constexpr int64_t width = panelWidth<T>;
  int64_t rowBlocks = (m + contractRows - 1) / contractRows, columnBlocks = (n + contractColumns - 1) / contractColumns;
  call.parallelFor(batches * rowBlocks * columnBlocks, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t batch = task / (rowBlocks * columnBlocks), row0 = task / columnBlocks % rowBlocks * contractRows,
              column0 = task % columnBlocks * contractColumns;
      int64_t rows = std::min(contractRows, m - row0), columns = std::min(contractColumns, n - column0);
      Matrix<T> a = matrixA(batch), b = matrixB(batch);
      auto pack = [&](int64_t k0, int64_t k1, T *panels) {
        for (int64_t c = 0; c < columns; ++c) {
          const T *from = b.data + (column0 + c) * b.columnStride + k0 * b.rowStride;
          T *to = panels + c / width * width * (k1 - k0) + c % width;
          for (int64_t k = 0; k < k1 - k0; ++k)
            to[k * width] = from[k * b.rowStride];
        }
      };
      contractBlock(rows, columns, depth, a.data + row0 * a.rowStride, a.rowStride, a.columnStride, pack,
                    [&](int64_t row, int64_t column, T value) { store(batch, row0 + row, column0 + column, value); });
    }
  });
}

/// value * factor with the rounding of the element type.
template <class Element, class T> T scaled(T value, double factor) {
  if constexpr (std::is_floating_point_v<Element>)
    return value * static_cast<Element>(factor);
  else
    return factor == 1 ? value
                       : static_cast<T>(toElement<Element>(static_cast<double>(static_cast<Element>(value)) * factor));
}

} // namespace

void runGemm(const GemmAttrs &attrs, ReferenceCall &call) {
  const Tensor &a = call.in(0), b = call.in(1).convertedTo(a.type());
  Tensor &y = call.out(0);
  int64_t m = y.dim(0), n = y.dim(1), depth = a.dim(attrs.trans_a ? 0 : 1);
  std::vector<int64_t> cStrides(2, 0);
  if (call.has(2))
    cStrides = broadcastStrides(call.in(2).dims(), y.dims());
  forNumber(a.type(), [&]<class Element>(Element) {
    using T = ContractType<Element>;
    Matrix<T> matrixA{a.as<T>(), attrs.trans_a ? 1 : a.dim(1), attrs.trans_a ? a.dim(1) : 1};
    Matrix<T> matrixB{b.as<T>(), attrs.trans_b ? 1 : b.dim(1), attrs.trans_b ? b.dim(1) : 1};
    const T *c = call.has(2) ? call.in(2).as<T>() : nullptr;
    T *results = y.as<T>();
    multiply<T>(
        call, 1, m, n, depth, [&](int64_t) { return matrixA; }, [&](int64_t) { return matrixB; },
        [&](int64_t, int64_t row, int64_t column, T value) {
          value = scaled<Element>(value, attrs.alpha);
          if (c)
            value += scaled<Element>(c[row * cStrides[0] + column * cStrides[1]], attrs.beta);
          results[row * n + column] = value;
        });
  });
}

void runMatMul(const MatMulAttrs &, ReferenceCall &call) {
  const Tensor &a = call.in(0), b = call.in(1).convertedTo(a.type());
  Tensor &y = call.out(0);
  int64_t m = a.rank() > 1 ? a.dim(a.rank() - 2) : 1, n = b.rank() > 1 ? b.dim(b.rank() - 1) : 1,
          depth = a.dims().back();
  auto batchDims = [](const Tensor &t) { return std::span(t.dims()).first(t.rank() - std::min<size_t>(t.rank(), 2)); };
  std::vector<int64_t> dims(y.dims().begin(), y.dims().end() - (a.rank() > 1) - (b.rank() > 1));
  int64_t batches = countOf(dims);
  // The index of the matrix of each operand that a batch uses.
  std::vector<int64_t> matrixOfA, matrixOfB;
  StridedLoop<2> loop(dims, {broadcastStrides(batchDims(a), dims), broadcastStrides(batchDims(b), dims)});
  loop.run(0, batches, [&](int64_t, const std::array<int64_t, 2> &offsets, int64_t length) {
    for (int64_t i = 0; i < length; ++i) {
      matrixOfA.push_back(offsets[0] + i * loop.innerStride(0));
      matrixOfB.push_back(offsets[1] + i * loop.innerStride(1));
    }
  });
  forNumber(a.type(), [&]<class Element>(Element) {
    using T = ContractType<Element>;
    T *results = y.as<T>();
    multiply<T>(
        call, batches, m, n, depth,
        [&](int64_t batch) { return Matrix<T>{a.as<T>() + matrixOfA[batch] * m * depth, depth, 1}; },
        [&](int64_t batch) { return Matrix<T>{b.as<T>() + matrixOfB[batch] * depth * n, n, 1}; },
        [&](int64_t batch, int64_t row, int64_t column, T value) { results[(batch * m + row) * n + column] = value; });
  });
}

void runMatMulInteger(const MatMulIntegerAttrs &, ReferenceCall &call) {
  // One value for each row of a or column of b: a vector of zero points for a lies along the second to last axis.
  auto centred = [&](size_t i) {
    const Tensor &factor = call.in(i);
    if (!call.has(2 + i))
      return Value(factor.convertedTo(ElementType::i64));
    const Tensor &zero = call.in(2 + i);
    std::vector<int64_t> dims = zero.dims();
    if (i == 0 && dims.size() == 1 && factor.rank() > 1)
      dims.push_back(1);
    return Value(lessZeroPoint(call, factor, zero, dims));
  };
  std::array<Value, 2> factors{centred(0), centred(1)};
  std::array<const Value *, 2> inputs{&factors[0], &factors[1]};
  ReferenceCall product{inputs, call.outputs, call.narrow, call.parallel};
  runMatMul({}, product);
}

} // namespace lathe
