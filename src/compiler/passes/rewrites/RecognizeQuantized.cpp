// Integer kernels for operators between dequantise and quantise (ir/QuantizedForm.h).
#include "ir/QuantizedForm.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>

namespace lathe {
namespace {

using nn::QuantizedForm, nn::QuantizedScale;

bool allZero(const std::vector<double> &values) {
  return llvm::all_of(values, [](double value) { return value == 0; });
}

/// A convolution or matrix product of two dequantised tensors, the second of them constant.
class IntegerProduct {
public:
  explicit IntegerProduct(mlir::Operation *op) : op(op), b(op), loc(op->getLoc()) {}

  /// Replaces the operator if it is a quantised product. Returns the multiplication of the sums by their scale, or
  /// null.
  mlir::Operation *run() {
    bool conv = isOp(op, "conv"), gemm = isOp(op, "gemm"), matmul = isOp(op, "matmul");
    if ((!conv && !gemm && !matmul) || !readOperands())
      return nullptr;
    outputAxis = conv ? 0 : 1;
    if (gemm && !readGemm())
      return nullptr;
    if (matmul && rankedType(weights.x).getRank() != 2)
      return nullptr;
    if (!weights.scale.perTensor() && weights.scale.axis != (gemmTransposes ? 0 : outputAxis))
      return nullptr;
    outputs = rankedType(op->getOperand(1)).getDimSize(gemmTransposes ? 0 : outputAxis);
    if (!readBias())
      return nullptr;
    moveZeroPoint();
    mlir::Value sums = conv ? convolution() : product();
    if (bias)
      sums = nn::buildValue(b, loc, "add", {sums, perOutput(ElementType::i32, *bias, ".bias")}, AddAttrs());
    CastAttrs toFloat;
    toFloat.to = ElementType::f32;
    mlir::Value result = nn::buildValue(b, loc, "cast", {sums}, std::move(toFloat));
    std::vector<double> factors;
    for (double scale : weights.scale.scale)
      factors.push_back(static_cast<float>(scale * data.scale.scale[0]));
    result = nn::buildValue(b, loc, "mul", {result, perOutput(ElementType::f32, factors, ".scale")}, MulAttrs());
    mlir::Operation *scaled = result.getDefiningOp();
    if (floatBias)
      result = nn::buildValue(b, loc, "add", {result, perOutput(ElementType::f32, *floatBias, ".bias")}, AddAttrs());
    result.setType(op->getResult(0).getType());
    replaceWith(op, result);
    return scaled;
  }

private:
  mlir::Operation *op;
  mlir::OpBuilder b;
  mlir::Location loc;
  QuantizedForm data, weights;
  int64_t outputAxis = 0, outputs = 0;
  bool gemmTransposes = false;
  std::optional<std::vector<double>> bias, floatBias; // int32 in units of the sums, or in float

  bool readOperands() {
    auto found = nn::dequantizeOf(op->getOperand(0)), second = nn::dequantizeOf(op->getOperand(1));
    if (!found || !second || !isByte(found->scale.type) || !found->scale.perTensor() || !isByte(second->scale.type) ||
        !second->x.getDefiningOp<nn::ConstantOp>() || !rankedType(found->x))
      return false;
    data = *found;
    weights = *second;
    return true;
  }

  bool readGemm() {
    auto attrs = nn::attrsAs<GemmAttrs>(op);
    gemmTransposes = attrs.trans_b;
    return attrs.alpha == 1 && attrs.beta == 1 && !attrs.trans_a;
  }

  bool readBias() {
    mlir::Value value = operandOf(op, 2);
    if (!value)
      return true;
    std::optional<QuantizedForm> form = nn::dequantizeOf(value);
    if (form && form->scale.type == ElementType::i32 && allZero(form->scale.zeroPoint) && hasSumsScale(form->scale))
      bias = nn::constantNumbers(form->x);
    else
      floatBias = nn::constantNumbers(value);
    const auto &numbers = bias ? bias : floatBias;
    return numbers && (numbers->size() == 1 || numbers->size() == static_cast<size_t>(outputs));
  }

  /// sum((x - z) * w) is sum(x * w) - z * sum(w). The second term goes into the bias, so the kernel has less to do.
  void moveZeroPoint() {
    if (data.scale.type != ElementType::u8 || allZero(data.scale.zeroPoint) || weights.scale.type != ElementType::i8 ||
        !allZero(weights.scale.zeroPoint))
      return;
    double zero = data.scale.zeroPoint[0];
    if (isOp(op, "conv") && llvm::any_of(nn::attrsAs<ConvAttrs>(op).pads, [](int64_t pad) { return pad != 0; }))
      return; // the padding is not zero then; the kernel subtracts the zero point from its sums tap by tap
    Tensor constant = *constantOf(weights.x);
    size_t axis = gemmTransposes ? 0 : static_cast<size_t>(outputAxis);
    int64_t inner = 1, count = constant.elements();
    for (size_t i = axis + 1; i < constant.rank(); ++i)
      inner *= constant.dim(i);
    std::vector<double> sums(static_cast<size_t>(outputs), 0.0);
    for (int64_t i = 0; i < count; ++i)
      sums[static_cast<size_t>(i / inner % outputs)] += constant.as<int8_t>()[i];
    std::vector<double> moved(sums.size(), 0.0);
    for (size_t i = 0; i < sums.size(); ++i)
      moved[i] = (bias ? (*bias)[bias->size() == 1 ? 0 : i] : 0) - zero * sums[i];
    constexpr double most = 0x1p31 - 1;
    if (llvm::any_of(moved, [](double value) { return std::abs(value) > most; }))
      return;
    bias = std::move(moved);
    data.scale.zeroPoint = {0};
  }

  /// True if one unit of the bias is one unit of the sums.
  bool hasSumsScale(const QuantizedScale &scale) const {
    constexpr double rounding = 1e-5; // tolerance for scales that were multiplied in float32
    size_t count = std::max(scale.scale.size(), weights.scale.scale.size());
    for (size_t i = 0; i < count; ++i) {
      double unit = data.scale.scale[0] * weights.scale.scale[weights.scale.perTensor() ? 0 : i];
      if (std::abs(scale.scale[scale.perTensor() ? 0 : i] - unit) > rounding * unit)
        return false;
    }
    return true;
  }

  /// One value per output channel, or one for all, in the shape of a constant for the result.
  mlir::Value perOutput(ElementType type, const std::vector<double> &values, const char *suffix) {
    std::vector<int64_t> dims;
    if (values.size() != 1) {
      if (outputAxis == 0) // of a convolution: axis 1 of the result
        dims.assign(rankedType(op->getResult(0)).getRank() - 1, 1);
      else
        dims = {1};
      dims[0] = static_cast<int64_t>(values.size());
    }
    return makeConstant(b, loc, type, dims, values, constantName(op, suffix));
  }

  /// The zero points as an operand; null where all are 0.
  mlir::Value zeroPoint(const QuantizedScale &scale, const char *suffix) {
    if (allZero(scale.zeroPoint))
      return {};
    std::vector<int64_t> dims;
    if (!scale.perTensor())
      dims = {static_cast<int64_t>(scale.zeroPoint.size())};
    return makeConstant(b, loc, scale.type, dims, scale.zeroPoint, constantName(op, suffix));
  }

  mlir::Value convolution() {
    auto attrs = nn::attrsAs<ConvAttrs>(op);
    ConvIntegerAttrs integer;
    integer.strides = attrs.strides;
    integer.dilations = attrs.dilations;
    integer.pads = attrs.pads;
    integer.group = attrs.group;
    return nn::buildValue(b, loc, "conv_integer",
                          {data.x, weights.x, zeroPoint(data.scale, ".x_zero"), zeroPoint(weights.scale, ".w_zero")},
                          std::move(integer));
  }

  mlir::Value product() {
    mlir::Value right = gemmTransposes ? transposed(weights.x) : weights.x;
    return nn::buildValue(b, loc, "matmul_integer",
                          {data.x, right, zeroPoint(data.scale, ".a_zero"), zeroPoint(weights.scale, ".b_zero")},
                          MatMulIntegerAttrs());
  }

  mlir::Value transposed(mlir::Value matrix) {
    Tensor from = *constantOf(matrix);
    int64_t rows = from.dim(0), columns = from.dim(1);
    Tensor to(from.type(), {columns, rows});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        to.as<int8_t>()[j * rows + i] = from.as<int8_t>()[i * columns + j];
    return makeConstant(b, loc, to, constantName(op, ".transposed"));
  }
};

using Products = llvm::DenseSet<mlir::Operation *>;

/// Rewrites (x * a + c) / s as x * (a / s) + c / s, also with a relu between: one factor instead of two. x * a must be
/// in `products`: if the model itself spells out integer sums and their factors, its roundings are intended.
class ScaleMerger {
public:
  ScaleMerger(const QuantizedForm &form, const Products &products)
      : products(products), quotient(form.ops.front()), scale(form.scale.scale.empty() ? 0 : form.scale.scale[0]),
        perTensor(form.scale.perTensor()) {}

  void run() {
    if (!perTensor || !quotient->getOperand(0).hasOneUse())
      return;
    mlir::Operation *op = quotient->getOperand(0).getDefiningOp();
    llvm::SmallVector<mlir::Operation *> chain; // from the division back to the factor
    while (op && (isOp(op, "relu") || isOp(op, "add")) && op->getOperand(0).hasOneUse() &&
           (isOp(op, "relu") || op->getOperand(1).getDefiningOp<nn::ConstantOp>())) {
      chain.push_back(op);
      op = op->getOperand(0).getDefiningOp();
    }
    if (!products.contains(op))
      return;
    divide(op);
    for (mlir::Operation *each : chain)
      if (isOp(each, "add"))
        divide(each);
    replaceWith(quotient, quotient->getOperand(0));
  }

private:
  const Products &products;
  mlir::Operation *quotient;
  double scale;
  bool perTensor;

  void divide(mlir::Operation *op) {
    mlir::OpBuilder b(op);
    Tensor constant = *constantOf(op->getOperand(1));
    std::vector<double> numbers = toDoubles(constant);
    for (double &number : numbers)
      number /= scale;
    op->setOperand(
        1, makeConstant(b, op->getLoc(), ElementType::f32, constant.dims(), numbers, constantName(op, ".requantized")));
  }
};

bool movesElements(mlir::Operation *op) {
  for (const char *mnemonic : {"max_pool", "reshape", "transpose", "concat", "slice", "gather"})
    if (isOp(op, mnemonic))
      return op->getNumResults() == 1;
  return false;
}

/// Lets operators that only move or select elements work on the integers, if all operands have one scale.
void moveIntegers(mlir::Operation *op) {
  if (!movesElements(op) || !op->getResult(0).hasOneUse())
    return;
  size_t count = isOp(op, "concat") ? op->getNumOperands() : 1;
  llvm::SmallVector<mlir::Value> operands(op->getOperands());
  mlir::Operation *root = op;
  for (int step = 0; step < 5 && root->getNumResults() == 1 && root->getResult(0).hasOneUse(); ++step) {
    root = *root->getResult(0).getUsers().begin(); // to the last operator of a quantise
    if (isOp(root, "cast"))
      break;
  }
  std::optional<QuantizedForm> quantize = nn::quantizeAt(root);
  if (!quantize || quantize->x != op->getResult(0) || !isByte(quantize->scale.type))
    return;
  for (size_t i = 0; i < count; ++i) {
    std::optional<QuantizedForm> form = nn::dequantizeOf(operands[i]);
    if (!form || !form->scale.perTensor() || form->scale != quantize->scale)
      return;
    operands[i] = form->x;
  }
  mlir::OpBuilder b(op);
  std::unique_ptr<Attrs> attrs = nn::attrsOf(op);
  mlir::Value result = nn::build(b, op->getLoc(), op->getName().stripDialect(), operands, *attrs)->getResult(0);
  result.setType(root->getResult(0).getType());
  root->getResult(0).replaceAllUsesWith(result);
}

template <class Visit> void forEach(mlir::ModuleOp module, Visit visit) {
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    ops.push_back(&op);
  for (mlir::Operation *op : ops)
    visit(op);
}

} // namespace

void recognizeQuantized(mlir::ModuleOp module) {
  Products products;
  forEach(module, [&](mlir::Operation *op) {
    if (mlir::Operation *scaled = IntegerProduct(op).run())
      products.insert(scaled);
  });
  forEach(module, [&](mlir::Operation *op) {
    if (std::optional<QuantizedForm> form = nn::quantizeAt(op))
      ScaleMerger(*form, products).run();
  });
  forEach(module, [](mlir::Operation *op) { moveIntegers(op); });
  deadCode(module);
}

} // namespace lathe
