// Rewrites convolutions whose spatial extents are known only at run time as operators whose kernels take such extents.
//
// The code of a convolution has its spatial extents as constants. A matrix product takes any number of rows: one for
// every output position, with the input elements under all taps side by side as columns. The elements under tap t are a
// slice of the padded input from t * dilation on, with the stride as step. Where every channel has a filter of its own
// (depthwise), the slices are multiplied by one number a channel and added up. Bytes stay bytes in slices and products.
#include "ops/WindowPads.h"
#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <limits>
#include <numeric>

namespace lathe {
namespace {

/// Maximum number of groups, each a matrix product; convolutions with more groups stay with the reference.
constexpr int64_t mostGroups = 64;

class Rewriter {
public:
  explicit Rewriter(mlir::Operation *op)
      : op(op), integers(isOp(op, "conv_integer")), attrs(attrsOf(op)), b(op), loc(op->getLoc()),
        spatial(attrs.strides.size()), weights(rankedType(op->getOperand(1))) {
    taps = std::accumulate(weights.getShape().begin() + 2, weights.getShape().end(), int64_t(1), std::multiplies<>());
  }

  bool depthwise() const {
    return !(integers && operandOf(op, 3)) && attrs.group > 1 && weights.getDimSize(1) == 1 &&
           weights.getDimSize(0) == attrs.group;
  }

  int64_t groups() const { return attrs.group; }
  bool padsFollow() const { return hasFollowingPads(attrs.pads, spatial); }

  void run() {
    mlir::Value x = padded(op->getOperand(0)), result;
    mlir::Operation *last = op;
    if (depthwise()) {
      result = sumOfTaps(x);
    } else {
      result = products(nn::buildValue(b, loc, "transpose", {x}, channelsLast()));
      while (mlir::Operation *user = unaryUser(last)) { // into the epilogue of the product
        mlir::IRMapping map;
        map.map(last->getResult(0), result);
        b.setInsertionPoint(user);
        mlir::Operation *moved = b.clone(*user, map);
        moved->getResult(0).setType(result.getType());
        result = moved->getResult(0);
        replaced.push_back(last);
        last = user;
      }
      result = nn::buildValue(b, loc, "transpose", {result}, channelsSecond());
    }
    result.setType(last->getResult(0).getType());
    last->getResult(0).replaceAllUsesWith(result);
    last->erase();
    for (mlir::Operation *moved : llvm::reverse(replaced))
      moved->erase();
  }

private:
  mlir::Operation *op;
  bool integers; // bytes and their zero points, conv_integer
  ConvAttrs attrs;
  mlir::OpBuilder b;
  mlir::Location loc;
  size_t spatial;
  mlir::RankedTensorType weights;
  int64_t taps = 1;
  std::vector<mlir::Operation *> replaced; // before the last one, in order

  /// conv_integer's attributes are conv's.
  static ConvAttrs attrsOf(mlir::Operation *op) {
    if (!isOp(op, "conv_integer"))
      return nn::attrsAs<ConvAttrs>(op);
    auto integer = nn::attrsAs<ConvIntegerAttrs>(op);
    ConvAttrs attrs;
    attrs.strides = integer.strides;
    attrs.dilations = integer.dilations;
    attrs.pads = integer.pads;
    attrs.group = integer.group;
    return attrs;
  }

  mlir::Value zeroPoint() const { return integers ? operandOf(op, 2) : mlir::Value(); }
  mlir::Value bias() const { return integers ? mlir::Value() : operandOf(op, 2); }
  mlir::Value wide(mlir::Value value) {
    CastAttrs attrs;
    attrs.to = ElementType::i32;
    return nn::buildValue(b, loc, "cast", {value}, std::move(attrs));
  }

  /// N x C x spatial... to N x spatial... x C, and back.
  TransposeAttrs channelsLast() const {
    TransposeAttrs order;
    order.perm = {0};
    for (size_t i = 0; i < spatial; ++i)
      order.perm.push_back(static_cast<int64_t>(2 + i));
    order.perm.push_back(1);
    return order;
  }
  TransposeAttrs channelsSecond() const {
    TransposeAttrs order;
    order.perm = {0, static_cast<int64_t>(spatial) + 1};
    for (size_t i = 0; i < spatial; ++i)
      order.perm.push_back(static_cast<int64_t>(1 + i));
    return order;
  }

  mlir::Value concat(const std::vector<mlir::Value> &parts) {
    if (parts.size() == 1)
      return parts[0];
    ConcatAttrs attrs;
    attrs.axis = static_cast<int64_t>(spatial) + 1;
    return nn::buildValue(b, loc, "concat", parts, std::move(attrs));
  }

  /// The only user of an operator's result if it is element-wise, has no other operand and keeps the type.
  static mlir::Operation *unaryUser(mlir::Operation *maker) {
    mlir::Value result = maker->getResult(0);
    if (!result.hasOneUse())
      return nullptr;
    mlir::Operation *user = *result.getUsers().begin();
    return loweringOf(user) == "elementwise" && user->getNumOperands() == 1 && user->getNumResults() == 1 &&
                   user->getResult(0).getType() == result.getType()
               ? user
               : nullptr;
  }

  mlir::Value padded(mlir::Value x) {
    if (llvm::all_of(attrs.pads, [](int64_t pad) { return pad == 0; }))
      return x;
    PadAttrs pad;
    pad.pads.assign(2 * (2 + spatial), 0);
    for (size_t i = 0; i < spatial; ++i) {
      pad.pads[2 + i] = attrs.pads[i];
      pad.pads[2 + spatial + 2 + i] = attrs.pads[spatial + i];
    }
    return nn::buildValue(b, loc, "pad", {x, {}, zeroPoint()}, std::move(pad));
  }

  mlir::Value slice(mlir::Value x, SliceAttrs slice) {
    return nn::buildValue(b, loc, "slice", {x, {}, {}, {}, {}}, std::move(slice));
  }

  /// The elements of the padded input that tap number `tap` meets, one for each output position. `first`: axis of the
  /// first spatial extent.
  mlir::Value underTap(mlir::Value x, int64_t tap, int64_t first) {
    SliceAttrs part;
    for (size_t i = spatial; i-- > 0;) {
      int64_t kernel = weights.getDimSize(static_cast<unsigned>(2 + i)), place = tap % kernel;
      tap /= kernel;
      int64_t behind = attrs.dilations[i] * (kernel - 1 - place);
      if (kernel == 1 && attrs.strides[i] == 1)
        continue;
      part.starts.push_back(attrs.dilations[i] * place);
      part.ends.push_back(behind ? -behind : std::numeric_limits<int64_t>::max());
      part.axes.push_back(first + static_cast<int64_t>(i));
      part.steps.push_back(attrs.strides[i]);
    }
    return part.axes.empty() ? x : slice(x, std::move(part));
  }

  mlir::Value part(mlir::Value x, int64_t axis, int64_t begin, int64_t count) {
    SliceAttrs channels;
    channels.starts = {begin};
    channels.ends = {begin + count};
    channels.axes = {axis};
    return slice(x, std::move(channels));
  }

  /// Result with channels last.
  mlir::Value products(mlir::Value x) {
    auto channelAxis = static_cast<int64_t>(spatial) + 1;
    int64_t inGroup = weights.getDimSize(1), outGroup = weights.getDimSize(0) / attrs.group;
    std::vector<mlir::Value> groups;
    for (int64_t group = 0; group < attrs.group; ++group) {
      bool whole = attrs.group == 1;
      groups.push_back(product(whole ? x : part(x, channelAxis, group * inGroup, inGroup),
                               whole ? op->getOperand(1) : part(op->getOperand(1), 0, group * outGroup, outGroup)));
    }
    mlir::Value result = concat(groups);
    if (mlir::Value each = bias())
      result = nn::buildValue(b, loc, "add", {result, each}, AddAttrs());
    return result;
  }

  mlir::Value product(mlir::Value x, mlir::Value w) {
    std::vector<mlir::Value> columns;
    for (int64_t tap = 0; tap < taps; ++tap)
      columns.push_back(underTap(x, tap, 1));
    mlir::Value rows = concat(columns);
    // O x C x taps... to (taps..., C) x O.
    TransposeAttrs order;
    for (size_t i = 0; i < spatial; ++i)
      order.perm.push_back(static_cast<int64_t>(2 + i));
    order.perm.push_back(1);
    order.perm.push_back(0);
    ReshapeAttrs matrix;
    matrix.shape = {taps * weights.getDimSize(1), -1};
    w = nn::buildValue(b, loc, "transpose", {w}, std::move(order));
    w = nn::buildValue(b, loc, "reshape", {w, {}}, std::move(matrix));
    if (integers)
      return nn::buildValue(b, loc, "matmul_integer", {rows, w, zeroPoint(), operandOf(op, 3)}, MatMulIntegerAttrs());
    return nn::buildValue(b, loc, "matmul", {rows, w}, MatMulAttrs());
  }

  /// One number for each channel, which broadcasts over N x C x spatial...
  mlir::Value perChannel(mlir::Value numbers) {
    ReshapeAttrs shape;
    shape.shape.assign(1 + spatial, 1);
    shape.shape[0] = weights.getDimSize(0);
    return nn::buildValue(b, loc, "reshape", {numbers, {}}, std::move(shape));
  }

  mlir::Value sumOfTaps(mlir::Value x) {
    ReshapeAttrs flat;
    flat.shape = {weights.getDimSize(0), taps};
    mlir::Value w = nn::buildValue(b, loc, "reshape", {op->getOperand(1), {}}, std::move(flat)), sum;
    if (integers) {
      x = wide(x);
      w = wide(w);
      if (mlir::Value zero = zeroPoint())
        x = nn::buildValue(b, loc, "sub", {x, wide(zero)}, SubAttrs());
    }
    for (int64_t tap = 0; tap < taps; ++tap) {
      mlir::Value term =
          nn::buildValue(b, loc, "mul", {underTap(x, tap, 2), perChannel(part(w, 1, tap, 1))}, MulAttrs());
      sum = sum ? nn::buildValue(b, loc, "add", {sum, term}, AddAttrs()) : term;
    }
    if (mlir::Value each = bias())
      sum = nn::buildValue(b, loc, "add", {sum, perChannel(each)}, AddAttrs());
    return sum;
  }
};

/// True for a convolution with an open spatial extent that the rewriter computes.
bool isOpen(mlir::Operation *op) {
  bool integers = isOp(op, "conv_integer");
  if (!integers && !isOp(op, "conv"))
    return false;
  auto x = rankedType(op->getOperand(0)), w = rankedType(op->getOperand(1)), result = rankedType(op->getResult(0));
  if (!x || !w || !result || !w.hasStaticShape() || w.getNumElements() == 0 || x.isDynamicDim(1) ||
      (!integers && !llvm::isa<mlir::FloatType>(x.getElementType())))
    return false;
  bool open = llvm::any_of(x.getShape().drop_front(2), mlir::ShapedType::isDynamic);
  // pads depend on open extents: slices of the padded input would have unknown extents, not known to be equal
  if (Rewriter(op).padsFollow())
    return false;
  return open && (Rewriter(op).depthwise() || Rewriter(op).groups() <= mostGroups);
}

} // namespace

std::vector<std::string> imageExtents(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes) {
  std::vector<std::string> symbols;
  for (mlir::Operation &op : main.getBody().front())
    if (isOp(&op, "conv") || isOp(&op, "conv_integer")) {
      Dims dims = shapes.of(op.getOperand(0)).dims;
      for (size_t axis = 2; axis < dims.size(); ++axis)
        if (!isUnknown(dims[axis]))
          dims[axis].collectSymbols(symbols);
    }
  return symbols;
}

bool openConvolutions(mlir::ModuleOp module, const std::function<bool(mlir::Operation *conv)> &declined) {
  std::vector<mlir::Operation *> found;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (isOpen(&op) && (!declined || declined(&op)))
      found.push_back(&op);
  for (mlir::Operation *op : found)
    Rewriter(op).run();
  return !found.empty();
}

} // namespace lathe
