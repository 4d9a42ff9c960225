// Reads the facts of an attention kernel from its function.
#include "codegen/builder/OperandView.h"
#include "codegen/families/Attention.h"

#include <array>

namespace lathe {
namespace {

mlir::Operation *attentionOf(mlir::func::FuncOp function) {
  mlir::Operation *anchor = nullptr;
  for (mlir::Operation &op : function.getBody().front().without_terminator()) {
    const OpRecord *record = nn::recordOf(&op);
    if (record && record->lowering == std::string_view("attention")) {
      if (anchor)
        throw Declined{"two attentions in one kernel"};
      anchor = &op;
    } else if (!isViewOperator(&op)) {
      throw Declined{fmt::format("'{}' in an attention kernel", op.getName().getStringRef().str())};
    }
  }
  if (!anchor)
    throw Declined{"a kernel without attention"};
  return anchor;
}

int64_t positive(const Dim &dim, const char *what) {
  if (!dim.isConstant() || dim.constant() < 1)
    throw Declined{fmt::format("{} {} is not a static positive extent", what, dim.str())};
  return dim.constant();
}

/// Strides of an operand along the batch extents `all`. An operand with a smaller extent, which must divide the extent
/// in `all`, serves groups of neighbours.
ViewAxis batchWalk(const TensorView &view, const Dims &all) {
  ViewAxis walk;
  for (size_t i = 0; i < all.size(); ++i) {
    walk.append(view.axes[i].begin(), view.axes[i].end());
    auto group = all[i].dividedExactlyBy(view.dims[i]);
    if (!group)
      throw Declined{fmt::format("batch extents {} and {}", view.dims[i].str(), all[i].str())};
    if (!(*group == Dim(1)))
      walk.push_back({*group, 0});
  }
  return walk;
}

/// Strides of `view`, which broadcasts to the scores, along axis `axis` of the scores.
ViewAxis broadcastAxis(const TensorView &view, const Dims &scores, size_t axis) {
  size_t missing = scores.size() - view.dims.size();
  Dim own = axis >= missing ? view.dims[axis - missing] : Dim(1), stride = 0;
  if (axis >= missing && own == scores[axis])
    return view.axes[axis - missing];
  if (own.isConstant() && own != Dim(1))
    throw Declined{fmt::format("an operand of {} broadcast to {}", str(view.dims), str(scores))};
  if (!own.isConstant()) // the extent is 1 or equal to the scores', which is known at run time
    stride = soleStride(view.axes[axis - missing], "a mask") * minimum(own - 1, 1);
  return scores[axis] == Dim(1) ? ViewAxis() : ViewAxis{{scores[axis], stride}};
}

class AttentionReader {
public:
  AttentionReader(const KernelProblem &problem, AttentionGeometry &geometry)
      : problem(problem), function(problem.function), anchor(attentionOf(problem.function)), shapes(problem.function),
        operands(nn::operandsByRecord(anchor)), geometry(geometry) {}

  void read() {
    for (size_t i = 0; i < 3; ++i)
      views.push_back(operandView(function, shapes, operands[i]));
    views.push_back(resultView(function, shapes, anchor->getResult(0)));
    batch = views[0].dims.size() - 2;
    readExtents();
    readWalks();
    readScoreOperand(operands[3], geometry.bias);
    readScoreOperand(operands[4], geometry.mask);
    setOuterAxes();
  }

private:
  const KernelProblem &problem;
  mlir::func::FuncOp function;
  mlir::Operation *anchor;
  nn::SymbolicShapes shapes;
  llvm::SmallVector<mlir::Value> operands;
  AttentionGeometry &geometry;
  std::vector<TensorView> views; // queries, keys, values, results
  size_t batch = 0;              // number of axes before queries and keys
  std::vector<ViewAxis> walks;   // strides along the batch axes: of the views, then of bias and mask

  void readExtents() {
    auto attrs = nn::attrsAs<AttentionAttrs>(anchor);
    ElementType type = geometry.type = views[0].type;
    if (!isFloat(type) || !KernelBuilder::computes(type))
      throw Declined{fmt::format("attention on elements of type {}", name(type))};
    geometry.compute = type == ElementType::f64 ? type : ElementType::f32;
    geometry.lanes = problem.target.lanes(bitWidth(geometry.compute));
    geometry.scale = attrs.scale;
    geometry.fill = attrs.fill;
    geometry.softcap = attrs.softcap;
    geometry.zeroMaskedRows = attrs.zero_masked_rows;
    geometry.queries = views[0].dims[batch];
    geometry.keys = views[1].dims[batch];
    geometry.causal = attrs.causal != "none";
    geometry.visible = attrs.causal == "lower_right" ? geometry.keys - geometry.queries : Dim(0);
    geometry.depth = positive(views[0].dims[batch + 1], "the depth");
    geometry.width = positive(views[2].dims[batch + 1], "the width");
    for (const Dim &dim : views[0].dims)
      if (dim == Dim(0))
        throw Declined{"attention without elements"};
    if (geometry.keys == Dim(0))
      throw Declined{"attention without keys"};
  }

  std::array<AttentionWalk *, 4> ownWalks() { return {&geometry.q, &geometry.k, &geometry.v, &geometry.y}; }

  void readWalks() {
    Dims all(views[0].dims.begin(), views[0].dims.begin() + batch);
    for (size_t i = 0; i < views.size(); ++i) {
      const TensorView &view = views[i];
      *ownWalks()[i] = {view.buffer,
                        view.type,
                        view.base,
                        soleStride(view.axes[batch], "rows"),
                        soleStride(view.axes[batch + 1], "lanes"),
                        {}};
      walks.push_back(batchWalk(view, all));
    }
  }

  /// Reads a bias or mask, which broadcasts to the scores.
  void readScoreOperand(mlir::Value operand, std::optional<AttentionWalk> &place) {
    if (!operand)
      return;
    Dims scores(views[0].dims.begin(), views[0].dims.begin() + batch);
    scores.insert(scores.end(), {geometry.queries, geometry.keys});
    TensorView view = operandView(function, shapes, operand);
    place = {view.buffer,
             view.type,
             view.base,
             soleStride(broadcastAxis(view, scores, batch), "rows"),
             soleStride(broadcastAxis(view, scores, batch + 1), "keys"),
             {}};
    if (!KernelBuilder::computes(place->type))
      throw Declined{fmt::format("attention with a mask or bias of type {}", name(place->type))};
    if (!(place->laneStride == Dim(0)) && !(place->laneStride == Dim(1)))
      throw Declined{"keys of a mask that are not neighbours"};
    ViewAxis outerWalk;
    for (size_t axis = 0; axis < batch; ++axis)
      outerWalk.append(broadcastAxis(view, scores, axis));
    walks.push_back(outerWalk);
  }

  /// Merges the batch axes as far as all operands allow.
  void setOuterAxes() {
    CommonAxes common = commonAxes(walks);
    geometry.outer = common.extents;
    for (size_t i = 0; i < views.size(); ++i)
      ownWalks()[i]->outer = common.strides[i];
    if (geometry.bias)
      geometry.bias->outer = common.strides[4];
    if (geometry.mask)
      geometry.mask->outer = common.strides.back();
  }
};

} // namespace

std::unique_ptr<KernelFacts> readAttention(const KernelProblem &problem) {
  auto facts = std::make_unique<AttentionFacts>();
  AttentionReader(problem, facts->geometry).read();
  return facts;
}

} // namespace lathe
