// Slices at positions that are known, or that are computed at run time.
#include "import/parts/Emitter.h"

#include <limits>

namespace lathe::source {
namespace {

constexpr int64_t smallest = std::numeric_limits<int64_t>::min(), largest = std::numeric_limits<int64_t>::max();

struct SliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, newAxis = 0, shrink = 0;
  bool offset = false; // ends are relative to begins
};

/// One axis of the operand in a strided slice.
struct Part {
  size_t position; // in the begins, ends and strides
  int64_t axis;
  bool begins, ends; // false: from the first element, to the last one
  bool shrinks;
};

/// The masks: which axes are cut, and which axes of extent 1 the result has in addition.
struct Strided {
  std::vector<Part> parts;
  std::vector<bool> isNew; // for the result's axes, before axes are dropped
};

Strided readMasks(int64_t rank, size_t count, const SliceMasks &masks) {
  int64_t axis = 0, used = 0;
  require(count <= 32, "has {} begins, expected at most 32", count);
  auto bit = [](int64_t mask, size_t i) { return (static_cast<uint64_t>(mask) >> i & 1) != 0; };
  for (size_t i = 0; i < count; ++i)
    used += !bit(masks.ellipsis, i) && !bit(masks.newAxis, i);
  Strided result;
  bool seen = false;
  for (size_t i = 0; i < count; ++i) {
    if (bit(masks.ellipsis, i)) {
      require(!seen, "has two ellipses");
      seen = true;
      for (int64_t left = rank - used; left > 0; --left, ++axis)
        result.isNew.push_back(false);
    } else if (bit(masks.newAxis, i)) {
      result.isNew.push_back(true);
    } else {
      require(axis < rank, "cuts more than the {} axes of the operand", rank);
      bool shrinks = bit(masks.shrink, i);
      result.parts.push_back({i, axis++, shrinks || !bit(masks.begin, i), !bit(masks.end, i), shrinks});
      result.isNew.push_back(false);
    }
  }
  for (; axis < rank; ++axis)
    result.isNew.push_back(false);
  return result;
}

/// Cuts the axes at known positions.
mlir::Value cutKnown(Emitter &op, mlir::Value x, const Strided &strided, const Ints &begins, const Ints &ends,
                     const Ints &strides, bool offset) {
  Ints starts, stops, axes, steps;
  for (const Part &part : strided.parts) {
    int64_t begin = begins[part.position], step = strides[part.position];
    int64_t end = ends[part.position] + (offset ? begin : 0);
    require(step != 0, "has a stride of 0");
    if (part.shrinks) {
      step = 1;
      end = begin == -1 || begin == largest ? largest : begin + 1;
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

/// Cuts the axes at positions computed at run time. A single index is gathered, so that the extent is known.
mlir::Value cutAtRunTime(Emitter &op, mlir::Value x, const Strided &strided, mlir::Value begin, mlir::Value end,
                         const Ints &strides) {
  auto element = [&](mlir::Value operand, size_t index) { // a vector of one element
    return cut(op, op.wide(operand), 0, static_cast<int64_t>(index), static_cast<int64_t>(index) + 1);
  };
  Values starts, stops;
  Ints axes, steps;
  for (const Part &part : strided.parts) {
    if (part.shrinks) {
      x = op.emit("gather", {x, element(begin, part.position)}, {{"axis", part.axis}});
      continue;
    }
    int64_t step = strides[part.position];
    require(step != 0, "has a stride of 0");
    if (!part.begins && !part.ends && step == 1)
      continue;
    starts.push_back(part.begins ? element(begin, part.position) : op.node.constantInts({1}, {step > 0 ? 0 : largest}));
    stops.push_back(part.ends ? element(end, part.position)
                              : op.node.constantInts({1}, {step > 0 ? largest : smallest}));
    axes.push_back(part.axis);
    steps.push_back(step);
  }
  if (axes.empty())
    return x;
  auto rows = static_cast<int64_t>(axes.size());
  return op.emit("slice", {x, op.emit("concat", starts, {{"axis", 0}}), op.emit("concat", stops, {{"axis", 0}}),
                           op.node.constantInts({rows}, axes), op.node.constantInts({rows}, steps)});
}

} // namespace

mlir::Value sliceBySize(Emitter &op, mlir::Value x, mlir::Value beginOperand, mlir::Value sizeOperand) {
  auto begins = op.node.staticInts(beginOperand), sizes = op.node.staticInts(sizeOperand);
  auto rank = static_cast<size_t>(op.rank(x));
  if (begins && sizes) {
    require(begins->size() == rank && sizes->size() == rank, "has {} begins and {} sizes, expected {}", begins->size(),
            sizes->size(), rank);
    Ints ends;
    for (size_t i = 0; i < rank; ++i) {
      require((*begins)[i] >= 0 && (*sizes)[i] >= -1, "begins at {} with size {}", (*begins)[i], (*sizes)[i]);
      ends.push_back((*sizes)[i] < 0 || (*sizes)[i] > largest - (*begins)[i] ? largest : (*begins)[i] + (*sizes)[i]);
    }
    return op.emit("slice", {x}, {{"starts", *begins}, {"ends", ends}});
  }
  mlir::Value begin = op.wide(beginOperand), size = op.wide(sizeOperand), end = op.emit("add", {begin, size});
  mlir::Value toEnd = op.emit("less", {size, op.node.constantInts({}, {0})});
  end = op.emit("where", {toEnd, op.node.constantInts({}, {largest}), end});
  mlir::Value y = op.emit("slice", {x, begin, end, {}, {}});
  if (!sizes)
    return y;
  Dims dims = op.dims(y); // Known sizes are the extents, wherever the slice begins.
  bool known = true;
  for (size_t i = 0; i < rank && i < sizes->size(); ++i)
    if ((*sizes)[i] >= 0)
      dims[i] = Dim((*sizes)[i]);
    else
      known &= dims[i].isConstant();
  return known ? op.emit("reshape", {y}, {{"shape", constants(dims)}, {"allow_zero", true}}) : y;
}

mlir::Value cut(Emitter &op, mlir::Value x, int64_t axis, int64_t begin, int64_t end) {
  return op.emit("slice", {x}, {{"starts", Ints{begin}}, {"ends", Ints{end}}, {"axes", Ints{axis}}});
}

mlir::Value stridedSlice(Emitter &op, mlir::Value x, mlir::Value begin, mlir::Value end, mlir::Value) {
  SliceMasks masks{op.option("begin_mask", 0),    op.option("end_mask", 0),         op.option("ellipsis_mask", 0),
                   op.option("new_axis_mask", 0), op.option("shrink_axis_mask", 0), op.option("offset", 0) != 0};
  Ints strides = op.node.requireInts(3, "the strides");
  auto begins = op.node.staticInts(begin), ends = op.node.staticInts(end);
  for (const auto &known : {begins, ends})
    require(!known || known->size() == strides.size(), "has {} strides, but another number of begins or ends",
            strides.size());
  if (masks.offset && !(begins && ends))
    op.unsupported("ends are offsets from begins that are computed at run time");
  Strided strided = readMasks(op.rank(x), strides.size(), masks);
  mlir::Value y = begins && ends ? cutKnown(op, x, strided, *begins, *ends, strides, masks.offset)
                                 : cutAtRunTime(op, x, strided, begin, end, strides);
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
  return op.node.reshape(y, result);
}

} // namespace lathe::source
