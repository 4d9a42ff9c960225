// Transposed convolutions with constant weights as ordinary ones.
//
// Along one axis the full result is F[i * s + t * d] += x[i] * w[t]. Its position s * m + phase meets only the taps
// with t * d = phase (mod s), and tap t reads x[m - u] with u = floor(t * d / s): so phases with the same offsets u are
// output channels of one convolution over x whose taps are these offsets, and interleaving all phases (depth_to_space)
// gives F. Pads cut off both ends of F. No zero weight is added: zero times an infinity or NaN would reach positions to
// which the element does not belong. Phases without a tap are zero.
#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <numeric>

namespace lathe {
namespace {

/// One spatial axis: the convolution that computes all phases, and the part of its interleaved result that is wanted.
struct Axis {
  int64_t kernel, stride, dilation;
  int64_t reach = 0;                // greatest offset u
  int64_t padBegin = 0, padEnd = 0; // of a convolution that reads all offsets from 0 to reach
  int64_t cutBegin = 0, cutEnd = 0; // positions of the interleaved result before and after the wanted ones

  Axis(int64_t kernel, int64_t stride, int64_t dilation, int64_t begin, int64_t end, int64_t outputPadding)
      : kernel(kernel), stride(stride), dilation(dilation) {
    reach = offset(kernel - 1);
    // Rows m from floor(begin / s) to in - 1 + floor(beyond / s) are wanted; a convolution may compute more.
    int64_t beyond = dilation * (kernel - 1) + outputPadding - end;
    padBegin = std::max<int64_t>(reach - begin / stride, 0);
    padEnd = beyond > 0 ? beyond / stride : 0;
    for (int64_t phase = 0; phase < stride; ++phase)
      if (std::vector<int64_t> offsets = offsetsOf(phase); !offsets.empty()) { // whose pads are not negative
        padBegin = std::max(padBegin, reach - offsets.back());
        padEnd = std::max(padEnd, offsets.front());
      }
    cutBegin = begin - (reach - padBegin) * stride;
    // Counted from the first output of the last input, the interleaved rows have stride * (1 + padEnd) positions and the
    // wanted rows 1 + beyond. The rest is cut.
    cutEnd = stride * (1 + padEnd) - 1 - beyond;
  }
  int64_t offset(int64_t tap) const { return tap * dilation / stride; }
  int64_t phase(int64_t tap) const { return tap * dilation % stride; }
  /// Offsets of the taps that belong to a phase, rising.
  std::vector<int64_t> offsetsOf(int64_t wanted) const {
    std::vector<int64_t> offsets;
    for (int64_t tap = 0; tap < kernel; ++tap)
      if (phase(tap) == wanted)
        offsets.push_back(offset(tap));
    return offsets;
  }
};

/// The taps of a convolution along one axis, for phases that read the same offsets.
struct Taps {
  std::vector<int64_t> offsets; // rising, equally far apart; may be empty
  int64_t step = 1;             // dilation: their distance
  int64_t padBegin = 0, padEnd = 0;

  Taps(const Axis &axis, std::vector<int64_t> read) : offsets(std::move(read)) {
    if (offsets.empty())
      return;
    step = offsets.size() > 1 ? offsets[1] - offsets[0] : 1;
    // Positions relative to a convolution over all offsets from 0 to reach.
    padBegin = axis.padBegin - (axis.reach - offsets.back());
    padEnd = axis.padEnd - offsets.front();
  }
  int64_t count() const { return offsets.empty() ? 0 : place(offsets.front()) + 1; }
  /// Taps of a convolution go forwards over x, offsets go backwards.
  int64_t place(int64_t offset) const { return (offsets.back() - offset) / step; }
};

/// Phases that one convolution computes.
struct Part {
  std::vector<Taps> taps; // an axis each
  std::vector<int64_t> phases;
  bool isEmpty() const {
    return llvm::any_of(taps, [](const Taps &each) { return each.offsets.empty(); });
  }
};

class Rewriter {
public:
  Rewriter(mlir::Operation *op, const Tensor &weights)
      : op(op), last(op), replaced{op}, attrs(nn::attrsAs<ConvTransposeAttrs>(op)), weights(weights), b(op),
        loc(op->getLoc()) {
    spatial = attrs.strides.size();
    for (size_t i = 0; i < spatial; ++i)
      axes.emplace_back(weights.dim(2 + i), attrs.strides[i], attrs.dilations[i], attrs.pads[i],
                        attrs.pads[spatial + i], attrs.output_padding[i]);
    phases = std::accumulate(attrs.strides.begin(), attrs.strides.end(), int64_t(1), std::multiplies<>());
    outChannels = weights.dim(1) * attrs.group;
    phaseFirst = attrs.group == 1;
  }

  /// Interleaving by a reshape can infer only one extent.
  bool canInterleave() const {
    auto type = rankedType(op->getOperand(0));
    int64_t open = 0;
    for (int64_t extent : type.getShape().drop_front(2))
      open += mlir::ShapedType::isDynamic(extent);
    return phases == 1 || bySpaceBlocks() || open <= 1;
  }

  void run() {
    divide();
    llvm::SmallVector<mlir::Value> results;
    for (const Part &part : parts)
      results.push_back(convolution(part));
    if (!hasEmptyPhases())
      absorbChain(results);
    mlir::Value result = joined(results);
    if (phases > 1)
      result = interleave(result);
    result = cut(result);
    result.setType(last->getResult(0).getType());
    last->getResult(0).replaceAllUsesWith(result);
    for (mlir::Operation *moved : llvm::reverse(replaced))
      moved->erase();
  }

private:
  mlir::Operation *op, *last;
  std::vector<mlir::Operation *> replaced; // op, then operators that moved before the interleaving; ends with `last`
  ConvTransposeAttrs attrs;
  const Tensor &weights;
  mlir::OpBuilder b;
  mlir::Location loc;
  size_t spatial;
  std::vector<Axis> axes;
  int64_t phases, outChannels;
  std::vector<Part> parts; // all parts that have taps
  bool phaseFirst;         // channel = phase * O + o, otherwise o * phases + phase (so that groups stay together)

  bool bySpaceBlocks() const { return spatial == 2 && attrs.strides[0] == attrs.strides[1]; }

  /// Phase along `axis` of the phase with this number among the phases of all axes.
  int64_t phaseOf(int64_t number, size_t axis) const {
    for (size_t i = spatial; i-- > axis + 1;)
      number /= axes[i].stride;
    return number % axes[axis].stride;
  }

  void divide() {
    std::vector<std::vector<std::vector<int64_t>>> read; // offsets of each part
    for (int64_t phase = 0; phase < phases; ++phase) {
      std::vector<std::vector<int64_t>> offsets;
      for (size_t i = 0; i < spatial; ++i)
        offsets.push_back(axes[i].offsetsOf(phaseOf(phase, i)));
      auto found = llvm::find(read, offsets);
      if (found != read.end()) {
        parts[static_cast<size_t>(found - read.begin())].phases.push_back(phase);
        continue;
      }
      Part part{{}, {phase}};
      for (size_t i = 0; i < spatial; ++i)
        part.taps.emplace_back(axes[i], offsets[i]);
      if (part.isEmpty())
        continue;
      read.push_back(std::move(offsets));
      parts.push_back(std::move(part));
    }
  }

  bool hasEmptyPhases() const {
    int64_t computed = 0;
    for (const Part &part : parts)
      computed += static_cast<int64_t>(part.phases.size());
    return computed != phases;
  }

  /// The channel of output `o` in phase number `index` of `count` that stand together.
  int64_t channelOf(int64_t o, int64_t index, int64_t count) const {
    return phaseFirst ? index * outChannels + o : o * count + index;
  }

  /// One value for every output channel, repeated for `count` phases.
  std::vector<double> perPhase(const std::vector<double> &values, size_t count) const {
    std::vector<double> result(static_cast<size_t>(outChannels) * count);
    for (int64_t o = 0; o < outChannels; ++o)
      for (size_t phase = 0; phase < count; ++phase)
        result[channelOf(o, static_cast<int64_t>(phase), static_cast<int64_t>(count))] = values[o];
    return result;
  }

  std::vector<double> rearranged(const Part &part) const {
    int64_t inGroup = weights.dim(0) / attrs.group, outGroup = weights.dim(1), taps = 1, newTaps = 1;
    for (size_t i = 0; i < spatial; ++i) {
      taps *= axes[i].kernel;
      newTaps *= part.taps[i].count();
    }
    auto count = static_cast<int64_t>(part.phases.size());
    std::vector<double> from = toDoubles(weights), to(outChannels * count * inGroup * newTaps, 0.0);
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t rest = tap, phase = 0, phaseStep = 1, place = 0, placeStep = 1;
      for (size_t i = spatial; i-- > 0;) {
        int64_t t = rest % axes[i].kernel;
        rest /= axes[i].kernel;
        phase += axes[i].phase(t) * phaseStep;
        phaseStep *= axes[i].stride;
        place += part.taps[i].place(axes[i].offset(t)) * placeStep;
        placeStep *= part.taps[i].count();
      }
      auto index = llvm::find(part.phases, phase) - part.phases.begin();
      if (index == count)
        continue;
      for (int64_t c = 0; c < attrs.group * inGroup; ++c)
        for (int64_t o = 0; o < outGroup; ++o) {
          int64_t channel = channelOf(c / inGroup * outGroup + o, index, count);
          to[(channel * inGroup + c % inGroup) * newTaps + place] = from[(c * outGroup + o) * taps + tap];
        }
    }
    return to;
  }

  mlir::Value convolution(const Part &part) {
    ConvAttrs conv;
    conv.group = attrs.group;
    auto channels = outChannels * static_cast<int64_t>(part.phases.size());
    std::vector<int64_t> dims{channels, weights.dim(0) / attrs.group};
    conv.pads.resize(2 * spatial);
    for (size_t i = 0; i < spatial; ++i) {
      const Taps &taps = part.taps[i];
      dims.push_back(taps.count());
      conv.strides.push_back(1);
      conv.dilations.push_back(taps.step);
      conv.pads[i] = taps.padBegin;
      conv.pads[spatial + i] = taps.padEnd;
    }
    mlir::Value w = makeConstant(b, loc, weights.type(), dims, rearranged(part), constantName(op, ".weights"));
    mlir::Value bias = operandOf(op, 2);
    if (auto values = constantOf(bias))
      bias = makeConstant(b, loc, weights.type(), {channels}, perPhase(toDoubles(*values), part.phases.size()),
                          constantName(op, ".bias"));
    return nn::buildValue(b, loc, "conv", {op->getOperand(0), w, bias}, std::move(conv));
  }

  /// Joins the parts and puts their channels into the order of all phases.
  mlir::Value joined(llvm::ArrayRef<mlir::Value> results) {
    ConcatAttrs along;
    along.axis = 1;
    mlir::Value value = results.size() == 1 ? results[0] : nn::buildValue(b, loc, "concat", results, std::move(along));
    int64_t computed = 0;
    std::vector<int64_t> places(static_cast<size_t>(outChannels * phases), -1); // in `value`
    for (const Part &part : parts) {
      auto count = static_cast<int64_t>(part.phases.size());
      for (int64_t i = 0; i < count; ++i)
        for (int64_t o = 0; o < outChannels; ++o)
          places[channelOf(o, part.phases[i], phases)] = computed + channelOf(o, i, count);
      computed += count * outChannels;
    }
    if (hasEmptyPhases()) {
      // One channel of zeros is enough for all phases without a tap.
      std::replace(places.begin(), places.end(), int64_t(-1), computed);
      PadAttrs zeros;
      zeros.pads.resize(2 * (2 + spatial));
      zeros.pads[2 + spatial + 1] = 1;
      value = nn::buildValue(b, loc, "pad", {value, {}, {}}, std::move(zeros));
    }
    std::vector<int64_t> inOrder(places.size());
    std::iota(inOrder.begin(), inOrder.end(), 0);
    if (places != inOrder)
      value = gathered(value, places);
    return hasEmptyPhases() ? withBias(value) : value;
  }

  mlir::Value gathered(mlir::Value value, const std::vector<int64_t> &places) {
    Tensor indices(ElementType::i64, {static_cast<int64_t>(places.size())});
    llvm::copy(places, indices.as<int64_t>());
    GatherAttrs along;
    along.axis = 1;
    mlir::Value order = makeConstant(b, loc, indices, constantName(op, ".phases"));
    return nn::buildValue(b, loc, "gather", {value, order}, std::move(along));
  }

  /// Adds the bias if no convolution has it.
  mlir::Value withBias(mlir::Value value) {
    auto bias = constantOf(operandOf(op, 2));
    if (!bias)
      return value;
    std::vector<double> values = perPhase(toDoubles(*bias), static_cast<size_t>(phases));
    for (const Part &part : parts)
      for (int64_t phase : part.phases)
        for (int64_t o = 0; o < outChannels; ++o)
          values[channelOf(o, phase, phases)] = 0;
    mlir::Value added = makeConstant(b, loc, weights.type(), channelDims(value), values, constantName(op, ".bias"));
    return nn::buildValue(b, loc, "add", {value, added}, AddAttrs());
  }

  /// Moves later element-wise operators before the interleaving, into the epilogues of the convolutions.
  void absorbChain(llvm::MutableArrayRef<mlir::Value> values) {
    while (last->getResult(0).hasOneUse()) {
      mlir::Value before = last->getResult(0);
      mlir::Operation *user = *before.getUsers().begin();
      if (loweringOf(user) != "elementwise" || user->getNumResults() != 1 ||
          user->getResult(0).getType() != before.getType())
        break;
      if (llvm::any_of(user->getOperands(), [&](mlir::Value operand) {
            return operand != before && !splatValue(operand) && !perChannelConstant(operand, before);
          }))
        break;
      b.setInsertionPoint(user);
      for (auto [part, value] : llvm::zip(parts, values))
        value = moved(user, before, value, part.phases.size());
      last = user;
      replaced.push_back(user);
    }
    b.setInsertionPoint(last);
  }

  /// Repeats `user` of `before` on the phases of one part. Constants are per channel, or equal for all elements.
  mlir::Value moved(mlir::Operation *user, mlir::Value before, mlir::Value value, size_t count) {
    mlir::IRMapping map;
    map.map(before, value);
    for (mlir::Value operand : user->getOperands()) {
      if (operand == before)
        continue;
      ElementType type = nn::infoOf(operand).type;
      std::optional<double> equal = splatValue(operand); // the number of channels is different here
      map.map(operand, equal ? makeConstant(b, user->getLoc(), type, {}, {*equal}, constantName(user, ".value"))
                             : makeConstant(b, user->getLoc(), type, channelDims(value),
                                            perPhase(*perChannelConstant(operand, before), count),
                                            constantName(user, ".phases")));
    }
    mlir::Operation *copy = b.clone(*user, map);
    copy->getResult(0).setType(value.getType());
    return copy->getResult(0);
  }

  mlir::Value interleave(mlir::Value value) {
    auto type = rankedType(value);
    if (bySpaceBlocks()) {
      DepthToSpaceAttrs blocks;
      blocks.block_size = attrs.strides[0];
      blocks.mode = phaseFirst ? "DCR" : "CRD";
      return nn::buildValue(b, loc, "depth_to_space", {value}, std::move(blocks));
    }
    // N x phases x O x in, or N x O x phases x in; every axis of phases moves after its spatial axis.
    auto extent = [&](size_t i) {
      return type.isDynamicDim(2 + i) ? int64_t(-1) : type.getDimSize(static_cast<unsigned>(2 + i));
    };
    auto r = static_cast<int64_t>(spatial);
    ReshapeAttrs apart, together;
    TransposeAttrs order;
    apart.shape = {0};
    if (!phaseFirst)
      apart.shape.push_back(outChannels);
    apart.shape.insert(apart.shape.end(), attrs.strides.begin(), attrs.strides.end());
    if (phaseFirst)
      apart.shape.push_back(outChannels);
    order.perm = {0, phaseFirst ? 1 + r : 1};
    together.shape = {0, outChannels};
    for (size_t i = 0; i < spatial; ++i) {
      auto axis = static_cast<int64_t>(i);
      apart.shape.push_back(extent(i));
      order.perm.insert(order.perm.end(), {2 + r + axis, (phaseFirst ? 1 : 2) + axis});
      together.shape.push_back(extent(i) < 0 ? -1 : extent(i) * attrs.strides[i]);
    }
    value = nn::buildValue(b, loc, "reshape", {value, {}}, std::move(apart));
    value = nn::buildValue(b, loc, "transpose", {value}, std::move(order));
    return nn::buildValue(b, loc, "reshape", {value, {}}, std::move(together));
  }

  mlir::Value cut(mlir::Value value) {
    SliceAttrs slice;
    for (size_t i = 0; i < spatial; ++i) {
      if (axes[i].cutBegin == 0 && axes[i].cutEnd == 0)
        continue;
      slice.starts.push_back(axes[i].cutBegin);
      slice.ends.push_back(axes[i].cutEnd ? -axes[i].cutEnd : std::numeric_limits<int64_t>::max());
      slice.axes.push_back(static_cast<int64_t>(2 + i));
    }
    return slice.axes.empty() ? value : nn::buildValue(b, loc, "slice", {value, {}, {}, {}, {}}, std::move(slice));
  }
};

} // namespace

void convTranspose(mlir::ModuleOp module) {
  std::vector<mlir::Operation *> found;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (isOp(&op, "conv_transpose"))
      found.push_back(&op);
  for (mlir::Operation *op : found) {
    auto weights = constantOf(operandOf(op, 1));
    auto type = rankedType(op->getOperand(0)), result = rankedType(op->getResult(0));
    mlir::Value bias = operandOf(op, 2);
    if (!weights || !isFloat(weights->type()) || !type || !result || (bias && !constantOf(bias)) ||
        llvm::is_contained(type.getShape(), 0) || llvm::is_contained(result.getShape(), 0))
      continue;
    Rewriter rewriter(op, *weights);
    if (rewriter.canInterleave())
      rewriter.run();
  }
}

} // namespace lathe
