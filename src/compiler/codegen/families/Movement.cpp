// Family "movement", algorithm move/1: one operator that moves elements, or one change of layout.
//
// Every operator becomes a few pieces (Copy.h, MovementPieces.h), mostly copies between two sets of strides. Blocked
// tensors move block by block; where channels shift by less than a block, vectors are combined from two neighbours.
#include "codegen/Families.h"
#include "codegen/families/MovementPieces.h"
#include "codegen/space/LoopFacts.h"
#include "ir/SymbolicShapes.h"

namespace lathe {
namespace {

using mlir::Value;

class MovementPlan {
public:
  KernelTensors tensors;
  mlir::Operation *op;
  std::vector<std::unique_ptr<Piece>> pieces;
  bool copiesOperands = false; // a concatenation: one piece for each operand, in order

  MovementPlan(const KernelProblem &problem, int64_t grain)
      : tensors(problem), op(movementOf(problem.function)), target(problem.target), grain(grain), block(0) {
    // No other operators: a movement kernel has no epilogue.
    for (mlir::Operation &other : mlir::func::FuncOp(problem.function).getBody().front().without_terminator())
      if (&other != op && !llvm::isa<nn::ConstantOp>(other) && !saysExtents(&other) && !isJoined(&other))
        throw Declined{fmt::format("'{}' beside a movement", other.getName().getStringRef().str())};
    indexTypes();
    if (llvm::isa<nn::ConcatOp, nn::SplitOp, nn::SliceOp, nn::PadOp, nn::TransposeOp, nn::DepthToSpaceOp,
                  nn::SpaceToDepthOp>(op))
      tensors.makeChannelsAnAxis(); // strided copies only: part of a vector may move
    block = blockOf(tensors);
    for (auto *list : {&tensors.inputs, &tensors.outputs})
      for (KernelTensor &tensor : *list)
        tensor.type = rawType(tensor.type);
    for (auto [result, output] : llvm::zip_equal(op->getResults(), tensors.outputs))
      if (output.value != result)
        throw Declined{"the results are not those of the operator, in order"};
    build();
  }

  Dim units() const {
    Dim result = 0;
    for (const auto &piece : pieces)
      result = result + piece->units();
    return result;
  }

private:
  const Target &target;
  int64_t grain, block;
  ElementType firstType = ElementType::invalid, secondType = ElementType::invalid; // types before elements became raw

  /// The movement operator of a kernel. Arithmetic before an expansion only computes its extents, which are known
  /// without it; the same holds for the contents of a shape. Slices may precede a concatenation.
  static mlir::Operation *movementOf(mlir::func::FuncOp function) {
    mlir::Operation *last = function.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
    return llvm::isa_and_nonnull<nn::ExpandOp, nn::ShapeOp, nn::ConcatOp>(last) ? last : soleAnchor(function);
  }
  bool saysExtents(mlir::Operation *other) const {
    return llvm::isa<nn::ExpandOp>(op) && llvm::isa<nn::ShapeOp, nn::ConcatOp>(other);
  }
  bool isJoined(mlir::Operation *other) const {
    return llvm::isa<nn::ConcatOp>(op) && llvm::isa<nn::SliceOp>(other) && tensors.input(other->getOperand(0));
  }

  void indexTypes() {
    if (!tensors.inputs.empty())
      firstType = tensors.inputs[0].type;
    if (tensors.inputs.size() > 1)
      secondType = tensors.inputs[1].type;
  }

  const KernelTensor &argument(Value value) const {
    const KernelTensor *tensor = tensors.input(value);
    if (!tensor)
      throw Declined{"an operand is not an argument of the kernel"};
    return *tensor;
  }
  const KernelTensor &x() const { return argument(op->getOperand(0)); }
  const KernelTensor &y() const { return tensors.outputs[0]; }

  void requireRowMajor() const {
    if (block)
      throw Declined{fmt::format("'{}' of blocked channels", op->getName().getStringRef().str())};
  }
  void requireOneLayout() const {
    for (auto *list : {&tensors.inputs, &tensors.outputs})
      for (const KernelTensor &tensor : *list)
        if (tensor.block != block && tensor.rank() > 1)
          throw Declined{"row-major and blocked tensors in one movement"};
  }
  /// Elements of a static operand, which the plan may bind as extents.
  static Dims numbersOf(mlir::Operation *owner, size_t index, const std::vector<int64_t> &attribute) {
    auto operands = nn::operandsByRecord(owner);
    if (index >= operands.size() || !operands[index])
      return toDims(attribute);
    auto numbers = nn::SymbolicShapes(owner->getParentOfType<mlir::func::FuncOp>()).of(operands[index]).contents;
    if (!numbers || llvm::any_of(*numbers, isUnknown))
      throw Declined{"parameters that are not constant"};
    return *numbers;
  }
  static int64_t requireConstant(const Dim &dim) {
    if (!dim.isConstant())
      throw Declined{"a slice of blocked channels from a place that is computed"};
    return dim.constant();
  }

  /// The access of a tensor through its own strides, with the lanes of a block last.
  static Access physical(const KernelTensor &tensor) {
    Access access{&tensor, memoryStrides(tensor), 0, false};
    if (tensor.block)
      access.strides.push_back(1);
    return access;
  }

  void copy(Space space, Access from, Access to) {
    pieces.push_back(makeCopy({std::move(space), std::move(from), std::move(to)}, target, grain));
  }

  void build() {
    if (llvm::isa<nn::ConvertLayoutOp>(op)) {
      Space space(y().dims, block);
      return copy(space, space.access(x()), space.access(y()));
    }
    std::string_view name = nn::recordOf(op)->name;
    if (name == "transpose")
      transpose();
    else if (name == "concat")
      concat();
    else if (name == "split")
      split();
    else if (name == "slice")
      slice();
    else if (name == "gather")
      gather();
    else if (name == "pad")
      pad();
    else if (name == "expand")
      expand();
    else if (name == "shape")
      shape();
    else if (name == "tile")
      tile();
    else if (name == "depth_to_space")
      depthToSpace();
    else if (name == "space_to_depth")
      spaceToDepth();
    else
      throw Declined{fmt::format("'{}' is not a movement that is compiled", name)};
  }

  void transpose() {
    auto attrs = nn::attrsAs<TransposeAttrs>(op);
    size_t rank = x().rank();
    if (block && attrs.perm.size() == rank) { // one side is blocked: in its space, the other side's axes are permuted
      if (x().block && y().block)
        throw Declined{"a transpose between blocked tensors"};
      std::vector<size_t> axes(attrs.perm.begin(), attrs.perm.end()), inverse(rank);
      for (size_t i = 0; i < rank; ++i)
        inverse[axes[i]] = i;
      Space space(x().block ? x().dims : y().dims, block);
      return copy(space, x().block ? space.access(x()) : space.access(x(), inverse),
                  x().block ? space.access(y(), axes) : space.access(y()));
    }
    requireRowMajor();
    Access from = physical(x());
    for (size_t i = 0; i < rank; ++i)
      from.strides[i] = memoryStrides(x())[attrs.perm.empty() ? rank - 1 - i : attrs.perm[i]];
    if (rank == 0)
      from.strides.push_back(0);
    Access to = physical(y());
    Dims dims = y().dims;
    if (rank == 0) {
      to.strides.push_back(0);
      dims.push_back(1);
    }
    copy(Space(dims, 0), from, to);
  }

  /// A part of a concatenation: an argument, or a slice of one.
  struct Joined {
    const KernelTensor *tensor;
    Dims dims, starts;
    std::vector<int64_t> steps;

    bool isCut(size_t axis) const {
      return !(starts[axis] == Dim(0) && steps[axis] == 1 && dims[axis] == tensor->dims[axis]);
    }
  };

  Joined joined(Value value, const nn::SymbolicShapes &shapes) const {
    auto slice = value.getDefiningOp<nn::SliceOp>();
    Joined part{&argument(slice ? slice->getOperand(0) : value), {}, {}, {}};
    size_t rank = part.tensor->rank();
    part.starts.assign(rank, Dim(0));
    part.steps.assign(rank, 1);
    part.dims = part.tensor->dims;
    if (slice) {
      part.dims = shapes.of(value).dims;
      for (const Dim &extent : part.dims)
        if (isUnknown(extent))
          throw Declined{"extents that are not known before it runs"};
      startsAndSteps(slice, *part.tensor, part.starts, part.steps);
    }
    return part;
  }

  void concat() {
    requireOneLayout();
    auto axis =
        static_cast<size_t>(normalizeAxis(nn::attrsAs<ConcatAttrs>(op).axis, static_cast<int64_t>(y().rank()), "axis"));
    nn::SymbolicShapes shapes(op->getParentOfType<mlir::func::FuncOp>());
    std::vector<Joined> parts;
    bool whole = true; // blocks of channels stay together
    Dim offset = 0;
    for (Value operand : op->getOperands()) {
      parts.push_back(joined(operand, shapes));
      const Joined &part = parts.back();
      if (block) {
        int64_t start = requireConstant(part.starts[1]), count = part.dims[1].constant();
        bool last = parts.size() == op->getNumOperands();
        if (part.steps[1] != 1)
          throw Declined{"a slice with steps along blocked channels"};
        if (axis == 1)
          whole &= offset.constant() % block == 0 && start % block == 0 && (last || count % block == 0);
        else if (start % block != 0)
          throw Declined{"a slice of blocked channels and another axis at once"};
      }
      offset = offset + part.dims[axis];
    }
    if (!whole)
      return joinChannels(parts);
    offset = 0;
    copiesOperands = true;
    for (const Joined &part : parts) {
      Access from = physical(*part.tensor), to = physical(y());
      for (size_t i = 0; i < part.starts.size(); ++i) {
        bool blocks = block && i == 1;
        from.base = from.base + (blocks ? floorDiv(part.starts[i], block) : part.starts[i]) * from.strides[i];
        from.strides[i] = from.strides[i] * part.steps[i];
      }
      to.base = block && axis == 1 ? floorDiv(offset, block) * to.strides[1] : offset * to.strides[axis];
      copy(Space(part.dims, block), from, to);
      offset = offset + part.dims[axis];
    }
  }

  /// Concatenates channels that shift by less than a block: every block of the result is combined from the blocks that
  /// contain its channels.
  void joinChannels(const std::vector<Joined> &parts) {
    std::vector<ChannelRun> runs;
    for (const Joined &part : parts) {
      for (size_t other = 0; other < part.starts.size(); ++other)
        if (other != 1 && part.isCut(other))
          throw Declined{"a slice of blocked channels and another axis at once"};
      runs.push_back({part.tensor, part.starts[1].constant(), part.dims[1].constant()});
    }
    constexpr int64_t mostBlocks = 64; // each block needs separate code
    if (y().dims[1].constant() <= mostBlocks * block) {
      for (auto &piece : makeChannelJoin(runs, y(), target, grain))
        pieces.push_back(std::move(piece));
      return;
    }
    int64_t offset = 0;
    for (const ChannelRun &run : runs) {
      if (run.count != run.from->dims[1].constant())
        throw Declined{"a concatenation of slices of many channels"};
      pieces.push_back(makeChannelConcat(*run.from, y(), offset, target, grain));
      offset += run.count;
    }
  }

  /// to[...] = from[starts + steps * ...]
  void cut(const KernelTensor &from, const KernelTensor &to, const Dims &starts, const std::vector<int64_t> &steps) {
    Access source = physical(from);
    for (size_t axis = 0; axis < starts.size(); ++axis) {
      if (block && axis == 1) {
        if (steps[axis] != 1)
          throw Declined{"a slice with steps along blocked channels"};
        int64_t start = requireConstant(starts[axis]);
        if (start % block) {
          for (size_t other = 0; other < starts.size(); ++other)
            if (other != axis && !(starts[other] == Dim(0) && steps[other] == 1 && from.dims[other] == to.dims[other]))
              throw Declined{"a slice of blocked channels and another axis at once"};
          pieces.push_back(makeChannelSlice(from, to, start, target, grain));
          return;
        }
        source.base = source.base + Dim(start / block) * source.strides[axis];
        continue;
      }
      source.base = source.base + starts[axis] * source.strides[axis];
      source.strides[axis] = source.strides[axis] * steps[axis];
    }
    copy(Space(to.dims, block), source, physical(to));
  }

  void split() {
    requireOneLayout();
    int64_t axis = normalizeAxis(nn::attrsAs<SplitAttrs>(op).axis, static_cast<int64_t>(x().rank()), "axis");
    Dim offset = 0;
    for (const KernelTensor &piece : tensors.outputs) {
      Dims starts(x().rank(), Dim(0));
      starts[axis] = offset;
      cut(x(), piece, starts, std::vector<int64_t>(x().rank(), 1));
      offset = offset + piece.dims[axis];
    }
  }

  static void startsAndSteps(mlir::Operation *slice, const KernelTensor &x, Dims &starts, std::vector<int64_t> &steps) {
    auto attrs = nn::attrsAs<SliceAttrs>(slice);
    Dims given = numbersOf(slice, 1, attrs.starts), axes = numbersOf(slice, 3, attrs.axes),
         stepsIn = numbersOf(slice, 4, attrs.steps);
    for (size_t i = 0; i < given.size(); ++i) {
      int64_t axis = axes.empty() ? static_cast<int64_t>(i)
                                  : normalizeAxis(axes[i].constantOr(0), static_cast<int64_t>(x.rank()), "axis");
      const Dim &extent = x.dims[axis];
      constexpr int64_t farthest = int64_t(1) << 31; // the products with strides have 64 bits
      steps[axis] = stepsIn.empty() ? 1 : std::clamp(stepsIn[i].constantOr(1), -farthest, farthest);
      Dim start = given[i]; // a symbol is not negative
      if (int64_t from = start.constantOr(0); from < 0)
        start = from < -(int64_t(1) << 40) ? Dim(0) : maximum(0, extent + from);
      else if (from > int64_t(1) << 40)
        start = extent;
      starts[axis] = minimum(start, steps[axis] < 0 ? extent - 1 : extent);
    }
  }

  void slice() {
    requireOneLayout();
    Dims starts(x().rank(), Dim(0));
    std::vector<int64_t> steps(x().rank(), 1);
    startsAndSteps(op, x(), starts, steps);
    cut(x(), y(), starts, steps);
  }

  void gather() {
    requireRowMajor();
    const KernelTensor &indices = argument(op->getOperand(1));
    if (secondType != ElementType::i32 && secondType != ElementType::i64)
      throw Declined{"indices that are neither i32 nor i64"};
    int64_t axis = normalizeAxis(nn::attrsAs<GatherAttrs>(op).axis, static_cast<int64_t>(x().rank()), "axis");
    pieces.push_back(makeGather(x(), indices, y(), axis, target, grain));
  }

  void pad() {
    requireOneLayout();
    auto operands = nn::operandsByRecord(op);
    auto attrs = nn::attrsAs<PadAttrs>(op);
    Dims begins = numbersOf(op, 1, attrs.pads), ends(begins.begin() + static_cast<int64_t>(x().rank()), begins.end());
    const KernelTensor *value = operands.size() > 2 && operands[2] ? tensors.input(operands[2]) : nullptr;
    if (operands.size() > 2 && operands[2] && !value)
      throw Declined{"the padding value is not an argument of the kernel"};
    if (block && !(begins[1] == Dim(0) && ends[1] == Dim(0)))
      throw Declined{"padding along blocked channels"};
    if (!value && !KernelBuilder::computes(firstType))
      throw Declined{fmt::format("padding of elements of type {}", name(firstType))};
    pieces.push_back(makePad(x(), y(), attrs, begins, firstType, value, target, grain));
  }

  void expand() {
    for (const Dim &extent : y().dims)
      if (isUnknown(extent))
        throw Declined{"extents that are not known before it runs"};
    Space space(y().dims, block);
    copy(space, space.access(x()), space.access(y()));
  }

  void shape() {
    nn::SymbolicShapes shapes(op->getParentOfType<mlir::func::FuncOp>());
    std::optional<std::vector<Dim>> contents = shapes.of(op->getResult(0)).contents;
    if (!contents || contents->empty() || llvm::any_of(*contents, isUnknown))
      throw Declined{"extents that are not known before it runs"};
    pieces.push_back(makeNumbers(*contents, y()));
  }

  void tile() {
    requireRowMajor();
    // Every axis becomes two: the repetition, and the axis itself.
    Space space;
    Access from{&x(), {}, 0, false}, to{&y(), {}, 0, false};
    Dims fromStrides = memoryStrides(x()), toStrides = memoryStrides(y());
    Dims repeats = numbersOf(op, 1, nn::attrsAs<TileAttrs>(op).repeats);
    for (size_t i = 0; i < x().rank(); ++i) {
      space.extents.insert(space.extents.end(), {repeats[i], x().dims[i]});
      from.strides.insert(from.strides.end(), {Dim(0), fromStrides[i]});
      to.strides.insert(to.strides.end(), {x().dims[i] * toStrides[i], toStrides[i]});
    }
    copy(space, from, to);
  }

  /// True if each block of channels moves as a whole, so that blocks move like channels.
  bool wholeBlocks(const KernelTensor &few) const {
    requireOneLayout();
    if (block && few.dims[1].constantOr(1) % block != 0)
      throw Declined{fmt::format("'{}' that splits a block of channels", op->getName().getStringRef().str())};
    return block != 0;
  }

  void depthToSpace() {
    auto attrs = nn::attrsAs<DepthToSpaceAttrs>(op);
    bool rowsFirst = attrs.mode == "DCR", blocked = wholeBlocks(y());
    if (blocked && !rowsFirst)
      throw Declined{"'depth_to_space' that splits a block of channels"};
    Dim size = attrs.block_size, channels = blocked ? floorDiv(y().dims[1], block) : y().dims[1], height = x().dims[2],
        width = x().dims[3];
    Dims s = memoryStrides(x());
    // channel = (row * b + column) * C' + c, otherwise (c * b + row) * b + column
    Dim column = rowsFirst ? channels * s[1] : s[1], row = column * size,
        channel = rowsFirst ? s[1] : size * size * s[1];
    Space space;
    space.extents = {y().dims[0], channels, height, size, width, size};
    Dims t = memoryStrides(y());
    Access from{&x(), {s[0], channel, s[2], row, s[3], column}, 0, false},
        to{&y(), {t[0], t[1], t[2] * size, t[2], t[3] * size, t[3]}, 0, false};
    copyBlocks(space, from, to, blocked);
  }

  /// Copies with one more axis for the channels of a block.
  void copyBlocks(Space space, Access from, Access to, bool blocked) {
    if (blocked) {
      space.extents.push_back(block);
      from.strides.push_back(1);
      to.strides.push_back(1);
    }
    copy(std::move(space), std::move(from), std::move(to));
  }

  void spaceToDepth() {
    bool blocked = wholeBlocks(x());
    Dim size = nn::attrsAs<SpaceToDepthAttrs>(op).block_size,
        channels = blocked ? floorDiv(x().dims[1], block) : x().dims[1];
    Dims s = memoryStrides(x()), t = memoryStrides(y());
    Space space;
    space.extents = {x().dims[0], size, size, channels, y().dims[2], y().dims[3]};
    Access from{&x(), {s[0], s[2], s[3], s[1], s[2] * size, s[3] * size}, 0, false},
        to{&y(), {t[0], size * channels * t[1], channels * t[1], t[1], t[2], t[3]}, 0, false};
    copyBlocks(space, from, to, blocked);
  }
};

std::unique_ptr<KernelFacts> readMovement(const KernelProblem &problem) {
  MovementPlan plan(problem, 65536);
  auto facts = std::make_unique<GrainFacts>("move", 8192, 65536);
  Dims dims = nn::SymbolicShapes(mlir::func::FuncOp(problem.function)).results().at(0).dims;
  facts->shape = {dims, dims.size(), 16, 1};
  double cycles = 0;
  for (const auto &piece : plan.pieces)
    cycles += piece->cycles();
  facts->elementCycles = cycles / std::max(1.0, countOf(dims));
  return facts;
}

GeneratedKernel generateMovement(const KernelProblem &problem, const KernelFacts &, const Schedule &schedule) {
  MovementPlan plan(problem, schedule.number("grain"));
  Dims extents;
  Dim before = 0;
  for (const auto &piece : plan.pieces) {
    Dims own = piece->extents();
    extents.insert(extents.end(), own.begin(), own.end());
    extents.push_back(before);
    before = before + piece->units();
    extents.push_back(piece->units());
    extents.push_back(before);
  }
  KernelHarness h(problem, plan.tensors, extents);
  KernelBuilder &k = h.k;
  before = 0;
  for (const auto &piece : plan.pieces) {
    Value start = h.extent(before);
    before = before + piece->units();
    if (plan.pieces.size() == 1)
      piece->emit(h, k.begin(), k.end());
    else
      piece->emit(h, k.sub(k.max(k.begin(), start), start), k.sub(k.min(k.end(), h.extent(before)), start));
  }
  GeneratedKernel result = h.finish(schedule, plan.units());
  if (plan.copiesOperands)
    result.firstOperandUnits = plan.pieces.front()->units();
  return result;
}

} // namespace

const KernelFamily movementFamily{"movement", readMovement, generateMovement};

} // namespace lathe
