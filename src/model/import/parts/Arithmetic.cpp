// Arithmetic that consists of a few operators.
#include "import/parts/FakeQuant.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace lathe::source {

NudgedRange nudgedRange(float least, float most, int64_t bits, bool narrow) {
  require(bits >= 2 && bits <= 16, "has {} bits, expected 2 to 16", bits);
  require(least <= most, "has the range {} to {}, expected one that rises", least, most);
  float first = narrow ? 1 : 0, last = static_cast<float>((1 << bits) - 1);
  float scale = (most - least) / (last - first);
  require(std::isfinite(scale), "has the range {} to {}, expected a finite one", least, most);
  if (scale == 0)
    return {0, 0, 1};
  float zero = std::clamp(std::round(first - least / scale), first, last);
  return {(first - zero) * scale, (last - zero) * scale, scale};
}

/// The number of steps from `low` to x, which is already clipped.
static mlir::Value stepsFrom(Emitter &op, mlir::Value x, mlir::Value low, mlir::Value scale, mlir::Value perStep) {
  x = op.emit("mul", {op.emit("sub", {x, low}), perStep});
  return op.emit("add", {op.emit("mul", {roundAway(op.node, x), scale}), low});
}

mlir::Value fakeQuant(Emitter &op, mlir::Value x, float least, float most, int64_t bits, bool narrow) {
  NudgedRange range = nudgedRange(least, most, bits, narrow);
  auto number = [&](float value) { return op.node.constantScalar(ElementType::f32, value); };
  x = op.emit("clip", {x}, {{"min", static_cast<double>(range.low)}, {"max", static_cast<double>(range.high)}});
  return stepsFrom(op, x, number(range.low), number(range.scale), number(1.0f / range.scale));
}

mlir::Value fakeQuantChannels(Emitter &op, mlir::Value x, const std::vector<NudgedRange> &ranges) {
  auto numbers = [&](auto of) {
    std::vector<float> values;
    for (const NudgedRange &range : ranges)
      values.push_back(of(range));
    TensorData data{ElementType::f32, {static_cast<int64_t>(values.size())}, {}, {}};
    data.bytes.resize(values.size() * sizeof(float));
    std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
    return op.node.constant(data);
  };
  mlir::Value low = numbers([](const NudgedRange &range) { return range.low; });
  mlir::Value high = numbers([](const NudgedRange &range) { return range.high; });
  mlir::Value scale = numbers([](const NudgedRange &range) { return range.scale; });
  mlir::Value perStep = numbers([](const NudgedRange &range) { return 1.0f / range.scale; });
  return stepsFrom(op, op.emit("min", {op.emit("max", {x, low}), high}), low, scale, perStep);
}

mlir::Value atan2(Emitter &op, mlir::Value y, mlir::Value x) {
  ElementType type = op.node.info(y).type;
  auto number = [&](double value) { return op.node.constantScalar(type, value); };
  mlir::Value zero = number(0), below = op.emit("less", {y, zero});
  mlir::Value turn = op.emit("where", {below, number(-std::numbers::pi), number(std::numbers::pi)});
  mlir::Value angle = op.emit("atan", {op.emit("div", {y, x})});
  angle = op.emit("where", {op.emit("less", {x, zero}), op.emit("add", {angle, turn}), angle});
  mlir::Value nowhere = op.emit("and", {op.emit("equal", {x, zero}), op.emit("equal", {y, zero})});
  return op.emit("where", {nowhere, zero, angle});
}

mlir::Value broadcastShape(Emitter &op, mlir::Value a, mlir::Value b) {
  ElementType type = op.resultType("", op.typeOf(a));
  a = op.wide(a), b = op.wide(b);
  int64_t length = 0;
  for (mlir::Value shape : {a, b}) {
    require(op.rank(shape) == 1, "an operand has rank {}, expected 1", op.rank(shape));
    if (!op.dims(shape)[0].isConstant())
      op.unsupported("the length of a shape is not known");
    length = std::max(length, op.dims(shape)[0].constant());
  }
  auto aligned = [&](mlir::Value shape) {
    int64_t missing = length - op.dims(shape)[0].constant();
    return missing ? op.emit("pad", {shape, {}, {}}, {{"pads", Ints{missing, 0}}, {"value", 1.0}}) : shape;
  };
  a = aligned(a), b = aligned(b);
  mlir::Value one = op.emit("equal", {a, op.node.constantInts({}, {1})});
  return op.node.cast(op.emit("where", {one, b, a}), type);
}

mlir::Value floorMod(Emitter &op, mlir::Value a, mlir::Value b) {
  ElementType type = op.node.info(a).type;
  if (!isFloat(type))
    return op.emit("mod", {a, b});
  mlir::Value rest = op.emit("mod", {a, b}, {{"fmod", true}}), zero = op.node.constantScalar(type, 0);
  mlir::Value differ = op.emit("xor", {op.emit("less", {rest, zero}), op.emit("less", {b, zero})});
  mlir::Value moved = op.emit("and", {differ, op.emit("not", {op.emit("equal", {rest, zero})})});
  return op.emit("where", {moved, op.emit("add", {rest, b}), rest});
}

mlir::Value floorDiv(Emitter &op, mlir::Value a, mlir::Value b) {
  if (isFloat(op.typeOf(a)))
    return op.emit("floor", {op.emit("div", {a, b})});
  return op.emit("div", {op.emit("sub", {a, floorMod(op, a, b)}), b});
}

mlir::Value roundAway(Node &node, mlir::Value x) {
  ElementType type = node.info(x).type;
  mlir::Value even = node.emit("round", {x}), half = node.constantScalar(type, 0.5);
  mlir::Value tie = node.emit("equal", {node.emit("abs", {node.emit("sub", {x, even})}), half});
  mlir::Value away = node.emit("add", {x, node.emit("mul", {node.emit("sign", {x}), half})});
  return node.emit("where", {tie, away, even});
}

} // namespace lathe::source
