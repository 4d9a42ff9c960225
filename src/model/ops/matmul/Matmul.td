include "ops/Base.td"

def Nn_GemmOp : NnOp<"gemm"> {
  let summary = "alpha * A * B + beta * C on matrices, A and B optionally transposed";
  let description = [{
    a: M x K (K x M when trans_a), b: K x N (N x K when trans_b), c: anything that broadcasts to M x N. Result: M x N.

    Constraints: gemm_c1: a and b have rank 2. gemm_c2: their inner extents agree. gemm_c3: c broadcasts to M x N.
    gemm_c4: element types agree and are numbers; beside a of f32, b may be f16.
  }];
  let arguments = (ins NnTensor:$a, NnTensor:$b, Optional<NnTensor>:$c,
    NnF64<"1.0">:$alpha, NnF64<"1.0">:$beta, NnBool<"false">:$trans_a, NnBool<"false">:$trans_b);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Gemm", 7, 1000, 1, ["transA=trans_a", "transB=trans_b"]>];
  let lowering = "contraction";
  let flops = "product(out[0]->dims) * in[0]->dims[a.trans_a ? 0 : 1] * 2";
  let tolerance = "1e-5";
  let benchmarkAxes = ["m", "n", "k", "transA", "transB"];
}

def Nn_MatMulOp : NnOp<"matmul"> {
  let summary = "matrix product over the last two axes, the others broadcast (numpy.matmul)";
  let description = [{
    a: batch... x M x K, b: batch... x K x N; an operand of rank 1 is a row (a) or a column (b) and its axis is missing in the
    result.

    Constraints: matmul_c1: neither operand is a scalar. matmul_c2: the inner extents agree. matmul_c3: the batch
    extents broadcast. matmul_c4: element types agree and are numbers; beside a of f32, b may be f16.
  }];
  let arguments = (ins NnTensor:$a, NnTensor:$b);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"MatMul">];
  let lowering = "contraction";
  let flops = "product(out[0]->dims) * in[0]->dims.back() * 2";
  let tolerance = "1e-5";
  let benchmarkAxes = ["batch", "m", "n", "k"];
}

def Nn_MatMulIntegerOp : NnOp<"matmul_integer", [AttrSizedOperandSegments]> {
  let summary = "matrix product of 8-bit integers minus their zero points, summed in 32 bits";
  let description = [{
    a: batch... x M x K, b: batch... x K x N, as matmul's operands, each i8 or u8; a_zero_point has a's type and one
    value, one a row of a (M), or the shape of a with K replaced by 1; b_zero_point has b's type and one value, one a
    column of b (N), or the shape of b with K replaced by 1. b without b_zero_point may be i16: a factor from which its
    zero point was subtracted. Result, i32:
    sum over k of (a[m, k] - a_zero_point[m]) * (b[k, n] - b_zero_point[n]), modulo 2^32.

    Compiled where b is no vector, a has at most one zero point and b too, or is constant like its zero points; otherwise
    as a matrix product of 32-bit integers (passes/rewrites/WidenInteger.cpp).

    Constraints: matmul_integer_c1: neither operand is a scalar. matmul_integer_c2: the inner extents agree.
    matmul_integer_c3: the batch extents broadcast. matmul_integer_c4: a and b are i8 or u8 (b without zero point: or
    i16), zero points of their operand's type. matmul_integer_c5: zero points have one of the shapes above.
  }];
  let arguments = (ins NnTensor:$a, NnTensor:$b, Optional<NnTensor>:$a_zero_point, Optional<NnTensor>:$b_zero_point);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"MatMulInteger", 10>];
  let lowering = "contraction";
  let flops = "product(out[0]->dims) * in[0]->dims.back() * 2";
  let tolerance = "0";
  let benchmarkAxes = ["batch", "m", "n", "k"];
}
