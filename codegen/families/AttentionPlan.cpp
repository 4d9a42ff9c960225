#include "codegen/families/AttentionPlan.h"

#include "codegen/contraction/Contraction.h"

namespace lathe {
namespace {

constexpr int64_t mostKeysAtOnce = 1024, keysOfABlock = 512;

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

int64_t fixed(const Dim &dim, const char *what) {
  if (!dim.isConstant() || dim.constant() < 1)
    throw Declined{fmt::format("{} {} is not a static positive extent", what, dim.str())};
  return dim.constant();
}

/// Axes of the batch extents `all` as an operand walks them: an extent that divides the other serves neighbours in
/// groups.
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

/// Axis `axis` of the scores as `view`, which broadcasts to them, walks it.
ViewAxis broadcastAxis(const TensorView &view, const Dims &scores, size_t axis) {
  size_t missing = scores.size() - view.dims.size();
  if (axis >= missing && view.dims[axis - missing] == scores[axis])
    return view.axes[axis - missing];
  if (axis >= missing && !(view.dims[axis - missing] == Dim(1)))
    throw Declined{fmt::format("an operand of {} broadcast to {}", str(view.dims), str(scores))};
  return scores[axis] == Dim(1) ? ViewAxis() : ViewAxis{{scores[axis], 0}};
}

} // namespace

AttentionPlan::AttentionPlan(const KernelProblem &problem, const Schedule &schedule) {
  mlir::func::FuncOp function = problem.function;
  nn::SymbolicShapes shapes(function);
  mlir::Operation *anchor = attentionOf(function);
  auto operands = nn::operandsByRecord(anchor);
  auto attrs = nn::attrsAs<AttentionAttrs>(anchor);

  std::vector<TensorView> views;
  for (size_t i = 0; i < 3; ++i)
    views.push_back(operandView(function, shapes, operands[i]));
  views.push_back(resultView(function, shapes, anchor->getResult(0)));
  size_t batch = views[0].dims.size() - 2;
  type = views[0].type;
  if (!isFloat(type) || bitWidth(type) < 16)
    throw Declined{fmt::format("attention on elements of type {}", name(type))};
  compute = type == ElementType::f64 ? type : ElementType::f32;
  lanes = problem.target.lanes(bitWidth(compute));
  bf16 = bf16::scheduled(schedule, problem.target, type);
  scale = attrs.scale;
  fill = attrs.fill;
  zeroMaskedRows = attrs.zero_masked_rows;
  queries = views[0].dims[batch];
  keys = views[1].dims[batch];
  causal = attrs.causal != "none";
  visible = attrs.causal == "lower_right" ? keys - queries : Dim(0);
  depth = fixed(views[0].dims[batch + 1], "the depth");
  width = fixed(views[2].dims[batch + 1], "the width");
  for (const Dim &dim : views[0].dims)
    if (dim == Dim(0))
      throw Declined{"attention without elements"};
  if (keys == Dim(0))
    throw Declined{"attention without keys"};

  Dims all(views[0].dims.begin(), views[0].dims.begin() + batch), scores = all;
  scores.insert(scores.end(), {queries, keys});
  std::vector<ViewAxis> walks;
  AttentionWalk *own[] = {&q, &k, &v, &y};
  for (size_t i = 0; i < 4; ++i) {
    const TensorView &view = views[i];
    *own[i] = {view.buffer,
               view.type,
               view.base,
               soleStride(view.axes[batch], "rows"),
               soleStride(view.axes[batch + 1], "lanes"),
               {}};
    walks.push_back(batchWalk(view, all));
  }
  for (size_t i : {3, 4}) {
    if (!operands[i])
      continue;
    TensorView view = operandView(function, shapes, operands[i]);
    AttentionWalk walk{view.buffer,
                       view.type,
                       view.base,
                       soleStride(broadcastAxis(view, scores, batch), "rows"),
                       soleStride(broadcastAxis(view, scores, batch + 1), "keys"),
                       {}};
    if (!(walk.laneStride == Dim(0)) && !(walk.laneStride == Dim(1)))
      throw Declined{"keys of a mask that are not neighbours"};
    (i == 3 ? bias : mask) = walk;
    ViewAxis outerWalk;
    for (size_t axis = 0; axis < batch; ++axis)
      outerWalk.append(broadcastAxis(view, scores, axis));
    walks.push_back(outerWalk);
  }
  CommonAxes common = commonAxes(walks);
  outer = common.extents;
  for (size_t i = 0; i < 4; ++i)
    own[i]->outer = common.strides[i];
  if (bias)
    bias->outer = common.strides[4];
  if (mask)
    mask->outer = common.strides.back();

  rows = schedule.number("rows");
  if (queries.isConstant())
    rows = std::min(rows, queries.constant());
  vectors = schedule.number("vectors");
  unroll = schedule.number("unroll");
  mc = schedule.number("mc");
  kc = schedule.number("kc");
  if (kc == 0 && !keys.isConstant())
    throw Declined{"kc=0 with a number of keys that is not static"};
  if (kc != 0 && keys.isConstant() && keys.constant() <= kc)
    kc = 0;
  if (!Microkernel::fits(problem.target, rows, vectors))
    throw Declined{
        fmt::format("rows={} vectors={} needs more than {} registers", rows, vectors, problem.target.vectorRegisters)};
}

int64_t AttentionPlan::keyCapacity() const {
  int64_t count = single() ? keys.constant() : kc;
  return (count + panel() - 1) / panel() * panel();
}

Schedule attentionPrior(const KernelProblem &problem) {
  bool wide = problem.target.vectorRegisters >= 32;
  Schedule schedule{
      "attention", 1, {{"rows", wide ? 14 : 6}, {"vectors", 2}, {"unroll", 4}, {"mc", 1}, {"kc", keysOfABlock}}, {}};
  AttentionPlan plan(problem, schedule);
  if (bf16::wanted(problem, plan.type) && !bf16::pairsAreSlow(problem.target))
    schedule.words["type"] = "bf16";
  if (plan.keys.isConstant() && plan.keys.constant() <= mostKeysAtOnce)
    schedule.numbers["kc"] = 0;
  schedule.numbers["rows"] = plan.rows;
  // Keys and values of a head are brought into order once a slot, or once a unit where they come in blocks: few large
  // units, but enough of them for every thread.
  int64_t heads = 1, threads = std::max(2, problem.threads);
  for (const Dim &extent : plan.outer)
    heads *= extent.constantOr(1);
  int64_t pieces = plan.queries.isConstant() ? plan.pieces().constant() : (256 + plan.rows - 1) / plan.rows;
  int64_t chunks = heads >= 4 * threads ? 1 : (4 * threads + heads - 1) / heads;
  int64_t most = schedule.numbers["kc"] == 0 ? pieces : (256 + plan.rows - 1) / plan.rows;
  schedule.numbers["mc"] = std::clamp<int64_t>((pieces + chunks - 1) / chunks, 1, most);
  return schedule;
}

} // namespace lathe
