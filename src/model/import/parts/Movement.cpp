// Operators that move elements.
#include "import/parts/Emitter.h"
#include "import/parts/RunTimeParameters.h"

#include <limits>

namespace lathe::source {
namespace {

int64_t splitExtent(Emitter &op, mlir::Value x, int64_t axis) {
  return knownExtent(op, op.dims(x)[static_cast<size_t>(axis)], "what is split");
}

} // namespace

int64_t knownExtent(Emitter &op, const Dim &extent, const char *what) {
  if (!extent.isConstant())
    op.unsupported(fmt::format("extent '{}' of {} is not known; give it with --shape", extent.str(), what));
  return extent.constant();
}

void pack(Emitter &op) {
  Values parts = op.all();
  require(!parts.empty(), "has no inputs, expected at least 1");
  int64_t axis = normalizeAxis(op.option("axis", 0), op.rank(parts[0]) + 1, "the axis");
  Values rows;
  for (mlir::Value part : parts) {
    Dims dims = op.dims(part);
    dims.insert(dims.begin() + std::min<int64_t>(axis, static_cast<int64_t>(dims.size())), Dim(1));
    rows.push_back(op.node.reshape(part, dims));
  }
  op.set(op.emit("concat", rows, {{"axis", axis}}));
}

void setPieces(Emitter &op, mlir::Value x, int64_t axis, const Ints &sizes) {
  mlir::Operation *split = op.node.emitOp("split", {x}, {{"axis", axis}, {"sizes", sizes}});
  require(op.node.outputCount() == sizes.size(), "has {} results, expected {}", op.node.outputCount(), sizes.size());
  for (unsigned i = 0; i < split->getNumResults(); ++i)
    op.node.set(i, split->getResult(i));
}

void unpack(Emitter &op) {
  op.node.ignore({"num"}); // the extent gives it
  mlir::Value x = op.in(0);
  int64_t axis = normalizeAxis(op.option("axis", 0), op.rank(x), "the axis");
  int64_t extent = splitExtent(op, x, axis);
  require(extent == static_cast<int64_t>(op.node.outputCount()), "has {} results, expected {}", op.node.outputCount(),
          extent);
  setPieces(op, x, axis, Ints(static_cast<size_t>(extent), 1));
  for (size_t i = 0; i < op.node.outputCount(); ++i) {
    Dims dims = op.dims(op.node.outputs[i]);
    dims.erase(dims.begin() + axis);
    op.node.set(i, op.node.reshape(op.node.outputs[i], dims));
  }
}

namespace {

void setPieces(Emitter &op, const Values &pieces) {
  require(op.node.outputCount() == pieces.size(), "has {} results, expected {}", op.node.outputCount(), pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i)
    op.node.set(i, pieces[i]);
}

} // namespace

void splitEvenly(Emitter &op, mlir::Value x, int64_t axis, int64_t count) {
  require(count > 0 && count <= static_cast<int64_t>(op.node.outputCount()), "splits into {} pieces, has {} results",
          count, op.node.outputCount());
  const Dim given = op.dims(x)[static_cast<size_t>(axis)];
  if (!given.isConstant())
    return setPieces(op, equalPieces(op.node, x, axis, count, /*uneven=*/false));
  int64_t extent = given.constant();
  require(extent % count == 0, "extent {} does not split into {} equal pieces", extent, count);
  setPieces(op, x, axis, Ints(static_cast<size_t>(count), extent / count));
}

/// Sizes computed at run time. An entry of -1 becomes the rest of the extent.
static mlir::Value withoutRest(Emitter &op, mlir::Value sizes, mlir::Value extent) {
  mlir::Value zero = op.node.constantInts({}, {0}), rest = op.node.constantInts({}, {-1});
  mlir::Value known = op.emit("max", {sizes, zero});
  mlir::Value left = op.emit("sub", {extent, op.emit("reduce_sum", {known}, {{"axes", Ints{0}}, {"keepdims", true}})});
  return op.emit("where", {op.emit("equal", {sizes, rest}), left, sizes});
}

void splitBySizes(Emitter &op) {
  op.node.ignore({"num_split"});
  mlir::Value x = op.in(0);
  int64_t axis = axisOperand(op, 2, op.rank(x));
  auto given = op.node.staticInts(op.in(1));
  const Dim whole = op.dims(x)[static_cast<size_t>(axis)];
  if (!given || !whole.isConstant()) {
    auto count = static_cast<int64_t>(op.node.outputCount());
    require(op.rank(op.in(1)) == 1 && mayAgree(op.dims(op.in(1))[0], count), "has {} results, expected {}", count,
            str(op.dims(op.in(1))));
    mlir::Value sizes = op.node.reshape(op.wide(1), {Dim(count)});
    sizes = withoutRest(op, sizes, extentVector(op.node, x, axis));
    return setPieces(op, piecesOf(op.node, x, axis, sizes, count));
  }
  Ints sizes = *given;
  int64_t rest = whole.constant();
  for (int64_t size : sizes)
    rest -= std::max<int64_t>(size, 0);
  for (int64_t &size : sizes)
    if (size == -1)
      size = std::exchange(rest, 0);
  setPieces(op, x, axis, sizes);
}

std::optional<Ints> staticPads(Emitter &op, mlir::Value values) {
  auto pairs = op.node.staticInts(values);
  if (!pairs)
    return std::nullopt;
  Ints pads(pairs->size());
  for (size_t i = 0; i < pairs->size(); ++i)
    pads[(i % 2) * (pairs->size() / 2) + i / 2] = (*pairs)[i];
  return pads;
}

/// Also repeats the edge: concatenates the reversed ends and x along every axis.
static mlir::Value symmetricPad(Emitter &op, mlir::Value x, mlir::Value pairs) {
  auto pads = staticPads(op, pairs);
  if (!pads)
    op.unsupported("symmetric pads are computed at run time");
  int64_t rank = op.rank(x);
  require(static_cast<int64_t>(pads->size()) == 2 * rank, "has {} pads, expected {}", pads->size(), 2 * rank);
  for (int64_t axis = 0; axis < rank; ++axis) {
    Values parts;
    auto reversed = [&](int64_t start, int64_t end) {
      return op.emit("slice", {x},
                     {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{-1}}});
    };
    int64_t begin = (*pads)[static_cast<size_t>(axis)], end = (*pads)[static_cast<size_t>(rank + axis)];
    require(begin >= 0 && end >= 0, "has a negative pad");
    if (begin > 0)
      parts.push_back(reversed(begin - 1, std::numeric_limits<int64_t>::min()));
    parts.push_back(x);
    if (end > 0)
      parts.push_back(reversed(-1, -1 - end));
    if (parts.size() > 1)
      x = op.emit("concat", parts, {{"axis", axis}});
  }
  return x;
}

mlir::Value padByPairs(Emitter &op, mlir::Value x, mlir::Value pairs, const char *mode, mlir::Value value,
                       double constant) {
  if (std::string_view(mode) == "symmetric")
    return symmetricPad(op, x, pairs);
  Fields fields = {{"mode", mode}};
  mlir::Value runTimePads;
  if (!value && std::string_view(mode) == "constant")
    fields.emplace_back("value", constant);
  if (auto pads = staticPads(op, pairs))
    fields.emplace_back("pads", *pads);
  else
    runTimePads = op.emit("reshape", {transpose(op.node, op.wide(pairs), {1, 0})}, {{"shape", Ints{-1}}});
  return op.emit("pad", {x, runTimePads, value}, fields);
}

mlir::Value squeeze(Emitter &op, mlir::Value x, const Ints &axes) {
  const Dims dims = op.dims(x);
  std::vector<bool> dropped(dims.size());
  for (int64_t axis : axes) {
    auto at = static_cast<size_t>(normalizeAxis(axis, static_cast<int64_t>(dims.size()), "an axis"));
    require(dims[at].constantOr(1) == 1, "axis {} has extent {}, expected 1", axis, dims[at].str());
    dropped[at] = true;
  }
  Dims kept;
  for (size_t i = 0; i < dims.size(); ++i)
    if (axes.empty() ? !(dims[i] == Dim(1)) : !dropped[i])
      kept.push_back(dims[i]);
  return op.node.reshape(x, kept);
}

mlir::Value expandDims(Emitter &op, mlir::Value x, mlir::Value axisOperand) {
  auto known = op.node.staticInts(axisOperand);
  if (!known) {
    require(product(op.dims(axisOperand)) == Dim(1), "the axis is {}, expected one number", str(op.dims(axisOperand)));
    return unsqueezeAt(op.node, x, axisOperand);
  }
  const Ints &axis = *known;
  require(axis.size() == 1, "has {} axes, expected 1", axis.size());
  Dims dims = op.dims(x);
  dims.insert(dims.begin() + normalizeAxis(axis[0], static_cast<int64_t>(dims.size()) + 1, "the axis"), Dim(1));
  return op.node.reshape(x, dims);
}

mlir::Value tileBy(Emitter &op, mlir::Value x, mlir::Value repeats) {
  if (auto known = op.node.staticInts(repeats))
    return op.emit("tile", {x, {}}, {{"repeats", *known}});
  return op.emit("tile", {x, op.wide(repeats)});
}

mlir::Value broadcastTo(Emitter &op, mlir::Value x, mlir::Value shape) {
  if (auto known = op.node.staticInts(shape))
    return op.emit("expand", {x, {}}, {{"shape", *known}});
  return op.emit("expand", {x, op.wide(shape)});
}

mlir::Value spaceToBatch(Emitter &op, mlir::Value x, const Ints &block, const Ints &pairs, double padValue) {
  size_t count = block.size(), rank = op.dims(x).size();
  require(count >= 1 && rank > count && pairs.size() == 2 * count,
          "has a block of {} axes, {} paddings and an operand of rank {}", count, pairs.size(), rank);
  for (int64_t pad : pairs)
    require(pad >= 0 && pad < int64_t(1) << 31, "pads {} elements", pad);
  Ints pads(2 * rank);
  for (size_t i = 0; i < count; ++i) {
    pads[1 + i] = pairs[2 * i];
    pads[rank + 1 + i] = pairs[2 * i + 1];
  }
  x = op.emit("pad", {x, {}, {}}, {{"pads", pads}, {"value", padValue}});
  const Dims dims = op.dims(x);
  Dims cut = {dims[0]}, whole;
  Ints perm, outer;
  Dim batch = dims[0];
  for (size_t i = 0; i < count; ++i) {
    if (!dims[1 + i].isConstant())
      op.unsupported(fmt::format("cuts extent '{}' into blocks; give it with --shape", dims[1 + i].str()));
    require(block[i] >= 1 && dims[1 + i].constant() % block[i] == 0, "extent {} does not divide into blocks of {}",
            dims[1 + i].str(), block[i]);
    cut.push_back(Dim(dims[1 + i].constant() / block[i]));
    cut.push_back(Dim(block[i]));
    perm.push_back(static_cast<int64_t>(2 + 2 * i));
    outer.push_back(static_cast<int64_t>(1 + 2 * i));
    batch = batch * Dim(block[i]);
  }
  perm.push_back(0);
  perm.insert(perm.end(), outer.begin(), outer.end());
  whole.push_back(batch);
  for (size_t i = 0; i < count; ++i)
    whole.push_back(cut[1 + 2 * i]);
  for (size_t axis = 1 + count; axis < rank; ++axis) {
    perm.push_back(static_cast<int64_t>(cut.size()));
    cut.push_back(dims[axis]);
    whole.push_back(dims[axis]);
  }
  return op.node.reshape(transpose(op.node, op.node.reshape(x, cut), perm), whole);
}

mlir::Value batchToSpace(Emitter &op, mlir::Value x, const Ints &block, const Ints &crops) {
  const Dims dims = op.dims(x);
  size_t count = block.size(), rank = dims.size();
  require(count >= 1 && rank > count && crops.size() == 2 * count,
          "has a block of {} axes, {} crops and an operand of rank {}", count, crops.size(), rank);
  for (int64_t crop : crops)
    require(crop >= 0 && crop < int64_t(1) << 31, "crops {} elements", crop);
  Dim batch = dims[0];
  Dims cut, whole;
  for (int64_t size : block) {
    auto part = size >= 1 ? batch.dividedExactlyBy(Dim(size)) : std::nullopt;
    if (!part && size >= 1 && !batch.isConstant())
      op.unsupported(fmt::format("the batch '{}' is not known to divide into blocks of {}; give it with --shape",
                                 dims[0].str(), size));
    require(part.has_value(), "a batch of {} does not divide into blocks of {}", dims[0].str(), size);
    batch = *part;
    cut.push_back(Dim(size));
  }
  cut.push_back(batch);
  cut.insert(cut.end(), dims.begin() + 1, dims.end());
  whole.push_back(batch);
  Ints perm = {static_cast<int64_t>(count)}, starts, ends, axes;
  for (size_t i = 0; i < count; ++i) {
    perm.push_back(static_cast<int64_t>(count + 1 + i));
    perm.push_back(static_cast<int64_t>(i));
    whole.push_back(dims[1 + i] * Dim(block[i]));
    axes.push_back(static_cast<int64_t>(1 + i));
    starts.push_back(crops[2 * i]);
    ends.push_back(crops[2 * i + 1] == 0 ? std::numeric_limits<int64_t>::max() : -crops[2 * i + 1]);
  }
  for (size_t axis = 1 + count; axis < rank; ++axis) {
    perm.push_back(static_cast<int64_t>(count + axis));
    whole.push_back(dims[axis]);
  }
  mlir::Value y = op.node.reshape(transpose(op.node, op.node.reshape(x, cut), perm), whole);
  return op.emit("slice", {y}, {{"starts", starts}, {"ends", ends}, {"axes", axes}});
}

mlir::Value reverse(Emitter &op, mlir::Value x, const Ints &axes) {
  if (axes.empty())
    return x;
  Ints starts(axes.size(), -1), ends(axes.size(), std::numeric_limits<int64_t>::min()), steps(axes.size(), -1);
  return op.emit("slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}});
}

/// nn has the batch and the time as the first two axes.
mlir::Value reverseSequence(Emitter &op, mlir::Value x, mlir::Value lengths) {
  int64_t rank = op.rank(x), time = normalizeAxis(op.option("seq_dim", 0), rank, "the sequence's axis"),
          batch = normalizeAxis(op.option("batch_dim", 0), rank, "the batch's axis");
  require(time != batch, "sequence and batch have the same axis {}", time);
  Ints perm = {batch, time}, back(static_cast<size_t>(rank));
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != batch && axis != time)
      perm.push_back(axis);
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  mlir::Value y = op.emit("reverse_sequence", {transpose(op.node, x, perm), op.wide(lengths)},
                          {{"batch_axis", 0}, {"time_axis", 1}});
  return transpose(op.node, y, back);
}

int64_t axisOperand(Emitter &op, size_t index, int64_t rank) {
  Ints axis = op.node.requireInts(index, "the axis");
  require(axis.size() == 1, "has {} axes, expected 1", axis.size());
  return normalizeAxis(axis[0], rank, "the axis");
}

} // namespace lathe::source
