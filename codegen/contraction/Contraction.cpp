#include "codegen/contraction/Contraction.h"

#include "codegen/contraction/Separable.h"

namespace lathe {

bool ConvGeometry::pointwise() const {
  for (int i = 0; i < 3; ++i)
    if (kernel[i] != 1 || stride[i] != 1 || padBegin[i] != 0 || in[i] != out[i])
      return false;
  return true;
}

bool ConvGeometry::mergesRows() const {
  if (pointwise())
    return true;
  for (int i = 0; i < 3; ++i)
    if (kernel[i] != 1 || padBegin[i] != 0 || (out[i] - 1) * stride[i] >= in[i])
      return false;
  return in[0] == 1 && out[0] == 1;
}

int64_t ConvGeometry::inImageStride() const {
  int64_t channels = groups * inChannels;
  if (inBlock)
    channels = (channels + inBlock - 1) / inBlock * inBlock;
  return channels * inPixels();
}

PointSpace convSpace(const ContractionProblem &problem, const ConvGeometry &conv) {
  PointSpace space{problem.shapes.of(conv.result).dims, ChannelAxis::second, 0};
  space.pixelAxes = space.dims.size() - 2;
  return space;
}

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

ConvGeometry convGeometry(mlir::func::FuncOp function, mlir::Operation *anchor, const nn::SymbolicShapes &shapes,
                          bool computedInput) {
  auto attrs = nn::attrsAs<ConvAttrs>(anchor);
  auto operands = nn::operandsByRecord(anchor);
  ConvGeometry conv;
  conv.result = anchor->getResult(0);
  TensorInfo x = shapes.of(operands[0]), w = shapes.of(operands[1]), y = shapes.of(conv.result);
  conv.type = x.type;
  if (conv.type == ElementType::boolean || (!isFloat(conv.type) && bitWidth(conv.type) < 8))
    throw Declined{fmt::format("no convolution of elements of type {}", name(conv.type))};
  conv.images = x.dims[0];
  auto fixed = [](const Dim &dim, const char *what) {
    if (!dim.isConstant())
      throw Declined{fmt::format("{} {} is not static", what, dim.str())};
    return dim.constant();
  };
  conv.groups = attrs.group;
  conv.inChannels = fixed(w.dims[1], "the input channel count");
  conv.outChannels = fixed(w.dims[0], "the output channel count") / conv.groups;
  size_t spatial = x.rank() - 2, lead = 3 - spatial;
  for (size_t i = 0; i < 3; ++i) {
    bool real = i >= lead;
    size_t at = i - lead;
    conv.in[i] = real ? fixed(x.dims[2 + at], "a spatial extent") : 1;
    conv.out[i] = real ? fixed(y.dims[2 + at], "a spatial extent") : 1;
    conv.kernel[i] = real ? fixed(w.dims[2 + at], "a kernel extent") : 1;
    conv.stride[i] = real ? attrs.strides[at] : 1;
    conv.dilation[i] = real ? attrs.dilations[at] : 1;
    conv.padBegin[i] = real ? attrs.pads[at] : 0;
  }
  auto block = [](mlir::Value value) -> int64_t {
    nn::BlockedAttr layout = nn::layoutOf(value);
    if (layout && layout.getAxis() != 1)
      throw Declined{fmt::format("a layout blocked along axis {}", layout.getAxis())};
    return layout ? layout.getSize() : 0;
  };
  conv.inBlock = block(operands[0]);
  conv.outBlock = block(conv.result);
  conv.input = computedInput ? function.getNumArguments() : argumentOf(operands[0], "the convolution's input");
  conv.weights = argumentOf(operands[1], "the convolution's weight");
  if (!function.getArgAttr(conv.weights, "nn.constant"))
    throw Declined{"the convolution's weights are not constant"};
  if (nn::layoutOf(operands[1]))
    throw Declined{"the convolution's weights are blocked"};
  if (operands.size() > 2 && operands[2])
    conv.bias = argumentOf(operands[2], "the convolution's bias");
  if (conv.outPixels() == 0 || conv.inPixels() == 0 || conv.inChannels == 0 || conv.outChannels == 0)
    throw Declined{"a convolution without elements"};
  return conv;
}

namespace {

/// How many tiles from number `first` on are alike, where that one lies inside the row with all its taps.
int64_t tilesInside(const ConvGeometry &conv, const EvenPieces &tiles, int64_t first) {
  int64_t width = tiles.size(first), alike = (first < tiles.large ? tiles.large : tiles.count) - first;
  // The last position of which all taps lie in the row.
  int64_t reach = conv.in[2] - 1 + conv.padBegin[2] - (conv.kernel[2] - 1) * conv.dilation[2];
  int64_t room = reach / conv.stride[2] - (tiles.start(first) + width - 1); // for more tiles behind
  return std::min(alike, 1 + std::max<int64_t>(0, room) / width);
}

} // namespace

std::vector<TileClass> tileClasses(const ConvGeometry &conv, int64_t px) {
  std::vector<TileClass> classes;
  EvenPieces tiles = evenPieces(conv.out[2], px);
  for (int64_t number = 0; number < tiles.count;) {
    int64_t start = tiles.start(number), width = tiles.size(number);
    TileClass tile;
    tile.start = start;
    tile.count = 1;
    tile.width = width;
    bool inside = true;
    for (int64_t kw = 0; kw < conv.kernel[2]; ++kw) {
      int64_t first = width, last = 0;
      for (int64_t p = 0; p < width; ++p) {
        int64_t at = (start + p) * conv.stride[2] - conv.padBegin[2] + kw * conv.dilation[2];
        if (at >= 0 && at < conv.in[2]) {
          first = std::min(first, p);
          last = p + 1;
        }
      }
      tile.reach.emplace_back(std::min(first, last), last);
      inside &= first == 0 && last == width;
    }
    if (inside)
      tile.count = tilesInside(conv, tiles, number);
    number += tile.count;
    if (!classes.empty() && classes.back().width == width && classes.back().reach == tile.reach)
      classes.back().count += tile.count;
    else
      classes.push_back(std::move(tile));
  }
  return classes;
}

std::pair<mlir::Value, mlir::Value> tapRange(KernelBuilder &k, const ConvGeometry &conv, int axis,
                                             mlir::Value position) {
  int64_t kernel = conv.kernel[axis], stride = conv.stride[axis], dilation = conv.dilation[axis],
          pad = conv.padBegin[axis];
  mlir::Value low = k.constant(0), high = k.constant(kernel);
  if (pad > 0) {
    mlir::Value missing = k.max(k.sub(k.constant(pad), k.mul(position, stride)), k.constant(0));
    low = k.div(k.add(missing, dilation - 1), dilation);
  }
  int64_t last = (conv.out[axis] - 1) * stride - pad + (kernel - 1) * dilation;
  if (last >= conv.in[axis]) {
    mlir::Value room = k.max(k.sub(k.constant(conv.in[axis] + pad), k.mul(position, stride)), k.constant(0));
    high = k.min(k.div(k.add(room, dilation - 1), dilation), high);
  }
  return {low, high};
}

int64_t atMost(const char *name, int64_t value, int64_t most) {
  if (value > most)
    throw Declined{fmt::format("{}={} is more than {}", name, value, most)};
  return value;
}

EvenPieces evenPieces(int64_t extent, int64_t most) {
  int64_t count = (extent + most - 1) / most;
  return {count, extent / count, extent % count};
}

namespace {

/// Groups that are narrower than a block, or that do not end where blocks do, are computed lane by lane.
bool needsLanewise(const ContractionProblem &problem, const ConvGeometry &conv) {
  if (conv.groups == 1)
    return false;
  int64_t lanes = problem.target().lanes(bitWidth(conv.type) == 16 ? 32 : bitWidth(conv.type));
  if (conv.inBlock && conv.inChannels % conv.inBlock)
    return true;
  if (conv.outBlock && conv.outChannels % conv.outBlock)
    return true;
  // Row-major activations suit both: vectors partly filled by one group, or lanes gathered over many.
  return conv.outChannels < (conv.inBlock || conv.outBlock ? lanes : std::min<int64_t>(lanes, 4));
}

Outcome<Schedule> contractionPrior(const KernelProblem &kernel) {
  ContractionProblem problem(kernel);
  if (problem.before)
    return separablePrior(problem);
  if (nn::recordOf(problem.anchor)->name != std::string_view("conv"))
    return gemmPrior(problem);
  ConvGeometry conv = convGeometry(kernel.function, problem.anchor, problem.shapes);
  if (needsLanewise(problem, conv))
    return lanewisePrior(problem, conv);
  if (std::optional<Schedule> tiles = tilePrior(problem, conv))
    return *tiles;
  if (std::optional<Schedule> winograd = winogradPrior(problem, conv))
    return *winograd;
  return directPrior(problem, conv);
}

Outcome<GeneratedKernel> generateContraction(const KernelProblem &kernel, const Schedule &schedule) {
  ContractionProblem problem(kernel);
  if (problem.before || isSeparable(schedule))
    return generateSeparable(problem, schedule);
  bool isConv = nn::recordOf(problem.anchor)->name == std::string_view("conv");
  if (!isConv) {
    if (schedule.algorithm == "amx")
      return generateTiles(problem, gemmGeometry(problem), schedule);
    if (schedule.algorithm != "gemm")
      return NotApplicable{fmt::format("algorithm '{}' does not compute matrix products", schedule.algorithm)};
    return generateGemm(problem, schedule);
  }
  ConvGeometry conv = convGeometry(kernel.function, problem.anchor, problem.shapes);
  if (schedule.algorithm == "direct")
    return generateDirect(problem, conv, schedule);
  if (schedule.algorithm == "winograd")
    return generateWinograd(problem, conv, schedule);
  if (schedule.algorithm == "amx")
    return generateTiles(problem, conv, schedule);
  if (schedule.algorithm == "lanewise")
    return generateLanewise(problem, conv, schedule);
  return NotApplicable{fmt::format("algorithm '{}' does not compute convolutions", schedule.algorithm)};
}

} // namespace

extern const KernelFamily contractionFamily = {"contraction", contractionPrior, generateContraction};

} // namespace lathe
