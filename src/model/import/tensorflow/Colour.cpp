// Colours of pictures, with the channels last.
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {
namespace {

/// The three channels of a picture, each with an axis of extent 1.
struct Channels {
  mlir::Value a, b, c;
};

Channels channelsOf(Operator &op, mlir::Value x) {
  require(op.rank(x) >= 1 && op.dims(x).back().constantOr(3) == 3, "the operand is {}, expected 3 channels",
          str(op.dims(x)));
  int64_t axis = op.rank(x) - 1;
  return {cut(op, x, axis, 0, 1), cut(op, x, axis, 1, 2), cut(op, x, axis, 2, 3)};
}

mlir::Value joined(Operator &op, const Channels &channels) {
  return op.emit("concat", {channels.a, channels.b, channels.c}, {{"axis", op.rank(channels.a) - 1}});
}

/// Hue, saturation and value, each from 0 to 1.
Channels toHsv(Operator &op, const Channels &rgb) {
  ElementType type = op.typeOf(rgb.a);
  auto number = [&](double value) { return op.number(type, value); };
  mlir::Value most = op.emit("max", {op.emit("max", {rgb.a, rgb.b}), rgb.c});
  mlir::Value least = op.emit("min", {op.emit("min", {rgb.a, rgb.b}), rgb.c});
  mlir::Value range = op.emit("sub", {most, least}), zero = number(0);
  mlir::Value saturation = op.emit("where", {op.emit("greater", {most, zero}), op.emit("div", {range, most}), zero});
  auto part = [&](mlir::Value x, mlir::Value y, double sixths) {
    mlir::Value turn = op.emit("div", {op.emit("sub", {x, y}), op.emit("mul", {range, number(6)})});
    return op.emit("add", {turn, number(sixths / 6)});
  };
  mlir::Value hue = op.emit("where", {op.emit("equal", {rgb.b, most}), part(rgb.c, rgb.a, 2), part(rgb.a, rgb.b, 4)});
  hue = op.emit("where", {op.emit("equal", {rgb.a, most}), part(rgb.b, rgb.c, 0), hue});
  hue = op.emit("where", {op.emit("greater", {range, zero}), hue, zero});
  hue = op.emit("where", {op.emit("less", {hue, zero}), op.emit("add", {hue, number(1)}), hue});
  return {hue, saturation, most};
}

Channels toRgb(Operator &op, const Channels &hsv) {
  ElementType type = op.typeOf(hsv.a);
  auto number = [&](double value) { return op.number(type, value); };
  mlir::Value turn = op.emit("mul", {hsv.a, number(6)}), rest = op.emit("sub", {number(1), hsv.b});
  /// The share of a primary colour: add + sign * |turn - at|.
  auto channel = [&](double at, double sign, double add) {
    mlir::Value away = op.emit("abs", {op.emit("sub", {turn, number(at)})});
    mlir::Value share = op.emit("add", {op.emit("mul", {away, number(sign)}), number(add)});
    share = op.emit("clip", {share, {}, {}}, {{"min", 0.0}, {"max", 1.0}});
    return op.emit("mul", {op.emit("add", {rest, op.emit("mul", {hsv.b, share})}), hsv.c});
  };
  return {channel(3, 1, -1), channel(2, -1, 2), channel(4, -1, 2)};
}

void importToHsv(Operator &op) { op.set(joined(op, toHsv(op, channelsOf(op, op.in(0))))); }

void importToRgb(Operator &op) { op.set(joined(op, toRgb(op, channelsOf(op, op.in(0))))); }

void importAdjustSaturation(Operator &op) { // picture, factor
  Channels hsv = toHsv(op, channelsOf(op, op.in(0)));
  mlir::Value scaled = op.emit("mul", {hsv.b, op.node.cast(op.scalar(1), op.typeOf(hsv.b))});
  hsv.b = op.emit("clip", {scaled, {}, {}}, {{"min", 0.0}, {"max", 1.0}});
  op.set(joined(op, toRgb(op, hsv)));
}

void importAdjustHue(Operator &op) { // picture, what is added
  Channels hsv = toHsv(op, channelsOf(op, op.in(0)));
  ElementType type = op.typeOf(hsv.a);
  mlir::Value moved = op.emit("add", {hsv.a, op.node.cast(op.scalar(1), type)});
  hsv.a = floorMod(op, moved, op.number(type, 1));
  op.set(joined(op, toRgb(op, hsv)));
}

/// Scales the distance of every pixel from the mean of its channel.
void importAdjustContrast(Operator &op) {
  mlir::Value x = op.in(0);
  int64_t rank = op.rank(x);
  require(rank >= 3, "the operand has rank {}, expected at least 3", rank);
  mlir::Value mean = op.emit("reduce_mean", {x}, {{"axes", Ints{rank - 3, rank - 2}}, {"keepdims", true}});
  mlir::Value away = op.emit("mul", {op.emit("sub", {x, mean}), op.node.cast(op.scalar(1), op.typeOf(x))});
  op.set(op.emit("add", {away, mean}));
}

} // namespace

void addColourImporters(Importers &table) {
  table["RGBToHSV"] = {importToHsv, 1};
  table["HSVToRGB"] = {importToRgb, 1};
  table["AdjustSaturation"] = {importAdjustSaturation, 2};
  table["AdjustHue"] = {importAdjustHue, 2};
  table["AdjustContrastv2"] = {importAdjustContrast, 2};
}

} // namespace lathe::tensorflow
