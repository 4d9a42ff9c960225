// A node with what importers use most, and parts of importers that formats with the channels last share. Functions here
// take operands and options as values; the importers of a format read them from its own attributes.
#pragma once

#include "import/Node.h"
#include "import/Unfold.h"

#include <functional>
#include <limits>

namespace lathe::source {

using Ints = std::vector<int64_t>;

class Emitter {
public:
  explicit Emitter(Node &node) : node(node) {}
  virtual ~Emitter() = default;

  Node &node;
  mlir::Value in(size_t index) const { return node.in(index); }
  /// All inputs.
  Values all() const;
  void set(mlir::Value value) { node.set(0, value); }
  mlir::Value emit(const char *mnemonic, const Values &operands, const Fields &fields = {}) {
    return node.emit(mnemonic, operands, fields);
  }
  const Dims &dims(mlir::Value value) const { return node.info(value).dims; }
  int64_t rank(mlir::Value value) const { return node.rank(value); }
  ElementType typeOf(mlir::Value value) const { return node.info(value).type; }
  /// Integers as i64, as nn takes indices and extents.
  mlir::Value wide(mlir::Value value) { return node.cast(value, ElementType::i64); }
  mlir::Value wide(size_t index) { return wide(in(index)); }
  mlir::Value number(ElementType type, double value) { return node.constantScalar(type, value); }
  [[noreturn]] void unsupported(std::string reason) const { node.unsupported(std::move(reason)); }

  // ---- What formats state in different places.
  /// A number, or 0 or 1, that is an attribute of the node, or a field of the options.
  virtual int64_t option(const char *name, int64_t fallback) { return node.intAttr(name, fallback); }
  /// Type of result `index`: a type attribute, or the type of the tensor that the file describes.
  virtual ElementType resultType(const char *attribute, ElementType fallback, size_t index = 0);
  /// The element that stands for zero in operand 0.
  virtual double zero() const { return 0; }
};

/// How many operands an operator has; the first `least` must be present.
struct OperandCount {
  size_t least = 0, most = std::numeric_limits<size_t>::max();
  constexpr OperandCount() = default;
  constexpr OperandCount(size_t count) : least(count), most(count) {}
  constexpr OperandCount(size_t least, size_t most) : least(least), most(most) {}
};

/// Operand `index` as one axis of a tensor of rank `rank`.
int64_t axisOperand(Emitter &op, size_t index, int64_t rank);
/// An extent that must be known. Throws Unsupported with `what` where it is not.
int64_t knownExtent(Emitter &op, const Dim &extent, const char *what);

// ---- Layout (Layout.cpp) ------------------------------------------------------------------------------------------

/// NHWC (rank 4; rank 5: NDHWC) to NCHW, and back.
mlir::Value channelsFirst(Node &node, mlir::Value x);
mlir::Value channelsLast(Node &node, mlir::Value x);
mlir::Value transpose(Node &node, mlir::Value x, std::vector<int64_t> perm);

/// Window of a convolution or a pool along the spatial axes, height first.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads; // all begins, then all ends; a third group as in ops/WindowPads.h
  Fields fields() const { return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}}; }
};
/// Throws Error unless kernel, strides and dilations are positive.
void checkWindow(const Window &window);
/// Sets the pads so that there are ceil(extent / stride) positions; of an odd padding the end has one more. `extents` are
/// the spatial ones.
void padSame(const Dims &extents, Window &window);
/// Fills in the pads: SAME (TensorFlow's rule) or none. `dims` are the extents of the operand, `first` is its first
/// spatial axis. Throws Error for values that are no window.
Window padded(const Dims &dims, size_t first, bool same, Window window);
/// Pads of the transposed convolution whose result has extent `out` along each axis: that of the convolution, SAME or
/// not, that it is the gradient of. `explicitPads` are used instead where they are not empty.
struct TransposedPads {
  std::vector<int64_t> pads, outputPadding;
};
TransposedPads transposedPads(const Ints &in, const Ints &out, const Window &window, bool same,
                              const Ints &explicitPads = {});

// ---- Slices (Slice.cpp) -------------------------------------------------------------------------------------------

/// A size of -1 reaches to the end.
mlir::Value sliceBySize(Emitter &op, mlir::Value x, mlir::Value begin, mlir::Value size);
/// Options are masks: bit i is about position i of the begins.
mlir::Value stridedSlice(Emitter &op, mlir::Value x, mlir::Value begin, mlir::Value end, mlir::Value strides);
/// Elements `begin` to `end` (not included) along one axis.
mlir::Value cut(Emitter &op, mlir::Value x, int64_t axis, int64_t begin, int64_t end);

// ---- Movement (Movement.cpp) --------------------------------------------------------------------------------------

/// All operands along a new axis.
void pack(Emitter &op);
/// Pieces of the given sizes become the results of the node.
void setPieces(Emitter &op, mlir::Value x, int64_t axis, const Ints &sizes);
/// Slices of operand 0 along an axis, without it, become the results of the node.
void unpack(Emitter &op);
/// `count` equal pieces become the results of the node.
void splitEvenly(Emitter &op, mlir::Value x, int64_t axis, int64_t count);
/// Pieces of operand 0 of the sizes that operand 1 holds, of which one may be -1: what is left. Operand 2: the axis.
void splitBySizes(Emitter &op);
/// rank x 2 pads as nn has them, all begins, then all ends; nothing if they are not known.
std::optional<Ints> staticPads(Emitter &op, mlir::Value pairs);
/// Pads x by the rank x 2 operand `pairs`. mode: "constant" (with `value`, or with 0), "reflect", "symmetric".
mlir::Value padByPairs(Emitter &op, mlir::Value x, mlir::Value pairs, const char *mode, mlir::Value value,
                       double constant = 0);
/// Without the given axes; without all of extent 1 where none is given.
mlir::Value squeeze(Emitter &op, mlir::Value x, const Ints &axes);
/// With an axis of extent 1 before the one that `axis` holds.
mlir::Value expandDims(Emitter &op, mlir::Value x, mlir::Value axis);
mlir::Value tileBy(Emitter &op, mlir::Value x, mlir::Value repeats);
/// x broadcast to the extents that `shape` holds.
mlir::Value broadcastTo(Emitter &op, mlir::Value x, mlir::Value shape);
/// Axes 1 to M in blocks, with the positions in the block in front of the batch.
mlir::Value spaceToBatch(Emitter &op, mlir::Value x, const Ints &block, const Ints &pairs, double padValue);
mlir::Value batchToSpace(Emitter &op, mlir::Value x, const Ints &block, const Ints &crops);
mlir::Value reverse(Emitter &op, mlir::Value x, const Ints &axes);
/// The first `lengths` elements along the axis seq_dim in reverse order, for each index of the axis batch_dim.
mlir::Value reverseSequence(Emitter &op, mlir::Value x, mlir::Value lengths);

// ---- Indexed (Indexed.cpp) ----------------------------------------------------------------------------------------

/// Product of `dims`, the extents of a constant that an importer makes itself, which no bytes of the file bound. Throws
/// Error, beginning with `what`, for more than 2^24 elements.
int64_t madeElements(const Ints &dims, const std::string &what);

/// With `batch` the first axes of operand and indices are the same ones. Indices are i64.
mlir::Value gatherAlong(Emitter &op, mlir::Value x, mlir::Value indices, int64_t axis, int64_t batch);
/// A tensor of one value; `shape` is i64.
mlir::Value filled(Emitter &op, mlir::Value shape, ElementType type, double value);
/// Updates at equal positions add up.
mlir::Value scatterInto(Emitter &op, mlir::Value indices, mlir::Value updates, mlir::Value shape);
/// Positions (sparse), extents, values and the value elsewhere.
mlir::Value sparseToDense(Emitter &op, mlir::Value indices, mlir::Value shape, mlir::Value values, mlir::Value rest);
/// A constant tensor of 0, 1, ... along `axis`, with extent 1 on the others.
mlir::Value ramp(Emitter &op, int64_t extent, size_t axis, size_t rank);
mlir::Value oneHot(Emitter &op, mlir::Value indices, mlir::Value depth, mlir::Value on, mlir::Value off);
/// k is a scalar. Results: values and i64 positions.
mlir::Operation *topK(Emitter &op, mlir::Value x, mlir::Value k);
/// Rows of x combined by the segment that each belongs to; a negative segment drops its row. `reduction` is "add",
/// "mul", "max" or "min".
mlir::Value unsortedSegment(Emitter &op, mlir::Value x, mlir::Value segments, int64_t count, const char *reduction);
/// Rows of equal numbers combined. The numbers rise, and the last one says how many rows the result has.
mlir::Value segmentSum(Emitter &op, mlir::Value x, mlir::Value segments);
/// How many of the boundaries, which rise, every element has reached, as i32.
mlir::Value bucketize(Emitter &op, mlir::Value x, const std::vector<float> &boundaries);
/// The diagonal of a matrix for every last axis of x; and x with its diagonals replaced.
mlir::Value matrixDiag(Emitter &op, mlir::Value x);
mlir::Value matrixSetDiag(Emitter &op, mlir::Value x, mlir::Value diagonal);

// ---- Arithmetic (Arithmetic.cpp) ----------------------------------------------------------------------------------

/// The remainder with the sign of the divisor, and the quotient rounded down.
mlir::Value floorMod(Emitter &op, mlir::Value a, mlir::Value b);
mlir::Value floorDiv(Emitter &op, mlir::Value a, mlir::Value b);
/// The angle of (x, y).
mlir::Value atan2(Emitter &op, mlir::Value y, mlir::Value x);
/// Rounded to the nearest whole number, halves away from zero.
mlir::Value roundAway(Node &node, mlir::Value x);
/// Rounds to the steps of a quantisation of `bits` bits, in floats. The ends move so that zero is a step.
mlir::Value fakeQuant(Emitter &op, mlir::Value x, float least, float most, int64_t bits, bool narrow);
/// The extents that two shapes broadcast to.
mlir::Value broadcastShape(Emitter &op, mlir::Value a, mlir::Value b);
/// Einsum as transposes, reductions, products and matrix products (Einsum.cpp).
mlir::Value einsum(Node &node, const Values &operands, const std::string &equation);

// ---- Boxes (Boxes.cpp) --------------------------------------------------------------------------------------------

/// The first `most` boxes that are selected, for every class.
struct SelectedBoxes {
  mlir::Value boxes; // i64 classes x most; 0 where there are fewer
  mlir::Value valid; // bool classes x most
  mlir::Value count; // i64 classes
};
/// boxes: boxes x 4, scores: classes x boxes; thresholds and the limit are scalars.
SelectedBoxes selectBoxes(Emitter &op, mlir::Value boxes, mlir::Value scores, mlir::Value limit, mlir::Value overlap,
                          mlir::Value threshold, int64_t most);
/// `value` where `valid`, else 0.
mlir::Value masked(Emitter &op, mlir::Value valid, mlir::Value value);

// ---- Control (Control.cpp) ----------------------------------------------------------------------------------------

/// The nodes of a subgraph in the place of the node.
void importInline(StructureNode &node, const GraphRecord &graph, const std::vector<Entry> &inputs);
/// A condition as a scalar. Throws Error unless it is bool.
mlir::Value conditionOf(StructureNode &node, mlir::Value value);
/// A branch, or nn.if. `inputs` are those of both branches.
void importBranches(StructureNode &node, const Entry &condition, const GraphRecord &then, const GraphRecord &otherwise,
                    const std::vector<Entry> &inputs);
/// The value before a loop of a list that its iterations fill: `reserve` says what is known before, `made` what an
/// iteration makes of it; `carried` are all values before the loop.
using ReserveFiller = std::function<mlir::Value(mlir::Value reserve, const TensorInfo &made, const Values &carried)>;
/// Carried values in, carried values out, while `test` gives true: nn.loop. Both subgraphs take `inputs`; those that an
/// iteration hands on are read, not carried. With `fill`, a carried i64 scalar of which the first iteration
/// makes a tensor is replaced. Nothing if a node could not be imported.
std::optional<Values> importWhileLoop(StructureNode &node, const GraphRecord &test, const GraphRecord &body,
                                      const std::vector<Entry> &inputs, const ReserveFiller &fill = {});

} // namespace lathe::source
