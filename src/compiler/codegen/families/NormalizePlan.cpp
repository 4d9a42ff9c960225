#include "codegen/families/NormalizePlan.h"

namespace lathe {
namespace {

constexpr std::pair<std::string_view, NormKind> kinds[] = {{"layer_norm", NormKind::layer},
                                                           {"rms_norm", NormKind::rms},
                                                           {"instance_norm", NormKind::instance},
                                                           {"group_norm", NormKind::group},
                                                           {"lp_normalize", NormKind::lp}};

} // namespace

NormalizePlan::NormalizePlan(const KernelProblem &problem) : tensors(problem), anchor(soleAnchor(problem.function)) {
  requirePointwise(problem.function, anchor);
  std::string_view name = nn::recordOf(anchor)->name;
  auto found = std::find_if(std::begin(kinds), std::end(kinds), [&](auto &entry) { return entry.first == name; });
  if (found == std::end(kinds))
    throw Declined{fmt::format("'{}' is not a normalisation", name)};
  kind = found->second;
  auto operands = nn::operandsByRecord(anchor);
  x = tensors.input(operands[0]);
  if (!x)
    throw Declined{"the input is not an argument of the kernel"};
  scale = operands.size() > 1 ? operands[1] : mlir::Value();
  bias = operands.size() > 2 ? operands[2] : mlir::Value();
  type = x->type;
  lanes = problem.target.lanes(std::max(32u, bitWidth(type)));
  int64_t block = blockOf(tensors);
  if (block != x->block)
    throw Declined{"a row-major input beside blocked tensors"};
  if (x->last)
    throw Declined{"no norm is computed with the channels last"};
  for (const KernelTensor &tensor : tensors.outputs)
    if (tensor.block != block || !(tensor.dims == x->dims))
      throw Declined{"a result has another shape or layout than the input"};
  space = Space(x->dims, block);
  axes.assign(space.extents.size(), outer);
  bool perChannel = kind == NormKind::instance || kind == NormKind::group;
  for (auto *list : {&tensors.inputs, &tensors.outputs})
    for (const KernelTensor &tensor : *list) {
      bool ofChannels = perChannel && (tensor.value == scale || tensor.value == bias);
      accesses.push_back(ofChannels ? space.access(tensor, {1}) : space.access(tensor));
    }
  if (perChannel)
    overPixels(block);
  else
    overAxes(block);
  collapse();
}

/// Space for instance_norm and group_norm, whose statistics cover whole channels.
void NormalizePlan::overPixels(int64_t block) {
  int64_t channelsOfGroup = 1;
  if (kind == NormKind::instance) {
    epsilon = nn::attrsAs<InstanceNormAttrs>(anchor).epsilon;
  } else {
    auto attrs = nn::attrsAs<GroupNormAttrs>(anchor);
    epsilon = attrs.epsilon;
    if (!x->dims[1].isConstant())
      throw Declined{"the number of channels is not known before the kernel runs"};
    channelsOfGroup = x->dims[1].constant() / attrs.num_groups;
  }
  for (size_t i = 2; i < x->rank(); ++i) {
    axes[i] = walked;
    length = length * x->dims[i];
  }
  count = length * channelsOfGroup;
  if (!block) {
    if (channelsOfGroup > 1)
      split(channelsOfGroup);
    length = count;
    return;
  }
  row = false;
  lanes = block;
  step = block;
  axes.back() = across;
  laneGroup = std::min(channelsOfGroup, block);
  if (channelsOfGroup % block == 0) {
    space.block = 0; // every lane is a channel, so the lanes are an ordinary axis
    length = length * (channelsOfGroup / block);
    split(channelsOfGroup / block);
  } else if (block % channelsOfGroup != 0) {
    throw Declined{fmt::format("groups of {} channels in blocks of {}", channelsOfGroup, block)};
  }
}

/// Splits axis 1 into two axes; the second one has extent `part` and is walked.
void NormalizePlan::split(int64_t part) {
  space.extents[1] = floorDiv(space.extents[1], part);
  space.extents.insert(space.extents.begin() + 2, part);
  axes.insert(axes.begin() + 2, walked);
  for (Access &access : accesses) {
    Dim stride = access.strides[1];
    access.strides[1] = stride * part;
    access.strides.insert(access.strides.begin() + 2, stride);
  }
}

void NormalizePlan::overAxes(int64_t block) {
  if (block)
    throw Declined{"normalises over blocked channels"};
  auto rank = static_cast<int64_t>(x->rank());
  int64_t first, last = rank;
  if (kind == NormKind::lp) {
    auto attrs = nn::attrsAs<LpNormalizeAttrs>(anchor);
    first = normalizeAxis(attrs.axis, rank, "axis");
    last = first + 1;
    epsilon = attrs.epsilon;
    p = attrs.p;
  } else if (kind == NormKind::layer) {
    auto attrs = nn::attrsAs<LayerNormAttrs>(anchor);
    first = normalizeAxis(attrs.axis, rank, "axis");
    epsilon = attrs.epsilon;
  } else {
    auto attrs = nn::attrsAs<RmsNormAttrs>(anchor);
    first = normalizeAxis(attrs.axis, rank, "axis");
    epsilon = attrs.epsilon;
  }
  for (int64_t i = 0; i < rank; ++i) {
    axes[i] = i < first ? outer : i < last ? walked : across;
    if (axes[i] == walked)
      length = length * x->dims[i];
    if (axes[i] == across)
      step = step * x->dims[i];
  }
  count = length;
  row = step == Dim(1);
  for (int &axis : axes)
    if (row && axis == across)
      axis = outer;
}

void NormalizePlan::collapse() {
  std::vector<Access *> all;
  for (Access &access : accesses)
    all.push_back(&access);
  space.collapse(all, &axes);
  auto insert = [&](size_t at, int axis) {
    space.extents.insert(space.extents.begin() + static_cast<ptrdiff_t>(at), 1);
    axes.insert(axes.begin() + static_cast<ptrdiff_t>(at), axis);
    for (Access &access : accesses)
      access.strides.insert(access.strides.begin() + static_cast<ptrdiff_t>(at), 0);
    space.blockAxis += at <= space.blockAxis;
  };
  if (row && axes.back() != walked)
    insert(axes.size(), walked);
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] == outer || (axes[i] == across && kind == NormKind::lp))
      kept.push_back(i);
    else if (axes[i] == walked)
      inner.push_back(i);
  if (kept.empty()) {
    insert(0, outer);
    for (size_t &axis : inner)
      ++axis;
    kept.push_back(0);
  }
  for (size_t axis : kept)
    keptSpace.extents.push_back(space.extents[axis]);
}

} // namespace lathe
