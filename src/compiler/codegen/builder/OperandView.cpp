#include "codegen/builder/OperandView.h"

#include <numeric>

namespace lathe {
namespace {

/// Row-major axes of a buffer with the extents `stored` in memory.
std::vector<ViewAxis> rowMajorAxes(const Dims &dims, const Dims &stored) {
  std::vector<ViewAxis> axes(dims.size());
  Dim stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (!(dims[i] == Dim(1)))
      axes[i].push_back({dims[i], stride});
    stride = stride * stored[i];
  }
  return axes;
}

/// All factors in order; factors that one stride covers are joined.
ViewAxis flattened(const std::vector<ViewAxis> &axes) {
  ViewAxis all;
  for (const ViewAxis &axis : axes)
    for (const ViewFactor &factor : axis)
      if (!all.empty() && all.back().stride == factor.stride * factor.extent)
        all.back() = {all.back().extent * factor.extent, factor.stride};
      else
        all.push_back(factor);
  return all;
}

/// Moves the innermost `extent` positions of `factors` to `taken`; false if a factor would have to be divided.
bool takeInner(ViewAxis &factors, Dim extent, ViewAxis &taken) {
  while (!(extent == Dim(1))) {
    if (factors.empty())
      return false;
    ViewFactor &last = factors.back();
    if (auto rest = extent.dividedExactlyBy(last.extent)) {
      taken.insert(taken.begin(), last);
      extent = *rest;
      factors.pop_back();
    } else if (auto outer = last.extent.dividedExactlyBy(extent)) {
      taken.insert(taken.begin(), {extent, last.stride});
      last = {*outer, last.stride * extent};
      extent = 1;
    } else {
      return false;
    }
  }
  return true;
}

std::vector<ViewAxis> reshaped(const std::vector<ViewAxis> &axes, const Dims &dims) {
  ViewAxis factors = flattened(axes);
  std::vector<ViewAxis> result(dims.size());
  for (size_t i = dims.size(); i-- > 0;)
    if (dims[i] == Dim(0) || !takeInner(factors, dims[i], result[i]))
      throw Declined{fmt::format("a reshape to {} that strides do not describe", str(dims))};
  return result;
}

std::vector<int64_t> permutationOf(mlir::Operation *transpose, size_t rank) {
  std::vector<int64_t> perm = nn::attrsAs<TransposeAttrs>(transpose).perm;
  if (perm.empty()) {
    perm.resize(rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  return perm;
}

std::string_view mnemonic(mlir::Operation *op) {
  const OpRecord *record = op ? nn::recordOf(op) : nullptr;
  return record ? record->name : "";
}

/// Restricts one axis to the positions start, start + step, ... (`extent` of them).
void cut(TensorView &view, size_t axis, const Dim &start, const Dim &extent, int64_t step) {
  ViewAxis &factors = view.axes[axis];
  if (view.dims[axis] == extent && step == 1)
    return;
  if (factors.size() > 1)
    throw Declined{"part of an axis that a reshape merged"};
  Dim stride = factors.empty() ? Dim(0) : factors.front().stride;
  view.base = view.base + start * stride;
  view.dims[axis] = extent;
  factors.clear();
  if (!(extent == Dim(1)))
    factors.push_back({extent, stride * Dim(step)});
}

void slice(TensorView &view, mlir::Operation *op, const Dims &result) {
  auto attrs = nn::attrsAs<SliceAttrs>(op);
  for (size_t i = 1; i < 5; ++i)
    if (nn::operandsByRecord(op)[i])
      throw Declined{"a slice whose bounds are computed at run time"};
  for (size_t i = 0; i < attrs.starts.size(); ++i) {
    int64_t axis = attrs.axes.empty() ? static_cast<int64_t>(i) : attrs.axes[i],
            step = attrs.steps.empty() ? 1 : attrs.steps[i];
    axis += axis < 0 ? static_cast<int64_t>(view.axes.size()) : 0;
    const Dim &extent = view.dims[axis];
    if (step < 1)
      throw Declined{"a slice that runs backwards"};
    int64_t start = attrs.starts[i];
    if (extent.isConstant())
      start = std::clamp<int64_t>(start < 0 ? start + extent.constant() : start, 0, extent.constant());
    else if (start != 0)
      throw Declined{"a slice of an axis whose extent is not static"};
    cut(view, axis, start, result[axis], step);
  }
}

} // namespace

bool isViewOperator(mlir::Operation *op) {
  std::string_view name = mnemonic(op);
  return name == "reshape" || name == "transpose" || name == "slice" || name == "split" || name == "expand";
}

TensorView operandView(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes, mlir::Value value) {
  if (nn::layoutOf(value))
    throw Declined{"an operand in a blocked layout"};
  TensorInfo info = shapes.of(value);
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value))
    return {argument.getArgNumber(), info.type, info.dims, 0,
            rowMajorAxes(info.dims, nn::storedDims(function, argument.getArgNumber(), info.dims))};
  mlir::Operation *op = value.getDefiningOp();
  std::string_view name = mnemonic(op);
  if (!isViewOperator(op))
    throw Declined{fmt::format("an operand is made by '{}' inside the kernel", op->getName().getStringRef().str())};
  TensorView view = operandView(function, shapes, op->getOperand(0));
  if (name == "reshape") {
    view.axes = reshaped(view.axes, info.dims);
  } else if (name == "transpose") {
    std::vector<ViewAxis> axes;
    for (int64_t axis : permutationOf(op, view.axes.size()))
      axes.push_back(view.axes[axis]);
    view.axes = std::move(axes);
  } else if (name == "slice") {
    slice(view, op, info.dims);
  } else if (name == "split") {
    int64_t axis = nn::attrsAs<SplitAttrs>(op).axis;
    axis += axis < 0 ? static_cast<int64_t>(view.axes.size()) : 0;
    Dim start = 0;
    for (mlir::Value piece : op->getResults()) {
      if (piece == value)
        break;
      start = start + shapes.of(piece).dims[axis];
    }
    cut(view, axis, start, info.dims[axis], 1);
  } else { // expand
    std::vector<ViewAxis> axes(info.dims.size());
    size_t missing = info.dims.size() - view.axes.size();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (i >= missing && view.dims[i - missing] == info.dims[i])
        axes[i] = view.axes[i - missing];
      else if (!(i < missing || view.dims[i - missing] == Dim(1)))
        throw Declined{"an expand whose extents are not known to be 1"};
      else if (!(info.dims[i] == Dim(1)))
        axes[i] = {{info.dims[i], 0}};
    }
    view.axes = std::move(axes);
  }
  view.dims = info.dims;
  return view;
}

TensorView resultView(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes, mlir::Value value) {
  mlir::Operation *terminator = function.getBody().front().getTerminator();
  if (terminator->getNumOperands() != 1)
    throw Declined{"a kernel with several results"};
  mlir::Value at = terminator->getOperand(0);
  TensorInfo info = shapes.of(at);
  Dims stored = nn::storedDims(function, function.getNumArguments(), info.dims);
  TensorView view{function.getNumArguments(), info.type, info.dims, 0, rowMajorAxes(info.dims, stored)};
  while (true) {
    if (nn::layoutOf(at))
      throw Declined{"a result in a blocked layout"};
    if (at == value)
      return view;
    mlir::Operation *op = at.getDefiningOp();
    std::string_view name = mnemonic(op);
    if (name != "reshape" && name != "transpose")
      throw Declined{"the result is changed inside the kernel"};
    at = op->getOperand(0);
    view.dims = shapes.of(at).dims;
    if (name == "reshape") {
      view.axes = reshaped(view.axes, view.dims);
    } else {
      std::vector<ViewAxis> axes(view.axes.size());
      for (auto [i, axis] : llvm::enumerate(permutationOf(op, view.axes.size())))
        axes[axis] = view.axes[i];
      view.axes = std::move(axes);
    }
  }
}

CommonAxes commonAxes(std::vector<ViewAxis> walks) {
  CommonAxes result;
  result.strides.resize(walks.size());
  auto left = [&] { return llvm::any_of(walks, [](const ViewAxis &walk) { return !walk.empty(); }); };
  while (left()) {
    // The longest run that divides all innermost factors.
    Dim extent;
    for (size_t i = 0; i < walks.size(); ++i) {
      if (walks[i].empty())
        throw Declined{"operands that cut their axes in different places"};
      const Dim &own = walks[i].back().extent;
      if (i == 0 || extent.dividedExactlyBy(own))
        extent = own;
    }
    for (size_t i = 0; i < walks.size(); ++i) {
      ViewFactor &last = walks[i].back();
      auto outer = last.extent.dividedExactlyBy(extent);
      if (!outer)
        throw Declined{"operands that cut their axes in different places"};
      result.strides[i].insert(result.strides[i].begin(), last.stride);
      if (*outer == Dim(1))
        walks[i].pop_back();
      else
        last = {*outer, last.stride * extent};
    }
    result.extents.insert(result.extents.begin(), extent);
  }
  for (size_t axis = result.extents.size(); axis-- > 1;) {
    bool joins = llvm::all_of(
        result.strides, [&](const Dims &strides) { return strides[axis - 1] == strides[axis] * result.extents[axis]; });
    if (!joins)
      continue;
    result.extents[axis] = result.extents[axis - 1] * result.extents[axis];
    result.extents.erase(result.extents.begin() + axis - 1);
    for (Dims &strides : result.strides)
      strides.erase(strides.begin() + axis - 1);
  }
  return result;
}

Dim soleStride(const ViewAxis &axis, const char *what) {
  CommonAxes common = commonAxes({axis});
  if (common.extents.size() > 1)
    throw Declined{fmt::format("{} are not evenly spaced", what)};
  return common.extents.empty() ? Dim(0) : common.strides[0][0];
}

} // namespace lathe
