// A node with helpers for importers, and parts of importers that formats with the channels last share. Functions here
// take operands and options as values; the importers of a format read them from its attributes.
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
  /// The element of operand 0 that stands for zero.
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
/// Pads of a transposed convolution with result extents `out`: those of the (SAME or VALID) convolution whose gradient
/// it computes. If `explicitPads` is not empty, it is used instead.
struct TransposedPads {
  std::vector<int64_t> pads, outputPadding;
};
TransposedPads transposedPads(const Ints &in, const Ints &out, const Window &window, bool same,
                              const Ints &explicitPads = {});

// ---- Slices (Slice.cpp) -------------------------------------------------------------------------------------------

/// A size of -1 reaches to the end.
mlir::Value sliceBySize(Emitter &op, mlir::Value x, mlir::Value begin, mlir::Value size);
/// Options are bit masks: bit i belongs to element i of `begin`.
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
/// Splits operand 0 into pieces of the sizes in operand 1, one of which may be -1 (the rest). Operand 2 is the axis.
void splitBySizes(Emitter &op);
/// Rank x 2 pads in the order of nn (all begins, then all ends); nothing if the pads are unknown.
std::optional<Ints> staticPads(Emitter &op, mlir::Value pairs);
/// Pads x by the rank x 2 operand `pairs`. mode: "constant" (with `value`, or with 0), "reflect", "symmetric".
mlir::Value padByPairs(Emitter &op, mlir::Value x, mlir::Value pairs, const char *mode, mlir::Value value,
                       double constant = 0);
/// Removes the given axes of extent 1; all axes of extent 1 if none is given.
mlir::Value squeeze(Emitter &op, mlir::Value x, const Ints &axes);
/// Inserts an axis of extent 1 before the axis whose number is in `axis`.
mlir::Value expandDims(Emitter &op, mlir::Value x, mlir::Value axis);
mlir::Value tileBy(Emitter &op, mlir::Value x, mlir::Value repeats);
/// x broadcast to the extents that `shape` holds.
mlir::Value broadcastTo(Emitter &op, mlir::Value x, mlir::Value shape);
/// Splits axes 1 to M into blocks and moves the positions inside a block in front of the batch.
mlir::Value spaceToBatch(Emitter &op, mlir::Value x, const Ints &block, const Ints &pairs, double padValue);
mlir::Value batchToSpace(Emitter &op, mlir::Value x, const Ints &block, const Ints &crops);
mlir::Value reverse(Emitter &op, mlir::Value x, const Ints &axes);
/// The first `lengths` elements along the axis seq_dim in reverse order, for each index of the axis batch_dim.
mlir::Value reverseSequence(Emitter &op, mlir::Value x, mlir::Value lengths);

// ---- Indexed (Indexed.cpp) ----------------------------------------------------------------------------------------

/// Product of `dims`, the extents of a constant that an importer creates, which the size of the file does not bound.
/// Throws Error, beginning with `what`, for more than 2^24 elements.
int64_t madeElements(const Ints &dims, const std::string &what);

/// With `batch`, operand and indices share the first axes. Indices are i64.
mlir::Value gatherAlong(Emitter &op, mlir::Value x, mlir::Value indices, int64_t axis, int64_t batch);
/// A tensor of one value; `shape` is i64.
mlir::Value filled(Emitter &op, mlir::Value shape, ElementType type, double value);
/// Updates at equal positions add up.
mlir::Value scatterInto(Emitter &op, mlir::Value indices, mlir::Value updates, mlir::Value shape);
/// Positions of the stored elements, extents, values, and the value of all other elements.
mlir::Value sparseToDense(Emitter &op, mlir::Value indices, mlir::Value shape, mlir::Value values, mlir::Value rest);
/// A constant tensor of 0, 1, ... along `axis`, with extent 1 on the others.
mlir::Value ramp(Emitter &op, int64_t extent, size_t axis, size_t rank);
mlir::Value oneHot(Emitter &op, mlir::Value indices, mlir::Value depth, mlir::Value on, mlir::Value off);
/// k is a scalar. Results: values and i64 positions.
mlir::Operation *topK(Emitter &op, mlir::Value x, mlir::Value k);
/// Combines the rows of x that belong to the same segment; a row with a negative segment is dropped. `reduction` is
/// "add", "mul", "max" or "min".
mlir::Value unsortedSegment(Emitter &op, mlir::Value x, mlir::Value segments, int64_t count, const char *reduction);
/// Adds rows with equal segment numbers. The numbers rise, and the last one gives the number of rows of the result.
mlir::Value segmentSum(Emitter &op, mlir::Value x, mlir::Value segments);
/// For every element the number of boundaries (in rising order) that it has reached, as i32.
mlir::Value bucketize(Emitter &op, mlir::Value x, const std::vector<float> &boundaries);
/// A diagonal matrix from each last axis of x; and x with its diagonals replaced.
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
/// Rounds to the steps of a quantisation of `bits` bits, in floats. The range is moved so that zero is a step.
mlir::Value fakeQuant(Emitter &op, mlir::Value x, float least, float most, int64_t bits, bool narrow);
/// The extents that two shapes broadcast to.
mlir::Value broadcastShape(Emitter &op, mlir::Value a, mlir::Value b);
/// Einsum as transposes, reductions, products and matrix products (Einsum.cpp).
mlir::Value einsum(Node &node, const Values &operands, const std::string &equation);

// ---- Boxes (Boxes.cpp) --------------------------------------------------------------------------------------------

/// The first `most` selected boxes of every class.
struct SelectedBoxes {
  mlir::Value boxes; // i64 classes x most; 0 for missing boxes
  mlir::Value valid; // bool classes x most
  mlir::Value count; // i64 classes
};
/// boxes: boxes x 4, scores: classes x boxes; thresholds and the limit are scalars.
SelectedBoxes selectBoxes(Emitter &op, mlir::Value boxes, mlir::Value scores, mlir::Value limit, mlir::Value overlap,
                          mlir::Value threshold, int64_t most);
/// `value` where `valid`, else 0.
mlir::Value masked(Emitter &op, mlir::Value valid, mlir::Value value);

// ---- Control (Control.cpp) ----------------------------------------------------------------------------------------

/// Imports the nodes of a subgraph in place of the node.
void importInline(StructureNode &node, const GraphRecord &graph, const std::vector<Entry> &inputs);
/// A condition as a scalar. Throws Error unless it is bool.
mlir::Value conditionOf(StructureNode &node, mlir::Value value);
/// Imports the branch that is taken, or emits nn.if. `inputs` are the inputs of both branches.
void importBranches(StructureNode &node, const Entry &condition, const GraphRecord &then, const GraphRecord &otherwise,
                    const std::vector<Entry> &inputs);
/// Returns the value before the loop of a list that the iterations fill: `reserve` describes what is known before the
/// loop, `made` the list after an iteration; `carried` are all values before the loop.
using ReserveFiller = std::function<mlir::Value(mlir::Value reserve, const TensorInfo &made, const Values &carried)>;
/// Emits nn.loop, which runs while `test` gives true. Both subgraphs take `inputs`; inputs that an iteration passes on
/// unchanged are read, not carried. With `fill`, a carried i64 scalar that the first iteration turns into a tensor is
/// replaced. Returns nothing if a node could not be imported.
std::optional<Values> importWhileLoop(StructureNode &node, const GraphRecord &test, const GraphRecord &body,
                                      const std::vector<Entry> &inputs, const ReserveFiller &fill = {});

} // namespace lathe::source
