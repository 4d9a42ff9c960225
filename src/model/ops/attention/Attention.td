include "ops/Base.td"

def Nn_AttentionOp : NnOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "softmax(scale * q k^T + bias, masked) v: scaled dot-product attention over the last two axes";
  let description = [{
    q: batch... x M x D, k: batch... x K x D, v: batch... x K x E. A batch extent of k and v may be a divisor of q's (1 among them): each of
    its matrices then serves as many neighbouring ones of q. Result: q's batch... x M x E.

    The score of query i and key j is scale * dot(q[i], k[j]) + bias[i, j]. With a softcap c above 0, c * tanh(score / c) takes the place of
    the product before bias and mask. A mask of numbers is added to it as well; where a boolean mask is
    false the score is `fill`. bias and mask broadcast to batch... x M x K. causal: "none"; "upper_left": query i sees keys 0 ... i;
    "lower_right": keys 0 ... i + K - M; what it does not see has the score -inf. Softmax runs over the keys; the result of a query all of whose scores are -inf
    is NaN, or zero with zero_masked_rows. Without keys it is zero.

    Constraints: attention_c1: q, k and v have one rank, at least 2. attention_c2: q and k have the same D, k and v the same K.
    attention_c3: the batch extents of k and v agree and divide q's. attention_c4: bias and mask broadcast to the scores.
    attention_c5: q, k, v and bias have one floating-point type, mask that or bool. attention_c6: causal is one of its three words.
    attention_c7: softcap is not negative.
  }];
  let arguments = (ins NnTensor:$q, NnTensor:$k, NnTensor:$v, Optional<NnTensor>:$bias, Optional<NnTensor>:$mask,
    NnF64<"1.0">:$scale, NnStr<"none">:$causal, NnF64<"-std::numeric_limits<double>::infinity()">:$fill,
    NnBool<"false">:$zero_masked_rows, NnF64<"0.0">:$softcap);
  let results = (outs NnTensor:$y);
  let mappings = [Onnx<"Attention", 23, 1000, 0>];
  let lowering = "attention";
  let flops = "(product(in[0]->dims) + product(out[0]->dims)) * in[1]->dims[in[1]->rank() - 2] * 2";
  let tolerance = "1e-5";
  let benchmarkAxes = ["batch", "heads", "queries", "keys", "depth"];
}
