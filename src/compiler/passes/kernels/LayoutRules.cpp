#include "passes/kernels/LayoutRules.h"

#include "passes/Rewrite.h"
#include "passes/kernels/Layout.h"

#include <algorithm>

namespace lathe {
namespace {

/// Elements with symbols at 1.
double elements(mlir::Value value) {
  double count = 1;
  for (int64_t extent : rankedType(value).getShape())
    count *= mlir::ShapedType::isDynamic(extent) ? 1 : extent;
  return count;
}

int64_t channelsOf(mlir::Value value) { return rankedType(value).getDimSize(1); }

LayoutRule rowMajor(std::string reason, bool profits = false) {
  LayoutRule rule;
  rule.rowOnly = std::move(reason);
  rule.profits = profits;
  return rule;
}

/// The rule of operators whose operands and results all have the same layout, if they can be blocked.
LayoutRule together(mlir::Operation *op, const ChannelBlocks &blocks) {
  LayoutRule rule;
  for (mlir::Value operand : op->getOperands())
    rule.operands.push_back(blocks.of(operand) ? Port::input : Port::row);
  for (mlir::Value result : op->getResults()) {
    if (!blocks.of(result))
      return rowMajor("a result has no blocks: its type, or a rank other than 3 to 5");
    rule.results.push_back(Port::output);
  }
  return rule;
}

LayoutRule convRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  if (!blocks.of(op->getOperand(0)) || !blocks.of(op->getResult(0)))
    return rowMajor("its type has no blocks, or its channels are not known", true);
  LayoutRule rule;
  rule.profits = true;
  rule.uniform = false;
  rule.operands.assign(op->getNumOperands(), Port::row);
  rule.operands[0] = Port::input;
  rule.results = {Port::output};
  return rule;
}

LayoutRule elementwiseRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  mlir::Value result = op->getResult(0);
  if (!blocks.of(result))
    return rowMajor("its type has no blocks, or its rank is not 3 to 5");
  auto whole = rankedType(result);
  LayoutRule rule;
  rule.results = {Port::output};
  for (mlir::Value operand : op->getOperands()) {
    auto type = rankedType(operand);
    if (!type)
      return rowMajor("an operand's rank is not known");
    bool constant = operand.getDefiningOp<nn::ConstantOp>() != nullptr;
    if (constant && (type.getNumElements() == 1 || isPerChannelConstant(operand, result))) {
      rule.operands.push_back(Port::row);
      continue;
    }
    if (constant)
      return rowMajor("a constant varies along the spatial axes");
    // Broadcast over the channels: row-major, one value for all lanes.
    int64_t channelAxis = type.getRank() - whole.getRank() + 1;
    if (channelAxis < 0 || type.getDimSize(channelAxis) == 1) {
      if (channelsOf(result) == 1 && type == whole)
        rule.operands.push_back(Port::input);
      else
        rule.operands.push_back(Port::row);
      continue;
    }
    if (!blocks.of(operand) || type.getRank() != whole.getRank())
      return rowMajor("an operand has no blocks, or another rank than the result");
    rule.operands.push_back(Port::input);
  }
  return rule;
}

/// Axes of a reduction, none negative; nothing when they are operands.
std::optional<std::vector<int64_t>> reducedAxes(mlir::Operation *op) {
  auto type = rankedType(op->getOperand(0));
  auto axes = op->getAttrOfType<mlir::DenseI64ArrayAttr>("axes");
  if (!type || operandOf(op, 1) || !axes || axes.empty())
    return std::nullopt;
  std::vector<int64_t> result;
  for (int64_t axis : axes.asArrayRef())
    result.push_back(axis < 0 ? axis + type.getRank() : axis);
  return result;
}

LayoutRule reductionRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  auto axes = reducedAxes(op);
  auto keepdims = op->getAttrOfType<mlir::BoolAttr>("keepdims");
  if (!axes || (keepdims && !keepdims.getValue()) || *std::min_element(axes->begin(), axes->end()) < 2)
    return rowMajor("it reduces other axes than the spatial ones");
  LayoutRule rule = together(op, blocks);
  // A mean over the whole image has few elements: if it is written row-major, no conversion follows.
  rule.uniform = elements(op->getResult(0)) != channelsOf(op->getResult(0));
  return rule;
}

LayoutRule concatOrSplitRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  auto plain = [&](mlir::Value value) { return !blocks.of(value); };
  if (llvm::any_of(op->getOperands(), plain) || llvm::any_of(op->getResults(), plain))
    return rowMajor("its type has no blocks, or its rank is not 3 to 5");
  return together(op, blocks);
}

LayoutRule padRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  int64_t rank = rankedType(op->getOperand(0)).getRank();
  auto pads = nn::attrsAs<PadAttrs>(op).pads;
  bool spatial = pads.size() == 2 * static_cast<size_t>(rank) && pads[1] == 0 && pads[rank + 1] == 0;
  return spatial && !operandOf(op, 1) ? together(op, blocks) : rowMajor("it pads channels");
}

LayoutRule sliceRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  auto type = rankedType(op->getOperand(0)), result = rankedType(op->getResult(0));
  if (!blocks.of(op->getResult(0)))
    return rowMajor("its type has no blocks, or its rank is not 3 to 5");
  if (result.getDimSize(1) == type.getDimSize(1))
    return together(op, blocks);
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (axis != 1 && type.getDimSize(axis) != result.getDimSize(axis))
      return rowMajor("it cuts channels and other axes");
  for (int64_t step : nn::attrsAs<SliceAttrs>(op).steps)
    if (step != 1)
      return rowMajor("it takes channels in steps");
  return together(op, blocks);
}

/// The rule of transposes that move channels to or from the last axis, where they are contiguous: whole vectors of a
/// block move. In row-major layout this is a transposition through registers.
std::optional<LayoutRule> channelTransposeRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  auto perm = nn::attrsAs<TransposeAttrs>(op).perm;
  int64_t last = rankedType(op->getOperand(0)).getRank() - 1;
  bool toLast = !perm.empty() && perm.back() == 1, fromLast = !perm.empty() && perm[1] == last;
  if (!blocks.of(op->getResult(0)) || (!toLast && !fromLast))
    return std::nullopt;
  LayoutRule rule;
  rule.operands = {toLast ? Port::input : Port::row};
  rule.results = {toLast ? Port::row : Port::output};
  return rule;
}

/// depth_to_space and space_to_depth.
LayoutRule depthRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  bool spread = isOp(op, "depth_to_space");
  mlir::Value few = spread ? op->getResult(0) : op->getOperand(0);
  bool whole = blocks.of(few) && channelsOf(few) % blocks.of(few) == 0 && blocks.of(op->getResult(0)) &&
               (!spread || nn::attrsAs<DepthToSpaceAttrs>(op).mode == "DCR");
  return whole ? together(op, blocks) : rowMajor("it splits blocks of channels");
}

LayoutRule movementRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  if (isOp(op, "concat") || isOp(op, "split"))
    return concatOrSplitRule(op, blocks);
  if (!op->getNumOperands() || !blocks.of(op->getOperand(0)))
    return rowMajor("its type has no blocks, or its rank is not 3 to 5");
  if (isOp(op, "shape")) { // reads no element
    LayoutRule rule;
    rule.operands = {Port::input};
    rule.results = {Port::row};
    return rule;
  }
  if (isOp(op, "pad"))
    return padRule(op, blocks);
  if (isOp(op, "slice"))
    return sliceRule(op, blocks);
  if (isOp(op, "depth_to_space") || isOp(op, "space_to_depth"))
    return depthRule(op, blocks);
  if (isOp(op, "transpose"))
    if (auto rule = channelTransposeRule(op, blocks))
      return *rule;
  return rowMajor("the operator moves channels");
}

/// The rule of norms with statistics over whole channels: of one lane, or of neighbouring lanes whose number divides
/// the block or is a multiple of it.
LayoutRule channelNormRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  if (!blocks.of(op->getOperand(0)))
    return rowMajor("its type has no blocks, its rank is not 3 to 5, or its channels are not known");
  if (isOp(op, "group_norm")) {
    int64_t block = blocks.of(nn::toElementType(rankedType(op->getOperand(0)).getElementType())),
            channels = channelsOf(op->getOperand(0)) / nn::attrsAs<GroupNormAttrs>(op).num_groups;
    if (channels == 0 || (channels % block != 0 && block % channels != 0))
      return rowMajor("its groups end inside blocks");
  }
  return together(op, blocks);
}

/// Channels of a vector of `value`, whose blocks may have all channels.
int64_t vectorOf(mlir::Value value, const ChannelBlocks &blocks) {
  return blocks.of(nn::toElementType(rankedType(value).getElementType()));
}

/// True if all values that follow one choice have vectors of one size.
bool sameBlocks(mlir::Operation *op, const LayoutRule &rule, const ChannelBlocks &blocks) {
  int64_t size = 0;
  auto agrees = [&](mlir::Value value, Port port) {
    if (port == Port::row)
      return true;
    bool same = size == 0 || vectorOf(value, blocks) == size;
    size = vectorOf(value, blocks);
    return same;
  };
  bool same = true;
  for (auto [value, port] : llvm::zip(op->getOperands(), rule.operands))
    same &= agrees(value, port);
  for (auto [value, port] : llvm::zip(op->getResults(), rule.results))
    same &= agrees(value, port);
  return same;
}

/// Operators that sample x at positions in row-major operands. Later operators flatten regions: these are row-major.
LayoutRule samplingRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  if (!blocks.of(op->getOperand(0)) || !blocks.of(op->getResult(0)))
    return rowMajor("its type has no blocks, its rank is not 3 to 5, or its channels are not known", true);
  LayoutRule rule;
  rule.profits = true;
  rule.operands.assign(op->getNumOperands(), Port::row);
  rule.operands[0] = Port::input;
  rule.results = {isOp(op, "roi_align") ? Port::row : Port::output};
  return rule;
}

LayoutRule ruleOf(mlir::Operation *op, const ChannelBlocks &blocks) {
  std::string_view family = loweringOf(op);
  if (isOp(op, "conv") || isOp(op, "conv_integer"))
    return convRule(op, blocks);
  if (family == "elementwise")
    return elementwiseRule(op, blocks);
  if (family == "pool" || family == "lrn") {
    if (!blocks.of(op->getOperand(0)))
      return rowMajor("its type has no blocks, its rank is not 3 to 5, or its channels are not known", true);
    LayoutRule rule = together(op, blocks);
    rule.profits = true;
    return rule;
  }
  if (family == "reduction")
    return reductionRule(op, blocks);
  if (isOp(op, "instance_norm") || isOp(op, "group_norm"))
    return channelNormRule(op, blocks);
  if (family == "movement")
    return movementRule(op, blocks);
  if (family == "resize") {
    auto in = rankedType(op->getOperand(0)), out = rankedType(op->getResult(0));
    if (!in || !out || in.getRank() < 3 || in.getDimSize(1) != out.getDimSize(1))
      return rowMajor("it resamples channels");
    return together(op, blocks);
  }
  if (isOp(op, "grid_sample") || isOp(op, "roi_align"))
    return samplingRule(op, blocks);
  return rowMajor("the operator works on row-major values");
}

} // namespace

int64_t ChannelBlocks::of(ElementType type) const {
  auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

int64_t ChannelBlocks::of(mlir::Value value) const {
  auto type = rankedType(value);
  bool fits = type && type.getRank() >= 3 && type.getRank() <= 5 && !type.isDynamicDim(1);
  int64_t size = fits ? of(nn::toElementType(type.getElementType())) : 0;
  return last && size ? (type.getDimSize(1) + size - 1) / size * size : size;
}

LayoutRule layoutRule(mlir::Operation *op, const ChannelBlocks &blocks) {
  LayoutRule rule = ruleOf(op, blocks);
  if (rule.rowOnly.empty() && rule.uniform && !sameBlocks(op, rule, blocks))
    return rowMajor("its values have blocks of different sizes");
  return rule;
}

} // namespace lathe
