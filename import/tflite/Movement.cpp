// Operators that move whole elements to other places.
#include "import/tflite/Tflite.h"

#include <limits>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using Ints = std::vector<int64_t>;

void importTranspose(Operator &op) {
  op.node.expectInputs(2, 2);
  op.set(transpose(op.node, op.in(0), op.node.requireInts(1, "the permutation")));
}

void importConcatenation(Operator &op) {
  const auto &options = op.options<file::ConcatenationOptions>(BuiltinOptions::Concatenation);
  Values parts;
  for (size_t i = 0; i < op.node.inputCount(); ++i)
    parts.push_back(op.in(i));
  mlir::Value y = op.emit("concat", parts, {{"axis", int64_t(options.axis())}});
  op.set(activate(op.node, y, options.activation()));
}

/// The parts get a new axis of extent 1.
void importPack(Operator &op) {
  const auto &options = op.options<file::PackOptions>(BuiltinOptions::Pack);
  int64_t axis = normalizeAxis(options.axis(), op.rank(op.in(0)) + 1, "the axis");
  Values parts;
  for (size_t i = 0; i < op.node.inputCount(); ++i) {
    Dims dims = op.dims(op.in(i));
    dims.insert(dims.begin() + std::min<int64_t>(axis, static_cast<int64_t>(dims.size())), Dim(1));
    parts.push_back(op.node.reshape(op.in(i), dims));
  }
  op.set(op.emit("concat", parts, {{"axis", axis}}));
}

void setPieces(Operator &op, mlir::Value x, int64_t axis, const Ints &sizes) {
  mlir::Operation *split = op.node.emitOp("split", {x}, {{"axis", axis}, {"sizes", sizes}});
  require(op.node.outputCount() == sizes.size(), "has {} results, expected {}", op.node.outputCount(), sizes.size());
  for (unsigned i = 0; i < split->getNumResults(); ++i)
    op.node.set(i, split->getResult(i));
}

int64_t extentAt(Operator &op, mlir::Value x, int64_t axis) {
  const Dim &extent = op.dims(x)[static_cast<size_t>(axis)];
  if (!extent.isConstant())
    op.unsupported(fmt::format("splits extent '{}'; give it with --shape", extent.str()));
  return extent.constant();
}

void importUnpack(Operator &op) {
  op.node.expectInputs(1, 1);
  mlir::Value x = op.in(0);
  int64_t axis = normalizeAxis(op.options<file::UnpackOptions>(BuiltinOptions::Unpack).axis(), op.rank(x), "the axis");
  int64_t extent = extentAt(op, x, axis);
  require(extent == static_cast<int64_t>(op.node.outputCount()), "has {} results, expected {}", op.node.outputCount(),
          extent);
  setPieces(op, x, axis, Ints(static_cast<size_t>(extent), 1));
  for (size_t i = 0; i < op.node.outputCount(); ++i) {
    Dims dims = op.dims(op.node.outputs[i]);
    dims.erase(dims.begin() + axis);
    op.node.set(i, op.node.reshape(op.node.outputs[i], dims));
  }
}

void importSplit(Operator &op) { // the axis comes first
  op.node.expectInputs(2, 2);
  mlir::Value x = op.in(1);
  int64_t axis = axisOperand(op, 0, op.rank(x)), extent = extentAt(op, x, axis);
  auto count = static_cast<int64_t>(op.node.outputCount());
  require(count > 0 && extent % count == 0, "extent {} does not split into {} equal pieces", extent, count);
  setPieces(op, x, axis, Ints(static_cast<size_t>(count), extent / count));
}

/// One size may be -1: what is left.
void importSplitV(Operator &op) {
  op.node.expectInputs(3, 3);
  mlir::Value x = op.in(0);
  int64_t axis = axisOperand(op, 2, op.rank(x)), rest = extentAt(op, x, axis);
  Ints sizes = op.node.requireInts(1, "the sizes");
  for (int64_t size : sizes)
    rest -= std::max<int64_t>(size, 0);
  for (int64_t &size : sizes)
    if (size == -1)
      size = std::exchange(rest, 0);
  setPieces(op, x, axis, sizes);
}

/// What pads on a quantised tensor stand for: zero.
double padValue(const Operator &op) {
  auto quantization = op.inputQuantization(0);
  return quantization && !isFloat(op.inputType(0)) ? static_cast<double>(quantization->zeroPoints[0]) : 0;
}

/// rank x 2 pads as nn has them: all begins, then all ends.
std::optional<Ints> staticPads(Operator &op, size_t index) {
  auto pairs = op.node.staticInts(op.in(index));
  if (!pairs)
    return std::nullopt;
  Ints pads(pairs->size());
  for (size_t i = 0; i < pairs->size(); ++i)
    pads[(i % 2) * (pairs->size() / 2) + i / 2] = (*pairs)[i];
  return pads;
}

/// The edge is repeated as well: along every axis the reversed ends beside x.
void importSymmetricPad(Operator &op) {
  auto pads = staticPads(op, 1);
  if (!pads)
    op.unsupported("symmetric pads are computed at run time");
  mlir::Value x = op.in(0);
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
  op.set(x);
}

void importPad(Operator &op) {
  op.node.expectInputs(2, op.code() == PADV2 ? 3 : 2);
  Fields fields;
  mlir::Value value = op.node.inOrNull(2), runTimePads;
  if (op.code() == MIRROR_PAD) {
    auto mode = op.options<file::MirrorPadOptions>(BuiltinOptions::MirrorPad).mode();
    if (mode != file::MirrorMode::REFLECT)
      return importSymmetricPad(op);
    fields.emplace_back("mode", "reflect");
  } else if (!value) {
    fields.emplace_back("value", padValue(op));
  }
  if (auto pads = staticPads(op, 1))
    fields.emplace_back("pads", *pads);
  else
    runTimePads = op.emit("reshape", {transpose(op.node, op.wide(1), {1, 0})}, {{"shape", Ints{-1}}});
  op.set(op.emit("pad", {op.in(0), runTimePads, value}, fields));
}

/// Repeats a block of `repeats` copies along all axes, or gives x the extents of the operand.
void importTile(Operator &op) {
  op.node.expectInputs(2, 2);
  if (auto repeats = op.node.staticInts(op.in(1)))
    op.set(op.emit("tile", {op.in(0), {}}, {{"repeats", *repeats}}));
  else
    op.set(op.emit("tile", {op.in(0), op.wide(1)}));
}

void importBroadcastTo(Operator &op) {
  op.node.expectInputs(2, 2);
  if (auto shape = op.node.staticInts(op.in(1)))
    op.set(op.emit("expand", {op.in(0), {}}, {{"shape", *shape}}));
  else
    op.set(op.emit("expand", {op.in(0), op.wide(1)}));
}

/// Blocks of the image to channels and back; the order of the new channels is that of ONNX.
void importBlocks(Operator &op) {
  op.node.expectInputs(1, 1);
  bool toDepth = op.code() == SPACE_TO_DEPTH;
  const auto &options =
      op.options<file::BlockOptions>(toDepth ? BuiltinOptions::SpaceToDepth : BuiltinOptions::DepthToSpace);
  mlir::Value x = channelsFirst(op.node, op.in(0));
  op.set(channelsLast(op.node, op.emit(toDepth ? "space_to_depth" : "depth_to_space", {x},
                                       {{"block_size", int64_t(options.block())}})));
}

/// Axes 1 to M in blocks, with the positions in the block in front of the batch.
void importSpaceToBatch(Operator &op) {
  op.node.expectInputs(3, 3);
  mlir::Value x = op.in(0);
  Ints block = op.node.requireInts(1, "the block");
  auto pairs = op.node.requireInts(2, "the paddings");
  size_t count = block.size(), rank = op.dims(x).size();
  require(count >= 1 && rank > count && pairs.size() == 2 * count,
          "has a block of {} axes, {} paddings and an operand of rank {}", count, pairs.size(), rank);
  Ints pads(2 * rank);
  for (size_t i = 0; i < count; ++i) {
    pads[1 + i] = pairs[2 * i];
    pads[rank + 1 + i] = pairs[2 * i + 1];
  }
  x = op.emit("pad", {x, {}, {}}, {{"pads", pads}, {"value", padValue(op)}});
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
  op.set(op.node.reshape(transpose(op.node, op.node.reshape(x, cut), perm), whole));
}

void importBatchToSpace(Operator &op) {
  op.node.expectInputs(3, 3);
  mlir::Value x = op.in(0);
  Ints block = op.node.requireInts(1, "the block"), crops = op.node.requireInts(2, "the crops");
  const Dims dims = op.dims(x);
  size_t count = block.size(), rank = dims.size();
  require(count >= 1 && rank > count && crops.size() == 2 * count,
          "has a block of {} axes, {} crops and an operand of rank {}", count, crops.size(), rank);
  if (!dims[0].isConstant())
    op.unsupported(fmt::format("the batch '{}' is not known; give it with --shape", dims[0].str()));
  int64_t batch = dims[0].constant();
  Dims cut, whole;
  for (int64_t size : block) {
    require(size >= 1 && batch % size == 0, "a batch of {} does not divide into blocks of {}", dims[0].str(), size);
    batch /= size;
    cut.push_back(Dim(size));
  }
  cut.push_back(Dim(batch));
  cut.insert(cut.end(), dims.begin() + 1, dims.end());
  whole.push_back(Dim(batch));
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
  op.set(op.emit("slice", {y}, {{"starts", starts}, {"ends", ends}, {"axes", axes}}));
}

void importReverse(Operator &op) {
  op.node.expectInputs(2, 2);
  Ints axes = op.node.requireInts(1, "the axes");
  Ints starts(axes.size(), -1), ends(axes.size(), std::numeric_limits<int64_t>::min()), steps(axes.size(), -1);
  op.set(op.emit("slice", {op.in(0)}, {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}}));
}

/// nn has the batch and the time as the first two axes.
void importReverseSequence(Operator &op) {
  op.node.expectInputs(2, 2);
  const auto &options = op.options<file::ReverseSequenceOptions>(BuiltinOptions::ReverseSequence);
  mlir::Value x = op.in(0);
  int64_t rank = op.rank(x), time = normalizeAxis(options.axis(), rank, "the sequence's axis"),
          batch = normalizeAxis(options.batch_axis(), rank, "the batch's axis");
  require(time != batch, "sequence and batch have the same axis {}", time);
  Ints perm = {batch, time}, back(static_cast<size_t>(rank));
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != batch && axis != time)
      perm.push_back(axis);
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  mlir::Value y =
      op.emit("reverse_sequence", {transpose(op.node, x, perm), op.wide(1)}, {{"batch_axis", 0}, {"time_axis", 1}});
  op.set(transpose(op.node, y, back));
}

} // namespace

int64_t axisOperand(Operator &op, size_t index, int64_t rank) {
  Ints axis = op.node.requireInts(index, "the axis");
  require(axis.size() == 1, "has {} axes, expected 1", axis.size());
  return normalizeAxis(axis[0], rank, "the axis");
}

void addMovementImporters(Importers &table) {
  auto add = [&](BuiltinOperator code, void (*run)(Operator &)) { table[code] = {run, /*moves=*/true}; };
  add(TRANSPOSE, importTranspose);
  table[CONCATENATION] = {importConcatenation};
  add(PACK, importPack);
  add(UNPACK, importUnpack);
  add(SPLIT, importSplit);
  add(SPLIT_V, importSplitV);
  add(PAD, importPad);
  add(PADV2, importPad);
  add(MIRROR_PAD, importPad);
  add(TILE, importTile);
  add(BROADCAST_TO, importBroadcastTo);
  add(SPACE_TO_DEPTH, importBlocks);
  add(DEPTH_TO_SPACE, importBlocks);
  add(SPACE_TO_BATCH_ND, importSpaceToBatch);
  add(BATCH_TO_SPACE_ND, importBatchToSpace);
  add(REVERSE_V2, importReverse);
  add(REVERSE_SEQUENCE, importReverseSequence);
}

} // namespace lathe::tflite
