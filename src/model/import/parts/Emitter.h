// A source node with helpers for its import, and parts of importers that formats with the channels last share. The
// functions here take operands and options as values; the importers of a format read them from the node's attributes.
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
  /// All inputs of the node.
  Values all() const;
  void set(mlir::Value value) { node.set(0, value); }
  mlir::Value emit(const char *mnemonic, const Values &operands, const Fields &fields = {}) {
    return node.emit(mnemonic, operands, fields);
  }
  const Dims &dims(mlir::Value value) const { return node.info(value).dims; }
  int64_t rank(mlir::Value value) const { return node.rank(value); }
  ElementType typeOf(mlir::Value value) const { return node.info(value).type; }
  /// Emits a cast of integers to i64, the type of indices and extents in nn.
  mlir::Value wide(mlir::Value value) { return node.cast(value, ElementType::i64); }
  mlir::Value wide(size_t index) { return wide(in(index)); }
  mlir::Value number(ElementType type, double value) { return node.constantScalar(type, value); }
  [[noreturn]] void unsupported(std::string reason) const { node.unsupported(std::move(reason)); }

  // ---- Facts that formats state in different places.
  /// A number (for a boolean 0 or 1) that is an attribute of the node, or a field of the options.
  virtual int64_t option(const char *name, int64_t fallback) { return node.intAttr(name, fallback); }
  /// Type of the node's result `index`: a type attribute, or the type of the tensor that the file describes.
  virtual ElementType resultType(const char *attribute, ElementType fallback, size_t index = 0);
  /// The element of operand 0 that stands for the real number 0: the zero point of a quantised tensor.
  virtual double zero() const { return 0; }
};

/// How many operands a source operator may have; the first `least` of them must be present.
struct OperandCount {
  size_t least = 0, most = std::numeric_limits<size_t>::max();
  constexpr OperandCount() = default;
  constexpr OperandCount(size_t count) : least(count), most(count) {}
  constexpr OperandCount(size_t least, size_t most) : least(least), most(most) {}
};

/// Reads operand `index` of the node, a constant that names one axis of a tensor of rank `rank`.
int64_t axisOperand(Emitter &op, size_t index, int64_t rank);
/// Returns an extent that an importer must know. Throws Unsupported, which says `what`, if it is not known.
int64_t knownExtent(Emitter &op, const Dim &extent, const char *what);

// ---- Layout (Layout.cpp) ------------------------------------------------------------------------------------------

/// channelsFirst moves channels from the end (NHWC, or NDHWC at rank 5) to the front (NCHW); channelsLast moves them
/// back.
mlir::Value channelsFirst(Node &node, mlir::Value x);
mlir::Value channelsLast(Node &node, mlir::Value x);
mlir::Value transpose(Node &node, mlir::Value x, std::vector<int64_t> perm);

/// The window of a convolution or a pool along the spatial axes, height first.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  /// The pads at the beginning of every axis, then those at the end of every axis; the third group of ops/WindowPads.h
  /// may follow.
  std::vector<int64_t> pads;
  Fields fields() const { return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}}; }
};
/// Throws Error unless the kernel, strides and dilations of the window are positive.
void checkWindow(const Window &window);
/// Sets the pads so that the window has ceil(extent / stride) positions along each axis. Of an odd number of pads, the
/// end gets one more. `extents` are the extents of the spatial axes.
void padSame(const Dims &extents, Window &window);
/// Returns `window` with pads: SAME by TensorFlow's rule, or none. `dims` are the extents of the operand, `first` is
/// its first spatial axis. Throws Error if the numbers are no valid window.
Window padded(const Dims &dims, size_t first, bool same, Window window);
/// Pads of a transposed convolution with result extents `out`. The operator is the gradient of a SAME or VALID
/// convolution and has the pads of that convolution. If `explicitPads` is not empty, it replaces these pads.
struct TransposedPads {
  std::vector<int64_t> pads, outputPadding;
};
TransposedPads transposedPads(const Ints &in, const Ints &out, const Window &window, bool same,
                              const Ints &explicitPads = {});

// ---- Slices (Slice.cpp) -------------------------------------------------------------------------------------------

/// Emits the slice of x that begins at `begin`, with `size` elements along each axis. A size of -1 reaches to the end.
mlir::Value sliceBySize(Emitter &op, mlir::Value x, mlir::Value begin, mlir::Value size);
/// Emits the slice of x from `begin` to `end` with the given strides. The options of the node are bit masks: bit i
/// belongs to element i of `begin`.
mlir::Value stridedSlice(Emitter &op, mlir::Value x, mlir::Value begin, mlir::Value end, mlir::Value strides);
/// Emits the slice of the elements `begin` to `end` - 1 of x along one axis.
mlir::Value cut(Emitter &op, mlir::Value x, int64_t axis, int64_t begin, int64_t end);

// ---- Movement (Movement.cpp) --------------------------------------------------------------------------------------

/// Emits a stack of all operands along a new axis, and sets it as the result.
void pack(Emitter &op);
/// Splits x along `axis` into pieces of the given sizes, which become the results of the node.
void setPieces(Emitter &op, mlir::Value x, int64_t axis, const Ints &sizes);
/// Cuts operand 0 into slices of extent 1 along an axis. The slices, without that axis, become the results of the node.
void unpack(Emitter &op);
/// Splits x along `axis` into `count` equal pieces, which become the results of the node.
void splitEvenly(Emitter &op, mlir::Value x, int64_t axis, int64_t count);
/// Splits operand 0 into pieces of the sizes in operand 1, one of which may be -1 (the rest). Operand 2 is the axis.
void splitBySizes(Emitter &op);
/// Pads given as a rank x 2 operand, in the order of nn (all beginnings, then all ends); nothing if they are not known
/// at import.
std::optional<Ints> staticPads(Emitter &op, mlir::Value pairs);
/// Emits x padded by the rank x 2 operand `pairs`. `mode`: "constant" (with `value`; without it with `constant`),
/// "reflect" or "symmetric".
mlir::Value padByPairs(Emitter &op, mlir::Value x, mlir::Value pairs, const char *mode, mlir::Value value,
                       double constant = 0);
/// Emits x without the given axes of extent 1; without all axes of extent 1 if none is given.
mlir::Value squeeze(Emitter &op, mlir::Value x, const Ints &axes);
/// Emits x with an additional axis of extent 1 before the axis whose number is in `axis`.
mlir::Value expandDims(Emitter &op, mlir::Value x, mlir::Value axis);
mlir::Value tileBy(Emitter &op, mlir::Value x, mlir::Value repeats);
/// Emits x broadcast to the extents that the operand `shape` holds.
mlir::Value broadcastTo(Emitter &op, mlir::Value x, mlir::Value shape);
/// Emits x with axes 1 to M split into blocks, and with the positions inside a block moved in front of the batch axis.
mlir::Value spaceToBatch(Emitter &op, mlir::Value x, const Ints &block, const Ints &pairs, double padValue);
mlir::Value batchToSpace(Emitter &op, mlir::Value x, const Ints &block, const Ints &crops);
mlir::Value reverse(Emitter &op, mlir::Value x, const Ints &axes);
/// Emits x with its first `lengths[i]` elements along the axis seq_dim reversed, for each index i of the axis
/// batch_dim.
mlir::Value reverseSequence(Emitter &op, mlir::Value x, mlir::Value lengths);

// ---- Indexed (Indexed.cpp) ----------------------------------------------------------------------------------------

/// Returns the number of elements of a constant that an importer creates: the product of `dims`. The size of the file
/// does not bound this number, so the function throws Error, beginning with `what`, for more than 2^24 elements.
int64_t madeElements(const Ints &dims, const std::string &what);

/// Emits a gather of elements of x along `axis`. The first `batch` axes are common to x and `indices`. Indices are
/// i64.
mlir::Value gatherAlong(Emitter &op, mlir::Value x, mlir::Value indices, int64_t axis, int64_t batch);
/// Emits a tensor whose elements all are `value`; its extents are the elements of `shape`, which is i64.
mlir::Value filled(Emitter &op, mlir::Value shape, ElementType type, double value);
/// Emits a tensor of the extents `shape` with `updates` at the positions `indices` and zero elsewhere. Updates at
/// equal positions add up.
mlir::Value scatterInto(Emitter &op, mlir::Value indices, mlir::Value updates, mlir::Value shape);
/// Emits the dense form of a sparse tensor. `indices`: positions of the stored elements; `shape`: extents; `values`:
/// stored elements; `rest`: the value of all other elements.
mlir::Value sparseToDense(Emitter &op, mlir::Value indices, mlir::Value shape, mlir::Value values, mlir::Value rest);
/// Emits a constant of rank `rank` with the elements 0, 1, ... along `axis`; the other axes have extent 1.
mlir::Value ramp(Emitter &op, int64_t extent, size_t axis, size_t rank);
mlir::Value oneHot(Emitter &op, mlir::Value indices, mlir::Value depth, mlir::Value on, mlir::Value off);
/// Emits the k greatest elements of x along its last axis; k is a scalar. Results: values and i64 positions.
mlir::Operation *topK(Emitter &op, mlir::Value x, mlir::Value k);
/// Emits a combination of the rows of x that belong to the same one of `count` segments; a row with a negative segment
/// is dropped. `reduction` is "add", "mul", "max" or "min".
mlir::Value unsortedSegment(Emitter &op, mlir::Value x, mlir::Value segments, int64_t count, const char *reduction);
/// Emits the sums of rows of x with equal segment numbers. Segment numbers do not fall from row to row, and the last
/// one gives the number of rows of the result.
mlir::Value segmentSum(Emitter &op, mlir::Value x, mlir::Value segments);
/// Emits, for every element of x, the number of boundaries that it has reached, as i32. `boundaries` rise.
mlir::Value bucketize(Emitter &op, mlir::Value x, const std::vector<float> &boundaries);
/// matrixDiag: emits diagonal matrices, n x n, of x, whose last axis has extent n. matrixSetDiag: emits x with the
/// diagonals of its matrices replaced.
mlir::Value matrixDiag(Emitter &op, mlir::Value x);
mlir::Value matrixSetDiag(Emitter &op, mlir::Value x, mlir::Value diagonal);

// ---- Arithmetic (Arithmetic.cpp) ----------------------------------------------------------------------------------

/// Emit the remainder with the sign of the divisor (floorMod), and the quotient rounded down (floorDiv).
mlir::Value floorMod(Emitter &op, mlir::Value a, mlir::Value b);
mlir::Value floorDiv(Emitter &op, mlir::Value a, mlir::Value b);
/// Emits the angle of the point (x, y), in radians.
mlir::Value atan2(Emitter &op, mlir::Value y, mlir::Value x);
/// Emits x rounded to the nearest whole number, halves away from zero.
mlir::Value roundAway(Node &node, mlir::Value x);
/// Emits x rounded to the steps of a quantisation of `bits` bits, in floats. The range is moved so that zero is a
/// step.
mlir::Value fakeQuant(Emitter &op, mlir::Value x, float least, float most, int64_t bits, bool narrow);
/// Emits the extents to which two tensors broadcast, whose extents are `a` and `b`.
mlir::Value broadcastShape(Emitter &op, mlir::Value a, mlir::Value b);
/// Emits einsum as transposes, reductions, products and matrix products (Einsum.cpp).
mlir::Value einsum(Node &node, const Values &operands, const std::string &equation);

// ---- Boxes (Boxes.cpp) --------------------------------------------------------------------------------------------

/// The boxes that non-maximum suppression selects: for every class, the first `most` of them.
struct SelectedBoxes {
  mlir::Value boxes; // i64, classes x most: indices of boxes; 0 for missing boxes
  mlir::Value valid; // bool, classes x most: false for missing boxes
  mlir::Value count; // i64, one for each class: number of selected boxes
};
/// Emits the selection of boxes by non-maximum suppression. `boxes` is boxes x 4, `scores` is classes x boxes;
/// `limit`, `overlap` and `threshold` are scalars.
SelectedBoxes selectBoxes(Emitter &op, mlir::Value boxes, mlir::Value scores, mlir::Value limit, mlir::Value overlap,
                          mlir::Value threshold, int64_t most);
/// Emits `value` where `valid` is true, 0 elsewhere.
mlir::Value masked(Emitter &op, mlir::Value valid, mlir::Value value);

// ---- Control (Control.cpp) ----------------------------------------------------------------------------------------

/// Imports the nodes of a subgraph in place of `node`.
void importInline(StructureNode &node, const GraphRecord &graph, const std::vector<Entry> &inputs);
/// Emits the condition of a branch or loop as a scalar. Throws Error unless it is bool.
mlir::Value conditionOf(StructureNode &node, mlir::Value value);
/// Imports the branch that is taken if `condition` is known; otherwise emits nn.if. `inputs` are the inputs of both
/// branches.
void importBranches(StructureNode &node, const Entry &condition, const GraphRecord &then, const GraphRecord &otherwise,
                    const std::vector<Entry> &inputs);
/// Some lists get their elements from the iterations of a loop. The function returns the value of such a list before
/// the loop: `reserve` describes what is known then, `made` is the list after an iteration, and `carried` are all
/// values before the loop.
using ReserveFiller = std::function<mlir::Value(mlir::Value reserve, const TensorInfo &made, const Values &carried)>;
/// Emits nn.loop, which runs while `test` gives true. Both subgraphs take `inputs`; inputs that an iteration passes on
/// unchanged are read, not carried. With `fill`, a carried i64 scalar that the first iteration turns into a tensor is
/// replaced. Returns nothing if a node could not be imported.
std::optional<Values> importWhileLoop(StructureNode &node, const GraphRecord &test, const GraphRecord &body,
                                      const std::vector<Entry> &inputs, const ReserveFiller &fill = {});

} // namespace lathe::source
