// Reads the facts of a contraction kernel from its function. No schedule computes the kernels that are declined here.
#include "codegen/builder/ChannelLayout.h"
#include "codegen/builder/KernelHarness.h"
#include "codegen/builder/OperandView.h"
#include "codegen/contraction/ContractionPlan.h"
#include "codegen/contraction/common/Contraction.h"
#include "codegen/contraction/common/OpenConv.h"
#include "codegen/contraction/gemm/PackedColumns.h"
#include "ops/WindowPads.h"

#include "llvm/ADT/DenseSet.h"

namespace lathe {

std::vector<mlir::Operation *> anchorsOf(mlir::func::FuncOp function) {
  std::vector<mlir::Operation *> anchors;
  for (mlir::Operation &op : function.getBody().front())
    if (const OpRecord *record = nn::recordOf(&op); record && std::string_view(record->lowering) == "contraction")
      anchors.push_back(&op);
  if (anchors.empty())
    throw Declined{"a contraction kernel holds no contraction"};
  if (anchors.size() > 2)
    throw Declined{fmt::format("a contraction kernel holds {} contractions", anchors.size())};
  return anchors;
}

unsigned argumentOf(mlir::Value operand, const char *what) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(operand);
  if (!argument)
    throw Declined{fmt::format("{} is computed inside the kernel", what)};
  return argument.getArgNumber();
}

PointSpace convSpace(const ContractionProblem &problem, mlir::Operation *conv) {
  PointSpace space{problem.shapes.of(conv->getResult(0)).dims, ChannelAxis::second, 0};
  space.pixelAxes = space.dims.size() - 2;
  return space;
}

namespace {

/// The addition of a constant with one value a channel that alone reads the sums of conv_integer: a bias, with which
/// sums begin. Null: there is none.
mlir::Operation *biasAddition(const ContractionProblem &problem, mlir::Operation *anchor) {
  mlir::Value sums = anchor->getResult(0);
  mlir::Operation *add = isOp(anchor, "conv_integer") && sums.hasOneUse() ? *sums.user_begin() : nullptr;
  if (!isOp(add, "add") || add->getOperand(0) != sums)
    return nullptr;
  auto bias = llvm::dyn_cast<mlir::BlockArgument>(add->getOperand(1));
  if (!bias || !problem.function().getArgAttr(bias.getArgNumber(), "nn.constant") || nn::layoutOf(bias))
    return nullptr;
  TensorInfo info = problem.shapes.of(bias), all = problem.shapes.of(sums);
  Dims expected(all.rank(), Dim(1));
  expected[1] = all.dims[1];
  Dims own(all.rank() - std::min(all.rank(), info.rank()), Dim(1));
  own.insert(own.end(), info.dims.begin(), info.dims.end());
  return own == expected ? add : nullptr;
}

} // namespace

Epilogue convEpilogue(const ContractionProblem &problem, const ConvGeometry &conv, RunTimeDims &dims) {
  mlir::Operation *bias = biasAddition(problem, problem.anchor);
  return Epilogue(problem.function(), (bias ? bias : problem.anchor)->getResult(0), convSpace(problem, problem.anchor),
                  convLanes(problem.target(), conv), problem.shapes, dims);
}

Epilogue gemmEpilogue(const ContractionProblem &problem, const GemmGeometry &gemm, RunTimeDims &dims) {
  mlir::Value result = problem.anchor->getResult(0);
  PointSpace space{problem.shapes.of(result).dims, ChannelAxis::last, gemm.pixelAxes};
  Epilogue epilogue(problem.function(), result, std::move(space), gemmLanes(problem.target(), gemm), problem.shapes,
                    dims);
  auto operands = nn::operandsByRecord(problem.anchor);
  bool adds = operands.size() > 2 && nn::recordOf(problem.anchor)->name == std::string_view("gemm");
  epilogue.setAddend(adds ? operands[2] : mlir::Value(), gemm.alpha, gemm.beta, problem.shapes, dims);
  return epilogue;
}

namespace {

/// The argument that holds the zero point `index` of conv_integer or matmul_integer (2: of the left operand, 3: of the
/// right one): one value. That of a constant right operand is constant, and the operand i8, as widen-integer leaves it.
std::optional<unsigned> zeroPointOf(const ContractionProblem &problem, mlir::Operation *anchor, size_t index,
                                    bool ofConstant) {
  auto operands = nn::operandsByRecord(anchor);
  if (operands.size() <= index || !operands[index])
    return std::nullopt;
  if (ofConstant && problem.shapes.of(operands[index]).type != ElementType::i8)
    throw Declined{"the constant operand with a zero point is not i8 (widen-integer)"};
  if (TensorInfo zero = problem.shapes.of(operands[index]); !(product(zero.dims) == Dim(1)))
    throw Declined{fmt::format("an operand has zero points of shape {}, not one", str(zero.dims))};
  return argumentOf(operands[index], "the zero point");
}

/// conv_integer has the attributes of conv.
ConvAttrs convAttrs(mlir::Operation *anchor) {
  if (!isOp(anchor, "conv_integer"))
    return nn::attrsAs<ConvAttrs>(anchor);
  auto integer = nn::attrsAs<ConvIntegerAttrs>(anchor);
  ConvAttrs attrs;
  attrs.strides = integer.strides;
  attrs.dilations = integer.dilations;
  attrs.pads = integer.pads;
  attrs.group = integer.group;
  return attrs;
}

ChannelLayout channelsOf(mlir::Value value, const Target &target) {
  nn::BlockedAttr layout = nn::layoutOf(value);
  if (layout && layout.getAxis() != 1)
    throw Declined{fmt::format("a layout blocked along axis {}", layout.getAxis())};
  return channelLayout(value, target.channelBlock(nn::infoOf(value).type));
}

void setLayouts(ConvGeometry &conv, const ChannelLayout &in, const ChannelLayout &out) {
  conv.inBlock = in.block;
  conv.inLast = in.last;
  conv.outBlock = out.block;
  if (conv.open && (in.last || out.last))
    throw Declined{"a convolution of open extents with the channels last"};
}

/// The operands that only conv_integer has, and the bias behind it.
void readIntegers(const ContractionProblem &problem, mlir::Operation *anchor, ConvGeometry &conv) {
  if (mlir::Operation *bias = biasAddition(problem, anchor))
    conv.bias = argumentOf(bias->getOperand(1), "the bias");
  conv.weightsZero = zeroPointOf(problem, anchor, 3, /*ofConstant=*/true);
  conv.inputZero = zeroPointOf(problem, anchor, 2, /*ofConstant=*/false);
  if (conv.weightsZero && (conv.groups != 1 || conv.open))
    throw Declined{"a zero point of weights in several groups, or with open extents (widen-integer)"};
}

int64_t fixed(const Dim &dim, const char *what) {
  if (!dim.isConstant())
    throw Declined{fmt::format("{} {} is not static", what, dim.str())};
  return dim.constant();
}

/// Kernel, stride, dilation and begin of the padding of the three spatial axes; those that the convolution lacks have
/// extent 1. Returns the rest, which may be open.
OpenExtents readAxes(ConvGeometry &conv, const ConvAttrs &attrs, const TensorInfo &x, const TensorInfo &w,
                     const TensorInfo &y) {
  size_t spatial = x.rank() - 2, lead = 3 - spatial;
  OpenExtents extents;
  for (size_t i = 0; i < 3; ++i) {
    bool real = i >= lead;
    size_t at = i - lead;
    extents.in[i] = real ? x.dims[2 + at] : Dim(1);
    extents.out[i] = real ? y.dims[2 + at] : Dim(1);
    extents.padEnd[i] = real ? attrs.pads[spatial + at] : 0;
    conv.kernel[i] = real ? fixed(w.dims[2 + at], "a kernel extent") : 1;
    conv.stride[i] = real ? attrs.strides[at] : 1;
    conv.dilation[i] = real ? attrs.dilations[at] : 1;
    conv.padBegin[i] = real ? attrs.pads[at] : 0;
    if (real) {
      int64_t window = (conv.kernel[i] - 1) * conv.dilation[i] + 1;
      extents.shift[i] = windowShift(attrs.pads, at, spatial, window, conv.stride[i], extents.in[i]);
      extents.mostShift[i] = mostShift(attrs.pads, at, spatial, window, conv.stride[i]);
    }
  }
  return extents;
}

/// `computedInput`: the kernel makes the input itself, so that `input` is no argument. `mayBeOpen`: spatial extents may
/// be known to the run only.
ConvGeometry convGeometry(const ContractionProblem &problem, mlir::Operation *anchor, bool computedInput = false,
                          bool mayBeOpen = false) {
  mlir::func::FuncOp function = problem.function();
  const nn::SymbolicShapes &shapes = problem.shapes;
  ConvAttrs attrs = convAttrs(anchor);
  auto operands = nn::operandsByRecord(anchor);
  ConvGeometry conv;
  TensorInfo x = shapes.of(operands[0]), w = shapes.of(operands[1]), y = shapes.of(anchor->getResult(0));
  conv.inputType = x.type;
  conv.weightsType = w.type;
  conv.type = y.type;
  if (conv.type == ElementType::boolean || !KernelBuilder::computes(conv.type))
    throw Declined{fmt::format("no convolution of elements of type {}", name(conv.type))};
  conv.images = x.dims[0];
  conv.groups = attrs.group;
  conv.inChannels = fixed(w.dims[1], "the input channel count");
  conv.outChannels = fixed(w.dims[0], "the output channel count") / conv.groups;
  OpenExtents extents = readAxes(conv, attrs, x, w, y);
  if (mayBeOpen && !(allConstant(extents.in) && allConstant(extents.out)))
    setOpen(conv, std::move(extents), problem.kernel.typical);
  else
    setStatic(conv, extents);
  setLayouts(conv, channelsOf(operands[0], problem.target()), channelsOf(anchor->getResult(0), problem.target()));
  if (computedInput)
    conv.inLast = 0; // what the kernel makes itself is in blocks
  conv.input = computedInput ? function.getNumArguments() : argumentOf(operands[0], "the convolution's input");
  conv.weights = argumentOf(operands[1], "the convolution's weight");
  if (!function.getArgAttr(conv.weights, "nn.constant"))
    throw Declined{"the convolution's weights are not constant"};
  if (nn::layoutOf(operands[1]))
    throw Declined{"the convolution's weights are blocked"};
  if (isOp(anchor, "conv_integer")) {
    readIntegers(problem, anchor, conv);
  } else if (operands.size() > 2 && operands[2]) {
    conv.bias = argumentOf(operands[2], "the convolution's bias");
  }
  if (conv.outPixels() == 0 || conv.inPixels() == 0 || conv.inChannels == 0 || conv.outChannels == 0)
    throw Declined{"a convolution without elements"};
  return conv;
}

/// Strides of an operand with the stack extents `own`, of matrices with `size` elements, along the axes of a stack
/// `all`.
ViewAxis stackWalk(const Dims &own, const Dims &all, Dim size) {
  ViewAxis walk;
  size_t missing = all.size() - own.size();
  for (size_t i = all.size(); i-- > 0;) {
    bool there = i >= missing && own[i - missing] == all[i];
    if (!there && i >= missing && !(own[i - missing] == Dim(1)))
      throw Declined{fmt::format("a stack of {} matrices meets one of {}", str(own), str(all))};
    if (!(all[i] == Dim(1)))
      walk.insert(walk.begin(), {all[i], there ? size : Dim(0)});
    if (there)
      size = size * all[i];
  }
  return walk;
}

/// Extents and strides of ONNX's Gemm, which multiplies two matrices.
void setGemm(GemmGeometry &gemm, const GemmAttrs &attrs, const TensorInfo &a, const TensorInfo &b) {
  gemm.batch = 1;
  gemm.m = a.dims[attrs.trans_a ? 1 : 0];
  gemm.k = fixed(a.dims[attrs.trans_a ? 0 : 1], "the reduction extent");
  gemm.n = fixed(b.dims[attrs.trans_b ? 0 : 1], "the column count");
  gemm.aRowStride = attrs.trans_a ? 1 : gemm.k;
  gemm.aStepStride = attrs.trans_a ? fixed(gemm.m, "the row count of a transposed operand") : 1;
  gemm.transB = attrs.trans_b;
  gemm.alpha = attrs.alpha;
  gemm.beta = attrs.beta;
}

/// Extents and strides of a product of stacks of matrices with the extents `all`, those of the result; the left operand
/// may be a vector.
void setMatmul(GemmGeometry &gemm, const TensorInfo &a, const TensorInfo &b, Dims all) {
  if (b.rank() < 2)
    throw Declined{"the right operand is a vector"};
  bool row = a.rank() == 1;
  gemm.m = row ? Dim(1) : a.dims[a.rank() - 2];
  gemm.k = fixed(a.dims.back(), "the reduction extent");
  gemm.n = fixed(b.dims.back(), "the column count");
  gemm.aRowStride = gemm.k;
  gemm.aStepStride = 1;
  Dims aBatch(a.dims.begin(), a.dims.end() - std::min<size_t>(2, a.rank())), bBatch(b.dims.begin(), b.dims.end() - 2);
  Dim aCount = product(aBatch), bCount = product(bBatch);
  all.resize(all.size() - (row ? 1 : 2));
  gemm.batch = product(all);
  if (bCount == Dim(1) && !row) {
    // All matrices have one right operand: the outer axes of the left operand are further rows.
    gemm.m = gemm.m * aCount;
    gemm.batch = 1;
    gemm.pixelAxes = all.size() + 1;
    return;
  }
  if (gemm.batch == Dim(0))
    throw Declined{"a matrix product without elements"};
  CommonAxes common =
      commonAxes({stackWalk(aBatch, all, gemm.m * Dim(gemm.k)), stackWalk(bBatch, all, gemm.k * gemm.n)});
  gemm.outer = common.extents;
  gemm.aOuter = common.strides[0];
  gemm.bOuter = common.strides[1];
  gemm.constantB = gemm.constantB && bCount == Dim(1);
  if (row)
    gemm.pixelAxes = 0;
}

GemmGeometry gemmGeometry(const ContractionProblem &problem) {
  mlir::Operation *anchor = problem.anchor;
  auto operands = nn::operandsByRecord(anchor);
  TensorInfo a = problem.shapes.of(operands[0]), b = problem.shapes.of(operands[1]);
  GemmGeometry gemm;
  gemm.leftType = a.type;
  gemm.rightType = b.type;
  gemm.type = problem.shapes.of(anchor->getResult(0)).type;
  if (gemm.type == ElementType::boolean || !KernelBuilder::computes(gemm.type))
    throw Declined{fmt::format("no matrix product of elements of type {}", name(gemm.type))};
  for (mlir::Value value : {operands[0], operands[1], mlir::Value(anchor->getResult(0))})
    if (nn::layoutOf(value))
      throw Declined{"a matrix product in a blocked layout"};
  gemm.a = argumentOf(operands[0], "the left operand");
  std::optional<nn::PackedWeights> packed = nn::packedWeightsOf(anchor);
  if (packed)
    gemm.packed = packedColumnsFacts(*packed);
  gemm.b = argumentOf(packed ? packed->codes : operands[1], "the right operand");
  mlir::func::FuncOp function = problem.function();
  gemm.constantB = function.getArgAttr(gemm.b, "nn.constant") && gemm.a != gemm.b;

  if (isOp(anchor, "gemm"))
    setGemm(gemm, nn::attrsAs<GemmAttrs>(anchor), a, b);
  else
    setMatmul(gemm, a, b, problem.shapes.of(anchor->getResult(0)).dims);
  if (isOp(anchor, "matmul_integer")) {
    gemm.leftZero = zeroPointOf(problem, anchor, 2, /*ofConstant=*/false);
    gemm.rightZero = zeroPointOf(problem, anchor, 3, gemm.constantB);
  }
  gemm.bStepStride = gemm.transB ? 1 : gemm.n;
  gemm.bLaneStride = gemm.transB ? gemm.k : 1;
  if (gemm.n == 0 || gemm.k == 0)
    throw Declined{"a matrix product without elements"};
  return gemm;
}

/// Only the second convolution may use the operators between the two.
void requireInside(const ContractionProblem &problem, mlir::Value between) {
  llvm::DenseSet<mlir::Operation *> inside;
  llvm::SmallVector<mlir::Value> pending = {between};
  while (!pending.empty())
    if (mlir::Operation *op = pending.pop_back_val().getDefiningOp(); op && inside.insert(op).second)
      pending.append(op->operand_begin(), op->operand_end());
  if (!inside.contains(problem.before))
    throw Declined{"the second convolution does not read what the first computes"};
  for (mlir::Operation *op : inside)
    for (mlir::Operation *user : op->getUsers())
      if (!inside.contains(user) && (user != problem.anchor || op != between.getDefiningOp()) &&
          !llvm::isa<nn::ConstantOp>(op))
        throw Declined{"what leads from the first convolution to the second is used elsewhere"};
}

SeparableGeometry separableGeometry(const ContractionProblem &problem) {
  if (!isOp(problem.before, "conv") || !isOp(problem.anchor, "conv"))
    throw Declined{"separable is for a depthwise convolution and a pointwise one behind it"};
  SeparableGeometry pair;
  requireInside(problem, problem.anchor->getOperand(0));
  pair.depthwise = convGeometry(problem, problem.before);
  pair.pointwise = convGeometry(problem, problem.anchor, /*computedInput=*/true);
  const ConvGeometry &first = pair.depthwise;
  ConvGeometry &second = pair.pointwise;
  pair.lanes = problem.target().lanes(32);
  for (const ConvGeometry *conv : {&first, &std::as_const(second)})
    for (ElementType type : {conv->type, conv->weightsType})
      if (type != ElementType::f32)
        throw Declined{fmt::format("separable computes elements of type f32, these are {}", name(type))};
  if (first.inChannels != 1 || first.outChannels != 1)
    throw Declined{"the first of two convolutions is not depthwise"};
  if (!second.pointwise() || second.groups != 1)
    throw Declined{"the second of two convolutions is not pointwise"};
  if (first.inBlock != pair.lanes || first.outBlock != pair.lanes || second.inBlock != pair.lanes)
    throw Declined{fmt::format("separable hands on blocks of {} channels", pair.lanes)};
  second.out = second.in = {1, second.out[0] * second.out[1], second.out[2]};
  return pair;
}

/// Emits the epilogue of one vector into a temporary kernel, so that an operator without code declines here and not
/// while a schedule's kernel is generated.
void tryEpilogue(const ContractionProblem &problem, const Epilogue &epilogue, const RunTimeDims &dims, ElementType type,
                 int64_t lanes, const Epilogue::Sink &sink = {}) {
  mlir::func::FuncOp function = problem.function();
  std::vector<bool> writable(function.getNumArguments() + function.getNumResults(), true);
  KernelBuilder k(problem.kernel, "trial", writable, dims.list().size());
  Epilogue::Tile tile;
  tile.image = tile.pixel = tile.channel = k.constant(0);
  tile.pixels = {0};
  tile.channels = lanes;
  epilogue.emit(k, dims, tile, k.zero(KernelBuilder::vectorOf(k.computeType(type), lanes)), sink);
}

/// Weights are stored in the order of an algorithm: nothing else of the kernel may read them.
void requireOwnWeights(const Epilogue &epilogue, unsigned weights, const char *what) {
  if (epilogue.reads(weights))
    throw Declined{fmt::format("{} is also an operand of what follows", what)};
}

void readConv(const ContractionProblem &problem, ContractionFacts &facts) {
  ConvGeometry conv = convGeometry(problem, problem.anchor, /*computedInput=*/false, /*mayBeOpen=*/true);
  int64_t lanes = convLanes(problem.target(), conv);
  if (conv.outBlock && conv.outBlock != lanes)
    throw Declined{fmt::format("the result has blocks of {} channels, vectors have {}", conv.outBlock, lanes)};
  RunTimeDims dims;
  Epilogue epilogue = convEpilogue(problem, conv, dims);
  facts.blockedResults = epilogue.blocked();
  requireOwnWeights(epilogue, conv.weights, "the convolution's weight");
  tryEpilogue(problem, epilogue, dims, conv.type, lanes);
  if (conv.open)
    facts.assumed = assumedExtents(problem.kernel);
  facts.conv = std::move(conv);
}

void readGemm(const ContractionProblem &problem, ContractionFacts &facts) {
  GemmGeometry gemm = gemmGeometry(problem);
  RunTimeDims dims;
  Epilogue epilogue = gemmEpilogue(problem, gemm, dims);
  if (gemm.constantB)
    requireOwnWeights(epilogue, gemm.b, "the right operand");
  if (gemm.packed)
    for (const auto *parameter : {&gemm.packed->scale, &gemm.packed->zero})
      if (parameter->argument)
        requireOwnWeights(epilogue, *parameter->argument, "a scale or zero point of the weights");
  tryEpilogue(problem, epilogue, dims, gemm.type, gemmLanes(problem.target(), gemm));
  facts.gemm = std::move(gemm);
}

void readSeparable(const ContractionProblem &problem, ContractionFacts &facts) {
  SeparableGeometry pair = separableGeometry(problem);
  RunTimeDims dims;
  Epilogue last = convEpilogue(problem, pair.pointwise, dims);
  Epilogue inner = separableEpilogue(problem, pair, dims);
  facts.blockedResults = last.blocked();
  for (const Epilogue *epilogue : {&last, &inner})
    for (unsigned weights : {pair.depthwise.weights, pair.pointwise.weights})
      requireOwnWeights(*epilogue, weights, "a convolution's weight");
  tryEpilogue(problem, last, dims, ElementType::f32, pair.lanes);
  tryEpilogue(problem, inner, dims, ElementType::f32, pair.lanes,
              [](const Epilogue::Tile &, size_t, int64_t, mlir::Value) {});
  facts.separable = std::move(pair);
}

} // namespace

Epilogue separableEpilogue(const ContractionProblem &problem, const SeparableGeometry &pair, RunTimeDims &dims) {
  return Epilogue(problem.function(), problem.before->getResult(0), convSpace(problem, problem.before), pair.lanes,
                  problem.shapes, dims, problem.anchor->getOperand(0));
}

namespace {

std::unique_ptr<KernelFacts> readFacts(const KernelProblem &kernel) {
  ContractionProblem problem(kernel);
  auto facts = std::make_unique<ContractionFacts>();
  if (problem.before)
    readSeparable(problem, *facts);
  else if (isOp(problem.anchor, "conv") || isOp(problem.anchor, "conv_integer"))
    readConv(problem, *facts);
  else
    readGemm(problem, *facts);
  facts->operators = countOps(problem.function()) - (problem.before ? 2 : 1);
  if (std::optional<nn::PackedWeights> packed = nn::packedWeightsOf(problem.anchor))
    facts->operators -= static_cast<int64_t>(packed->ops.size());
  return facts;
}

GeneratedKernel generateContraction(const KernelProblem &kernel, const KernelFacts &given, const Schedule &schedule) {
  return std::visit([&](const auto &plan) { return generateFrom(ContractionProblem(kernel), plan, schedule); },
                    planOf(static_cast<const ContractionFacts &>(given), schedule));
}

} // namespace

extern const KernelFamily contractionFamily = {"contraction", readFacts, generateContraction};

} // namespace lathe
