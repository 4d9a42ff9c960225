// Writes convolutions of integers as ConvInteger, which takes bytes and sums in 32 bits. ONNX Runtime accepts only u8
// for x.
//
// A 16-bit x is 256 times its high byte plus its low byte; each byte is convolved separately. A transposed convolution
// is a convolution of x, with zeros between its elements, by the reversed kernel.
#include "export/onnx/Speller.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::onnx {
namespace {

using Extents = std::vector<int64_t>;

/// Small integers less a zero point: cast(integers) - zero.
struct Centred {
  mlir::Value integers;
  double zero = 0;
  ElementType type() const { return nn::infoOf(integers).type; }
};

std::optional<Centred> centredOf(mlir::Value value) {
  Centred result;
  mlir::Operation *op = value.getDefiningOp();
  if (isOp(op, "sub")) {
    auto zero = nn::constantNumbers(op->getOperand(1));
    if (!zero || zero->size() != 1)
      return std::nullopt;
    result.zero = zero->front();
    op = op->getOperand(0).getDefiningOp();
  }
  if (!isOp(op, "cast"))
    return std::nullopt;
  result.integers = op->getOperand(0);
  ElementType type = result.type();
  if (type != ElementType::i8 && type != ElementType::u8 && type != ElementType::i16)
    return std::nullopt;
  auto [least, most] = nn::integerLimits(type);
  return result.zero >= least && result.zero <= most ? std::optional(result) : std::nullopt;
}

/// A factor of a sum: bytes of type u8 less a zero point.
struct Bytes {
  mlir::Value value;
  double zero;
};

class ConvolutionSpeller : public Speller {
public:
  explicit ConvolutionSpeller(mlir::Operation *op)
      : Speller(op), x(*centredOf(op->getOperand(0))), w(*centredOf(op->getOperand(1))) {}

  mlir::Value convolution() {
    auto a = nn::attrsAs<ConvAttrs>(op);
    ConvIntegerAttrs attrs;
    attrs.strides = a.strides;
    attrs.dilations = a.dilations;
    attrs.pads = a.pads;
    attrs.group = a.group;
    return summed([&](const Bytes &part) { return convInteger(part, w.integers, attrs); });
  }

  mlir::Value transposed() {
    auto a = nn::attrsAs<ConvTransposeAttrs>(op);
    size_t rank = a.strides.size();
    ConvIntegerAttrs attrs;
    attrs.strides = Extents(rank, 1);
    attrs.dilations = a.dilations;
    attrs.pads = Extents(2 * rank);
    attrs.group = a.group;
    Extents kernel = dimsOf(w.integers), cropped(2 * rank);
    for (size_t i = 0; i < rank; ++i) {
      int64_t reach = a.dilations[i] * (kernel[i + 2] - 1);
      int64_t begin = reach - a.pads[i];
      // There are zeros behind the last element, too.
      int64_t end = reach - a.pads[rank + i] + a.output_padding[i] - (a.strides[i] - 1);
      attrs.pads[i] = std::max<int64_t>(begin, 0);
      attrs.pads[rank + i] = std::max<int64_t>(end, 0);
      cropped[i] = std::min<int64_t>(begin, 0);
      cropped[rank + i] = std::min<int64_t>(end, 0);
    }
    mlir::Value turned = turnedKernel(a.group);
    return summed([&](Bytes part) {
      part.value = spread(part, a.strides);
      return padded(convInteger(part, turned, attrs), cropped, number(0, ElementType::i32));
    });
  }

private:
  Centred x, w;

  static Extents dimsOf(mlir::Value value) {
    llvm::ArrayRef<int64_t> dims = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
    return {dims.begin(), dims.end()};
  }

  /// Splits x into its bytes; the low bytes come first.
  std::vector<Bytes> parts() {
    if (x.type() == ElementType::u8)
      return {{x.integers, x.zero}};
    bool wide = x.type() == ElementType::i16;
    double half = wide ? 32768 : 128;
    mlir::Value moved = emit("add", {cast(x.integers, ElementType::i32), number(half, ElementType::i32)}, AddAttrs());
    double zero = x.zero + half;
    if (!wide)
      return {{cast(moved, ElementType::u8), zero}};
    mlir::Value byte = number(256, ElementType::i32);
    return {{cast(emit("mod", {moved, byte}, ModAttrs()), ElementType::u8), std::fmod(zero, 256)},
            {cast(divide(moved, byte), ElementType::u8), std::floor(zero / 256)}};
  }

  /// Adds the sums of all bytes of x; `sums` computes the sums of one byte.
  template <class Sums> mlir::Value summed(Sums sums) {
    ElementType type = nn::infoOf(op->getResult(0)).type;
    mlir::Value total;
    for (const Bytes &part : parts()) {
      mlir::Value each = cast(sums(part), type);
      total = total ? emit("add", {total, multiply(each, number(256, type))}, AddAttrs()) : each;
    }
    return total;
  }

  mlir::Value convInteger(const Bytes &part, mlir::Value kernel, ConvIntegerAttrs attrs) {
    auto zero = [&](ElementType type, double value) { return value == 0 ? mlir::Value() : number(value, type); };
    return emit("conv_integer", {part.value, kernel, zero(ElementType::u8, part.zero), zero(w.type(), w.zero)},
                std::move(attrs));
  }

  mlir::Value reshape(mlir::Value value, Extents shape) {
    ReshapeAttrs attrs;
    attrs.shape = std::move(shape);
    return emit("reshape", {value, mlir::Value()}, std::move(attrs));
  }
  mlir::Value transpose(mlir::Value value, Extents perm) {
    TransposeAttrs attrs;
    attrs.perm = std::move(perm);
    return emit("transpose", {value}, std::move(attrs));
  }
  /// Pads `value` with `with`. `pads` are for the axes behind the first two; negative pads crop.
  mlir::Value padded(mlir::Value value, const Extents &pads, mlir::Value with) {
    if (std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; }))
      return value;
    PadAttrs attrs;
    auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
    for (auto [from, to] : {std::pair(pads.begin(), middle), std::pair(middle, pads.end())}) {
      attrs.pads.insert(attrs.pads.end(), 2, 0);
      attrs.pads.insert(attrs.pads.end(), from, to);
    }
    return emit("pad", {value, mlir::Value(), with}, std::move(attrs));
  }

  /// Inserts stride - 1 zeros behind every element of each spatial axis, for any extent: moves one axis after the other
  /// to the end.
  mlir::Value spread(const Bytes &part, const Extents &strides) {
    mlir::Value value = part.value;
    const size_t rank = strides.size() + 2;
    if (std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 1; }))
      return value;
    Extents turn = {0, 1};
    turn.push_back(static_cast<int64_t>(rank) - 1);
    for (size_t axis = 2; axis + 1 < rank; ++axis)
      turn.push_back(static_cast<int64_t>(axis));
    for (size_t i = strides.size(); i-- > 0;) {
      if (strides[i] > 1) {
        Extents apart(rank, 0), together(rank, 0), pads(2 * (rank - 1), 0);
        apart.push_back(1);
        together.back() = -1;
        pads.back() = strides[i] - 1;
        value = padded(reshape(value, apart), pads, number(part.zero, ElementType::u8));
        value = reshape(value, together);
      }
      if (strides.size() > 1)
        value = transpose(value, turn);
    }
    return value;
  }

  /// Turns C x O/group x kernel into O x C/group x kernel, with the kernel reversed.
  mlir::Value turnedKernel(int64_t group) {
    Extents dims = dimsOf(w.integers);
    const auto rank = static_cast<int64_t>(dims.size());
    Extents grouped = {group, dims[0] / group, dims[1]}, perm = {0, 2, 1}, whole = {group * dims[1], dims[0] / group};
    SliceAttrs slice;
    for (int64_t axis = 2; axis < rank; ++axis) {
      grouped.push_back(dims[size_t(axis)]);
      whole.push_back(dims[size_t(axis)]);
      perm.push_back(axis + 1);
      slice.starts.push_back(-1);
      slice.ends.push_back(std::numeric_limits<int32_t>::min());
      slice.axes.push_back(axis);
      slice.steps.push_back(-1);
    }
    mlir::Value value = reshape(transpose(reshape(w.integers, grouped), perm), whole);
    return emit("slice", {value, mlir::Value(), mlir::Value(), mlir::Value(), mlir::Value()}, std::move(slice));
  }
};

} // namespace

bool isConvolutionOfIntegers(mlir::Operation *op) {
  if (!isOp(op, "conv") && !isOp(op, "conv_transpose"))
    return false;
  ElementType type = nn::infoOf(op->getResult(0)).type;
  if ((type != ElementType::i32 && type != ElementType::i64) || nn::operandsByRecord(op)[2])
    return false;
  std::optional<Centred> x = centredOf(op->getOperand(0)), w = centredOf(op->getOperand(1));
  if (!x || !w || w->type() == ElementType::i16)
    return false;
  llvm::ArrayRef<int64_t> kernel = llvm::cast<mlir::RankedTensorType>(w->integers.getType()).getShape();
  double taps = 1; // taps of one sum, which must fit into 32 bits
  for (size_t axis = isOp(op, "conv") ? 1 : 0; axis < kernel.size(); ++axis)
    if (axis != 1 || isOp(op, "conv"))
      taps *= static_cast<double>(kernel[axis]);
  bool known = llvm::none_of(kernel, mlir::ShapedType::isDynamic);
  return known && (type == ElementType::i32 || taps * 255 * 255 < std::exp2(31));
}

mlir::Value spelledConvolution(mlir::Operation *op) {
  ConvolutionSpeller speller(op);
  return isOp(op, "conv") ? speller.convolution() : speller.transposed();
}

} // namespace lathe::onnx
