// Transposed convolutions with constant weights as ordinary ones.
//
// Along one axis the full result is F[i * s + t * d] += x[i] * w[t]. Its position s * m + phase meets only the taps
// with t * d = phase (mod s), and tap t reads x[m - u] with u = floor(t * d / s): so the phases are further output
// channels of one convolution over x whose taps are the offsets u, and interleaving the phases (depth_to_space) gives
// F, of which pads cut off both ends.
#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <numeric>

namespace lathe {
namespace {

/// One spatial axis: the convolution that computes all phases, and the part of its interleaved result that is wanted.
struct Axis {
  int64_t kernel, stride, dilation;
  int64_t reach = 0; // greatest offset u
  int64_t step = 1;  // dilation of the convolution: the offsets' greatest common divisor
  int64_t padBegin = 0, padEnd = 0;
  int64_t cutBegin = 0, cutEnd = 0; // positions of the interleaved result before and behind the wanted ones

  Axis(int64_t kernel, int64_t stride, int64_t dilation, int64_t begin, int64_t end, int64_t outputPadding)
      : kernel(kernel), stride(stride), dilation(dilation) {
    int64_t common = 0;
    for (int64_t tap = 0; tap < kernel; ++tap)
      common = std::gcd(common, offset(tap));
    step = std::max<int64_t>(common, 1);
    reach = offset(kernel - 1);
    // Rows m from floor(begin / s) to in - 1 + floor(beyond / s) are wanted; a convolution may compute more.
    int64_t beyond = dilation * (kernel - 1) + outputPadding - end;
    padBegin = std::max<int64_t>(reach - begin / stride, 0);
    padEnd = beyond > 0 ? beyond / stride : 0;
    cutBegin = begin - (reach - padBegin) * stride;
    // Interleaved: stride * (in + pads - reach); wanted: (in - 1) * stride + 1 + beyond - begin.
    cutEnd = stride * (1 + padBegin + padEnd - reach) - 1 - beyond + begin - cutBegin;
  }
  int64_t offset(int64_t tap) const { return tap * dilation / stride; }
  int64_t phase(int64_t tap) const { return tap * dilation % stride; }
  int64_t taps() const { return reach / step + 1; }
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

  /// True when some weight of the convolution stands for no tap (and would make NaN of an infinite input).
  bool hasGaps() const {
    int64_t used = 1, all = phases;
    for (const Axis &axis : axes) {
      used *= axis.kernel;
      all *= axis.taps();
    }
    return used != all;
  }

  /// Interleaving by reshape can infer one extent only.
  bool canInterleave() const {
    auto type = rankedType(op->getOperand(0));
    int64_t open = 0;
    for (int64_t extent : type.getShape().drop_front(2))
      open += mlir::ShapedType::isDynamic(extent);
    return phases == 1 || bySpaceBlocks() || open <= 1;
  }

  void run() {
    mlir::Value result = convolution();
    result = absorbChain(result);
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
  std::vector<mlir::Operation *> replaced; // op, and what moved before the interleaving; `last` is the last of them
  ConvTransposeAttrs attrs;
  const Tensor &weights;
  mlir::OpBuilder b;
  mlir::Location loc;
  size_t spatial;
  std::vector<Axis> axes;
  int64_t phases, outChannels;
  bool phaseFirst; // channel = phase * O + o, otherwise o * phases + phase (so that groups stay together)

  bool bySpaceBlocks() const { return spatial == 2 && attrs.strides[0] == attrs.strides[1]; }

  int64_t channelOf(int64_t o, int64_t phase) const {
    return phaseFirst ? phase * outChannels + o : o * phases + phase;
  }

  /// One value for every output channel, repeated for the phases.
  std::vector<double> perPhase(const std::vector<double> &values) const {
    std::vector<double> result(outChannels * phases);
    for (int64_t o = 0; o < outChannels; ++o)
      for (int64_t phase = 0; phase < phases; ++phase)
        result[channelOf(o, phase)] = values[o];
    return result;
  }

  std::vector<double> rearranged() const {
    int64_t inGroup = weights.dim(0) / attrs.group, outGroup = weights.dim(1), taps = 1, newTaps = 1;
    for (const Axis &axis : axes) {
      taps *= axis.kernel;
      newTaps *= axis.taps();
    }
    std::vector<double> from = toDoubles(weights), to(outChannels * phases * inGroup * newTaps, 0.0);
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t rest = tap, phase = 0, phaseStep = 1, place = 0, placeStep = 1;
      for (size_t i = spatial; i-- > 0;) {
        int64_t t = rest % axes[i].kernel;
        rest /= axes[i].kernel;
        phase += axes[i].phase(t) * phaseStep;
        phaseStep *= axes[i].stride;
        // A convolution's taps run forwards over x, offsets backwards.
        place += (axes[i].reach - axes[i].offset(t)) / axes[i].step * placeStep;
        placeStep *= axes[i].taps();
      }
      for (int64_t c = 0; c < attrs.group * inGroup; ++c)
        for (int64_t o = 0; o < outGroup; ++o) {
          int64_t channel = channelOf(c / inGroup * outGroup + o, phase);
          to[(channel * inGroup + c % inGroup) * newTaps + place] = from[(c * outGroup + o) * taps + tap];
        }
    }
    return to;
  }

  mlir::Value convolution() {
    ConvAttrs conv;
    conv.group = attrs.group;
    std::vector<int64_t> dims{outChannels * phases, weights.dim(0) / attrs.group};
    conv.pads.resize(2 * spatial);
    for (size_t i = 0; i < spatial; ++i) {
      dims.push_back(axes[i].taps());
      conv.strides.push_back(1);
      conv.dilations.push_back(axes[i].step);
      conv.pads[i] = axes[i].padBegin;
      conv.pads[spatial + i] = axes[i].padEnd;
    }
    mlir::Value w = makeConstant(b, loc, weights.type(), dims, rearranged(), constantName(op, ".weights"));
    mlir::Value bias = operandOf(op, 2);
    if (auto values = constantOf(bias))
      bias = makeConstant(b, loc, weights.type(), {outChannels * phases}, perPhase(toDoubles(*values)),
                          constantName(op, ".bias"));
    return nn::buildValue(b, loc, "conv", {op->getOperand(0), w, bias}, std::move(conv));
  }

  /// Element-wise operators behind, moved before the interleaving: into the convolution's epilogue.
  mlir::Value absorbChain(mlir::Value value) {
    while (last->getResult(0).hasOneUse()) {
      mlir::Value before = last->getResult(0);
      mlir::Operation *user = *before.getUsers().begin();
      if (loweringOf(user) != "elementwise" || user->getNumResults() != 1 ||
          user->getResult(0).getType() != before.getType())
        break;
      mlir::IRMapping map;
      map.map(before, value);
      bool possible = true;
      b.setInsertionPoint(user);
      for (mlir::Value operand : user->getOperands()) {
        if (operand == before)
          continue;
        if (auto equal =
                splatValue(operand)) { // one number a channel, or one of all elements: the channels are others now
          map.map(operand, makeConstant(b, user->getLoc(), nn::infoOf(operand).type, {}, {*equal},
                                        constantName(user, ".value")));
          continue;
        }
        auto values = perChannelConstant(operand, before);
        if (!values) {
          possible = false;
          break;
        }
        map.map(operand, makeConstant(b, user->getLoc(), nn::infoOf(operand).type, channelDims(value),
                                      perPhase(*values), constantName(user, ".phases")));
      }
      if (!possible)
        break;
      mlir::Operation *moved = b.clone(*user, map);
      moved->getResult(0).setType(value.getType());
      value = moved->getResult(0);
      last = user;
      replaced.push_back(user);
    }
    b.setInsertionPoint(last);
    return value;
  }

  mlir::Value interleave(mlir::Value value) {
    auto type = rankedType(value);
    if (bySpaceBlocks()) {
      DepthToSpaceAttrs blocks;
      blocks.block_size = attrs.strides[0];
      blocks.mode = phaseFirst ? "DCR" : "CRD";
      return nn::buildValue(b, loc, "depth_to_space", {value}, std::move(blocks));
    }
    // N x phases x O x in, or N x O x phases x in; every axis of phases moves behind its spatial axis.
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

void convTranspose(mlir::ModuleOp module, bool exactMath) {
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
    if (rewriter.canInterleave() && !(exactMath && rewriter.hasGaps()))
      rewriter.run();
  }
}

} // namespace lathe
