#include "lab/providers/lathe/Im2colGraph.h"

#include "lab/providers/graph/BuildOperator.h"

#include <numeric>

namespace lathe::lab {
namespace {

using mlir::Value;
using Extents = std::vector<int64_t>;

int64_t product(const Extents &extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
}

class Im2col {
public:
  Im2col(mlir::OpBuilder &b, const Problem &problem)
      : b(b), problem(problem), conv(problem.attrsAs<ConvAttrs>()), in(problem.operand("x")->dims),
        weights(problem.operand("w")->dims), out(problem.results()[0].dims), kernel(weights.begin() + 2, weights.end()),
        groups(conv.group), channels(weights[1]), outChannels(weights[0] / groups),
        positions(product({out.begin() + 2, out.end()})) {}

  llvm::SmallVector<Value> build(llvm::ArrayRef<Value> operands) {
    Value sums = make("matmul", {weightRows(operands[1]), columns(operands[0])}, MatMulAttrs());
    size_t own = problem.byRecord().size(); // 2 without a bias; operands of the epilogue follow
    if (own > 2 && operands[2])
      sums = make("add", {sums, reshaped(operands[2], {groups, outChannels, 1})}, AddAttrs());
    // Applies the epilogue before the result gets its final extents, so that the product's kernel can contain it.
    llvm::SmallVector<Value> seconds(operands.begin(), operands.end());
    for (size_t i = own; i < seconds.size(); ++i)
      seconds[i] = reshaped(seconds[i], {out[0], groups, outChannels, positions});
    llvm::SmallVector<Value> results = {sums};
    buildEpilogue(b, problem, seconds, results);
    return {reshaped(results[0], out)};
  }

private:
  mlir::OpBuilder &b;
  const Problem &problem;
  const ConvAttrs &conv;
  const Extents in, weights, out, kernel;
  const int64_t groups, channels, outChannels, positions; // channels of one group

  template <class A> Value make(const char *op, llvm::ArrayRef<Value> operands, A attrs) {
    return nn::buildValue(b, mlir::NameLoc::get(b.getStringAttr(op)), op, operands, std::move(attrs));
  }
  Value reshaped(Value x, Extents shape) {
    ReshapeAttrs attrs;
    attrs.shape = std::move(shape);
    return make("reshape", {x, Value()}, attrs);
  }

  /// Reshapes the weights to groups x outputs x (taps x channels).
  Value weightRows(Value w) {
    int64_t taps = product(kernel);
    TransposeAttrs tapsFirst;
    tapsFirst.perm = {0, 1, 3, 2};
    Value rows = make("transpose", {reshaped(w, {groups, outChannels, channels, taps})}, tapsFirst);
    return reshaped(rows, {groups, outChannels, taps * channels});
  }

  Value columns(Value x) {
    Value padded = x;
    if (std::any_of(conv.pads.begin(), conv.pads.end(), [](int64_t pad) { return pad != 0; }))
      padded = withPadding(x);
    llvm::SmallVector<Value> taps;
    for (int64_t tap = 0; tap < product(kernel); ++tap)
      taps.push_back(reshaped(inputsOf(padded, tap), {in[0], groups, channels, positions}));
    if (taps.size() == 1)
      return taps[0];
    ConcatAttrs attrs;
    attrs.axis = 2;
    return make("concat", taps, attrs);
  }

  Value withPadding(Value x) {
    size_t spatial = kernel.size();
    PadAttrs attrs;
    attrs.pads = {0, 0};
    attrs.pads.insert(attrs.pads.end(), conv.pads.begin(), conv.pads.begin() + int64_t(spatial));
    attrs.pads.insert(attrs.pads.end(), {0, 0});
    attrs.pads.insert(attrs.pads.end(), conv.pads.begin() + int64_t(spatial), conv.pads.end());
    return make("pad", {x, Value(), Value()}, attrs);
  }

  /// The input of tap number `tap` for every output position.
  Value inputsOf(Value padded, int64_t tap) {
    SliceAttrs attrs;
    for (size_t i = kernel.size(); i-- > 0;) {
      int64_t start = tap % kernel[i] * conv.dilations[i];
      tap /= kernel[i];
      attrs.axes.push_back(int64_t(i) + 2);
      attrs.starts.push_back(start);
      attrs.ends.push_back(start + (out[i + 2] - 1) * conv.strides[i] + 1);
      attrs.steps.push_back(conv.strides[i]);
    }
    return make("slice", {padded, Value(), Value(), Value(), Value()}, attrs);
  }
};

} // namespace

llvm::SmallVector<Value> buildIm2col(mlir::OpBuilder &builder, const Problem &problem, llvm::ArrayRef<Value> operands) {
  return Im2col(builder, problem).build(operands);
}

} // namespace lathe::lab
