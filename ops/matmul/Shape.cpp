#include "ops/Registry.h"

namespace lathe {

InferResult inferGemm(const GemmAttrs &attrs, const InferInputs &in) {
  const TensorInfo &a = *in[0], &b = *in[1];
  require(a.rank() == 2 && b.rank() == 2, "gemm_c1: a is {} and b {}, expected matrices", str(a.dims), str(b.dims));
  const Dim &m = a.dims[attrs.trans_a ? 1 : 0], &k = a.dims[attrs.trans_a ? 0 : 1];
  const Dim &n = b.dims[attrs.trans_b ? 0 : 1], &kb = b.dims[attrs.trans_b ? 1 : 0];
  require(mayAgree(k, kb), "gemm_c2: inner extents {} (of a) and {} (of b) differ", k.str(), kb.str());
  require(a.type == b.type, "gemm_c4: a is {}, b is {}, expected the same type", name(a.type), name(b.type));
  requireNumber(a.type, "gemm_c4");
  Dims dims{m, n};
  if (const TensorInfo *c = operand(in, 2)) {
    require(c->type == a.type, "gemm_c4: a is {}, c is {}, expected the same type", name(a.type), name(c->type));
    require(c->rank() <= 2, "gemm_c3: c is {}, expected to broadcast to {}", str(c->dims), str(dims));
    for (size_t i = 0; i < c->rank(); ++i) {
      const Dim &extent = c->dims[i], &wanted = dims[i + 2 - c->rank()];
      require(extent == Dim(1) || mayAgree(extent, wanted), "gemm_c3: c is {}, expected to broadcast to {}",
              str(c->dims), str(dims));
    }
  }
  return {TensorInfo{a.type, dims, std::nullopt}};
}

InferResult inferMatMul(const MatMulAttrs &, const InferInputs &in) {
  const TensorInfo &a = *in[0], &b = *in[1];
  require(a.rank() > 0 && b.rank() > 0, "matmul_c1: a is {} and b {}, expected at least vectors", str(a.dims),
          str(b.dims));
  require(a.type == b.type, "matmul_c4: a is {}, b is {}, expected the same type", name(a.type), name(b.type));
  requireNumber(a.type, "matmul_c4");
  const Dim &k = a.dims.back(), &kb = b.dims[b.rank() == 1 ? 0 : b.rank() - 2];
  require(mayAgree(k, kb), "matmul_c2: inner extents {} (of a, {}) and {} (of b, {}) differ", k.str(), str(a.dims),
          kb.str(), str(b.dims));
  Dims dims;
  try {
    dims = broadcast(Dims(a.dims.begin(), a.dims.end() - std::min<size_t>(a.rank(), 2)),
                     Dims(b.dims.begin(), b.dims.end() - std::min<size_t>(b.rank(), 2)));
  } catch (const Error &error) {
    fail("matmul_c3: {}", error.what());
  }
  if (a.rank() > 1)
    dims.push_back(a.dims[a.rank() - 2]);
  if (b.rank() > 1)
    dims.push_back(b.dims.back());
  return {TensorInfo{a.type, dims, std::nullopt}};
}

} // namespace lathe
