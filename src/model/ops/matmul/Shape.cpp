#include "ops/Registry.h"
#include "ops/ShapeRules.h"

namespace lathe {

InferResult inferGemm(const GemmAttrs &attrs, const InferInputs &in) {
  const TensorInfo &a = *in[0], &b = *in[1];
  require(a.rank() == 2 && b.rank() == 2, "gemm_c1: a is {} and b {}, expected matrices", str(a.dims), str(b.dims));
  const Dim &m = a.dims[attrs.trans_a ? 1 : 0], &k = a.dims[attrs.trans_a ? 0 : 1];
  const Dim &n = b.dims[attrs.trans_b ? 0 : 1], &kb = b.dims[attrs.trans_b ? 1 : 0];
  require(mayAgree(k, kb), "gemm_c2: inner extents {} (of a) and {} (of b) differ", k.str(), kb.str());
  require(fitsWeights(a.type, b.type), "gemm_c4: a is {}, b is {}, expected the same type", name(a.type), name(b.type));
  requireNumber(a.type, "gemm_c4");
  Dims dims{m, n};
  if (const TensorInfo *c = operand(in, 2)) {
    require(c->type == a.type, "gemm_c4: a is {}, c is {}, expected the same type", name(a.type), name(c->type));
    require(c->rank() <= 2, "gemm_c3: c is {}, expected to broadcast to {}", str(c->dims), str(dims));
    for (size_t i = 0; i < c->rank(); ++i) {
      const Dim &extent = c->dims[i], &wanted = dims[i + 2 - c->rank()];
      require(mayBroadcast(extent, wanted), "gemm_c3: c is {}, expected to broadcast to {}", str(c->dims), str(dims));
    }
  }
  return {TensorInfo{a.type, dims, std::nullopt}};
}

namespace {

/// Checks shared by all products over the last two axes, with constraints `op`_c1 to c3; returns the result's extents.
Dims productExtents(std::string_view op, const TensorInfo &a, const TensorInfo &b) {
  require(a.rank() > 0 && b.rank() > 0, "{}_c1: a is {} and b {}, expected at least vectors", op, str(a.dims),
          str(b.dims));
  const Dim &k = a.dims.back(), &kb = b.dims[b.rank() == 1 ? 0 : b.rank() - 2];
  require(mayAgree(k, kb), "{}_c2: inner extents {} (of a, {}) and {} (of b, {}) differ", op, k.str(), str(a.dims),
          kb.str(), str(b.dims));
  Dims dims;
  try {
    dims = broadcast(Dims(a.dims.begin(), a.dims.end() - std::min<size_t>(a.rank(), 2)),
                     Dims(b.dims.begin(), b.dims.end() - std::min<size_t>(b.rank(), 2)));
  } catch (const Error &error) {
    fail("{}_c3: {}", op, error.what());
  }
  if (a.rank() > 1)
    dims.push_back(a.dims[a.rank() - 2]);
  if (b.rank() > 1)
    dims.push_back(b.dims.back());
  return dims;
}

/// One value, or one for each index of the factor's kept axis, or the factor's shape with extent 1 for its summed axis.
bool fitsFactor(const TensorInfo &zero, const TensorInfo &factor, size_t kept, size_t summed) {
  if (zero.rank() <= 1 && product(zero.dims) == Dim(1))
    return true;
  if (factor.rank() == 1)
    return false;
  if (zero.rank() == 1)
    return mayBroadcast(zero.dims[0], factor.dims[kept]);
  if (zero.rank() != factor.rank())
    return false;
  for (size_t i = 0; i < zero.rank(); ++i)
    if (!(i == summed ? zero.dims[i] == Dim(1) : mayAgree(zero.dims[i], factor.dims[i])))
      return false;
  return true;
}

} // namespace

InferResult inferMatMul(const MatMulAttrs &, const InferInputs &in) {
  const TensorInfo &a = *in[0], &b = *in[1];
  Dims dims = productExtents("matmul", a, b);
  require(fitsWeights(a.type, b.type), "matmul_c4: a is {}, b is {}, expected the same type", name(a.type),
          name(b.type));
  requireNumber(a.type, "matmul_c4");
  return {TensorInfo{a.type, dims, std::nullopt}};
}

InferResult inferMatMulInteger(const MatMulIntegerAttrs &, const InferInputs &in) {
  const TensorInfo &a = *in[0], &b = *in[1];
  Dims dims = productExtents("matmul_integer", a, b);
  requireByte(a.type, "matmul_integer_c4: a");
  if (b.type != ElementType::i16 || operand(in, 3)) // the zero point of i16 was already subtracted
    requireByte(b.type, "matmul_integer_c4: b");
  for (size_t i = 0; i < 2; ++i)
    if (const TensorInfo *zero = operand(in, 2 + i)) {
      const TensorInfo &factor = *in[i];
      const char *which = i == 0 ? "a" : "b";
      require(zero->type == factor.type, "matmul_integer_c4: {} is {}, its zero point {}, expected the same type",
              which, name(factor.type), name(zero->type));
      size_t row = factor.rank() - std::min<size_t>(factor.rank(), 2), column = factor.rank() - 1;
      require(fitsFactor(*zero, factor, i == 0 ? row : column, i == 0 ? column : row),
              "matmul_integer_c5: {}_zero_point is {}, expected one value or one {} of {}", which, str(zero->dims),
              i == 0 ? "a row" : "a column", str(factor.dims));
    }
  return {TensorInfo{ElementType::i32, dims, std::nullopt}};
}

} // namespace lathe
