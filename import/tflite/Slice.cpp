// SLICE and STRIDED_SLICE.
#include "import/tflite/Tflite.h"

#include <limits>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using Ints = std::vector<int64_t>;
constexpr int64_t smallest = std::numeric_limits<int64_t>::min(), largest = std::numeric_limits<int64_t>::max();

/// A size of -1 reaches to the end.
void importSlice(Operator &op) {
  op.node.expectInputs(3, 3);
  auto begins = op.node.staticInts(op.in(1)), sizes = op.node.staticInts(op.in(2));
  auto rank = static_cast<size_t>(op.rank(op.in(0)));
  if (begins && sizes) {
    require(begins->size() == rank && sizes->size() == rank, "has {} begins and {} sizes, expected {}", begins->size(),
            sizes->size(), rank);
    Ints ends;
    for (size_t i = 0; i < rank; ++i) {
      require((*begins)[i] >= 0 && (*sizes)[i] >= -1, "begins at {} with size {}", (*begins)[i], (*sizes)[i]);
      ends.push_back((*sizes)[i] < 0 ? largest : (*begins)[i] + (*sizes)[i]);
    }
    op.set(op.emit("slice", {op.in(0)}, {{"starts", *begins}, {"ends", ends}}));
    return;
  }
  mlir::Value begin = op.wide(1), size = op.wide(2), end = op.emit("add", {begin, size});
  mlir::Value toEnd = op.emit("less", {size, op.node.constantInts({}, {0})});
  end = op.emit("where", {toEnd, op.node.constantInts({}, {largest}), end});
  mlir::Value y = op.emit("slice", {op.in(0), begin, end, {}, {}});
  if (!sizes)
    return op.set(y);
  Dims dims = op.dims(y); // known sizes are extents, wherever the slice begins
  bool known = true;
  for (size_t i = 0; i < rank && i < sizes->size(); ++i)
    if ((*sizes)[i] >= 0)
      dims[i] = Dim((*sizes)[i]);
    else
      known &= dims[i].isConstant();
  op.set(known ? op.emit("reshape", {y}, {{"shape", constants(dims)}, {"allow_zero", true}}) : y);
}

/// One axis of the operand in a strided slice.
struct Part {
  size_t position; // in the begins, ends and strides
  int64_t axis;
  bool begins, ends; // false: from the first element, to the last one
  bool shrinks;
};

/// The masks: which axes are cut, and the axes of extent 1 of the result that the operand does not have.
struct Strided {
  std::vector<Part> parts;
  std::vector<bool> isNew; // of the result's axes before axes are dropped
};

Strided readMasks(Operator &op, size_t count) {
  const auto &options = op.options<file::StridedSliceOptions>(BuiltinOptions::StridedSlice);
  int64_t rank = op.rank(op.in(0)), axis = 0, used = 0;
  require(count <= 32, "has {} begins, expected at most 32", count);
  auto bit = [](int32_t mask, size_t i) { return (static_cast<uint32_t>(mask) >> i & 1) != 0; };
  for (size_t i = 0; i < count; ++i)
    used += !bit(options.ellipsis_mask(), i) && !bit(options.new_axis_mask(), i);
  Strided result;
  bool seen = false;
  for (size_t i = 0; i < count; ++i) {
    if (bit(options.ellipsis_mask(), i)) {
      require(!seen, "has two ellipses");
      seen = true;
      for (int64_t left = rank - used; left > 0; --left, ++axis)
        result.isNew.push_back(false);
    } else if (bit(options.new_axis_mask(), i)) {
      result.isNew.push_back(true);
    } else {
      require(axis < rank, "cuts more than the {} axes of the operand", rank);
      bool shrinks = bit(options.shrink_axis_mask(), i);
      result.parts.push_back(
          {i, axis++, shrinks || !bit(options.begin_mask(), i), !bit(options.end_mask(), i), shrinks});
      result.isNew.push_back(false);
    }
  }
  for (; axis < rank; ++axis)
    result.isNew.push_back(false);
  return result;
}

/// Cuts the axes at positions that are known.
mlir::Value cut(Operator &op, mlir::Value x, const Strided &strided, const Ints &begins, Ints ends,
                const Ints &strides) {
  bool offset = op.options<file::StridedSliceOptions>(BuiltinOptions::StridedSlice).offset();
  Ints starts, stops, axes, steps;
  for (const Part &part : strided.parts) {
    int64_t begin = begins[part.position], step = strides[part.position];
    int64_t end = ends[part.position] + (offset ? begin : 0);
    require(step != 0, "has a stride of 0");
    if (part.shrinks) {
      step = 1;
      end = begin == -1 ? largest : begin + 1;
      const Dim &extent = op.dims(x)[static_cast<size_t>(part.axis)];
      require(!extent.isConstant() || (begin >= -extent.constant() && begin < extent.constant()),
              "takes index {} of axis {} with extent {}", begin, part.axis, extent.str());
    } else {
      begin = part.begins ? begin : step > 0 ? 0 : largest;
      end = part.ends ? end : step > 0 ? largest : smallest;
    }
    if (begin == 0 && end == largest && step == 1)
      continue;
    starts.push_back(begin);
    stops.push_back(end);
    axes.push_back(part.axis);
    steps.push_back(step);
  }
  return axes.empty() ? x
                      : op.emit("slice", {x}, {{"starts", starts}, {"ends", stops}, {"axes", axes}, {"steps", steps}});
}

/// Cuts the axes where the run says; one index of an axis is gathered, so that its extent is known.
mlir::Value cutAtRunTime(Operator &op, mlir::Value x, const Strided &strided, const Ints &strides) {
  if (op.options<file::StridedSliceOptions>(BuiltinOptions::StridedSlice).offset())
    op.unsupported("ends are offsets from begins that are computed at run time");
  auto element = [&](size_t operand, size_t index) { // a vector of one element
    auto at = static_cast<int64_t>(index);
    return op.emit("slice", {op.wide(operand)}, {{"starts", Ints{at}}, {"ends", Ints{at + 1}}});
  };
  Values starts, stops;
  Ints axes, steps;
  for (const Part &part : strided.parts) {
    if (part.shrinks) {
      x = op.emit("gather", {x, element(1, part.position)}, {{"axis", part.axis}});
      continue;
    }
    int64_t step = strides[part.position];
    require(step != 0, "has a stride of 0");
    if (!part.begins && !part.ends && step == 1)
      continue;
    starts.push_back(part.begins ? element(1, part.position) : op.node.constantInts({1}, {step > 0 ? 0 : largest}));
    stops.push_back(part.ends ? element(2, part.position) : op.node.constantInts({1}, {step > 0 ? largest : smallest}));
    axes.push_back(part.axis);
    steps.push_back(step);
  }
  if (axes.empty())
    return x;
  auto rows = static_cast<int64_t>(axes.size());
  return op.emit("slice", {x, op.emit("concat", starts, {{"axis", 0}}), op.emit("concat", stops, {{"axis", 0}}),
                           op.node.constantInts({rows}, axes), op.node.constantInts({rows}, steps)});
}

void importStridedSlice(Operator &op) {
  op.node.expectInputs(4, 4);
  mlir::Value x = op.in(0);
  auto begins = op.node.staticInts(op.in(1)), ends = op.node.staticInts(op.in(2));
  Ints strides = op.node.requireInts(3, "the strides");
  require(!begins || !ends || (begins->size() == strides.size() && ends->size() == strides.size()),
          "has {} strides, but another number of begins or ends", strides.size());
  Strided strided = readMasks(op, strides.size());
  mlir::Value y = begins && ends ? cut(op, x, strided, *begins, *ends, strides) : cutAtRunTime(op, x, strided, strides);
  const Dims dims = op.dims(y);
  Dims result;
  size_t axis = 0;
  for (bool isNew : strided.isNew) {
    if (isNew) {
      result.push_back(Dim(1));
      continue;
    }
    bool drops = false;
    for (const Part &part : strided.parts)
      drops |= part.shrinks && part.axis == static_cast<int64_t>(axis);
    if (!drops)
      result.push_back(dims[axis]);
    ++axis;
  }
  op.set(op.node.reshape(y, result));
}

} // namespace

void addSliceImporters(Importers &table) {
  table[SLICE] = {importSlice, /*moves=*/true};
  table[STRIDED_SLICE] = {importStridedSlice, /*moves=*/true};
}

} // namespace lathe::tflite
