#include "codegen/contraction/gemm/PackedColumns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cstring>

namespace lathe {
namespace {

constexpr int64_t groupSteps = 8; // steps emitted in one iteration

template <class Shift> mlir::Value shifted(KernelBuilder &k, mlir::Value x, int64_t bits) {
  auto type = llvm::cast<mlir::VectorType>(x.getType());
  llvm::APInt amount(type.getElementTypeBitWidth(), static_cast<uint64_t>(bits));
  return k.b.create<Shift>(k.loc, x,
                           k.b.create<mlir::arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(type, amount)));
}

/// An argument of a kernel, or a constant inside it, as a value for each block and column.
PackedColumnsFacts::Parameter parameterOf(mlir::Value value) {
  PackedColumnsFacts::Parameter parameter;
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    auto dims = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
    parameter.argument = argument.getArgNumber();
    if (!dims.empty() && dims.back() != 1)
      parameter.columnStride = 1;
    if (dims.size() == 3 && dims[0] != 1)
      parameter.blockStride = dims.back();
    return parameter;
  }
  std::optional<std::vector<double>> numbers = nn::constantNumbers(value);
  if (!numbers || llvm::any_of(*numbers, [&](double number) { return number != numbers->front(); }))
    throw Declined{"the scales of packed weights are computed inside the kernel"};
  parameter.number = numbers->front();
  return parameter;
}

} // namespace

PackedColumnsFacts packedColumnsFacts(const nn::PackedWeights &weights) {
  PackedColumnsFacts facts;
  facts.codes = nn::infoOf(weights.codes).type;
  facts.blocks = weights.blocks;
  facts.steps = weights.steps;
  facts.scale = parameterOf(weights.scale);
  if (weights.zero)
    facts.zero = parameterOf(weights.zero);
  if (!facts.zero.argument)
    facts.zero.number -= double(facts.signedBias());
  return facts;
}

// ---- Code ----

/// The first unit of a block of a tile. Tiles but the last one are all alike.
mlir::Value PackedColumns::firstUnit(Value tile, Value block, int64_t vectors) {
  int64_t column = packed.blocks * packed.blockUnits();
  return k.add(k.mul(tile, plan.vectors * lanes * column), k.mul(block, packed.blockUnits() * vectors * lanes));
}

mlir::Value PackedColumns::load(Value unit) {
  if (bitWidth(packed.codes) == 4)
    return k.load(k.buffer(plan.gemm.b), unit, ElementType::i32, lanes);
  Value bytes = k.load(k.buffer(plan.gemm.b), unit, ElementType::i8, lanes);
  return k.b.create<mlir::arith::ExtSIOp>(k.loc, KernelBuilder::vectorOf(k.b.getI32Type(), lanes), bytes);
}

/// Step `step` of a unit as numbers, less a zero point that is one number.
mlir::Value PackedColumns::decode(Value code, int64_t step) {
  mlir::VectorType floats = KernelBuilder::vectorOf(k.b.getF32Type(), lanes);
  double zero = packed.zero.argument ? 0 : packed.zero.number;
  if (bitWidth(packed.codes) == 4) {
    if (k.target.has("avx512f") && lanes == 16) {
      // The low four bits of a lane choose one of sixteen numbers.
      llvm::SmallVector<float> numbers;
      for (int i = 0; i < 16; ++i)
        numbers.push_back(static_cast<float>((i < 8 ? i : i - 16) - zero));
      Value table =
          k.b.create<mlir::arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(floats, llvm::ArrayRef(numbers)));
      if (step > 0)
        code = shifted<mlir::arith::ShRUIOp>(k, code, 4 * step);
      return k.b
          .create<mlir::LLVM::CallIntrinsicOp>(k.loc, floats, k.b.getStringAttr("llvm.x86.avx512.permvar.sf.512"),
                                               mlir::ValueRange{table, code}, mlir::LLVM::FastmathFlagsAttr{})
          .getResult(0);
    }
    if (step < 7)
      code = shifted<mlir::arith::ShLIOp>(k, code, 28 - 4 * step);
    code = shifted<mlir::arith::ShRSIOp>(k, code, 28);
  }
  Value numbers = k.b.create<mlir::arith::SIToFPOp>(k.loc, floats, code);
  return zero == 0 ? numbers : k.b.create<mlir::arith::SubFOp>(k.loc, numbers, k.constantF(zero, floats));
}

/// `count` steps from `unit` on, which begin a unit.
void PackedColumns::emitGroup(Value unit, int64_t vectors, int64_t count, const Values &zeros, Use use) {
  Values codes;
  for (int64_t step = 0; step < count; ++step)
    for (int64_t v = 0; v < vectors; ++v) {
      int64_t inUnit = step % packed.unitSteps(), at = step / packed.unitSteps() * vectors * lanes;
      if (inUnit == 0) {
        if (step == 0)
          codes.push_back({});
        codes[v] = load(k.add(unit, at + v * lanes));
      }
      Value numbers = decode(codes[v], inUnit);
      if (!zeros.empty())
        numbers = k.b.create<mlir::arith::SubFOp>(k.loc, numbers, zeros[v]);
      use(step, v, numbers);
    }
}

KernelBuilder::Values PackedColumns::parameters(const PackedColumnsFacts::Parameter &parameter, Value tile, Value block,
                                                int64_t vectors) {
  Values values;
  mlir::VectorType floats = KernelBuilder::vectorOf(k.b.getF32Type(), lanes);
  Value at = k.add(k.mul(tile, plan.vectors * lanes * packed.blocks), k.mul(block, vectors * lanes));
  for (int64_t v = 0; v < vectors; ++v)
    values.push_back(parameter.argument
                         ? k.load(k.buffer(*parameter.argument), k.add(at, v * lanes), ElementType::f32, lanes)
                         : k.constantF(parameter.number, floats));
  return values;
}

KernelBuilder::Values PackedColumns::zerosOf(Value tile, Value block, int64_t vectors) {
  return packed.zero.argument ? parameters(packed.zero, tile, block, vectors) : Values();
}

KernelBuilder::Values PackedColumns::sums(Value tile, int64_t vectors, Value a, Value aOffset,
                                          llvm::ArrayRef<int64_t> rowOffsets) {
  auto rows = static_cast<int64_t>(rowOffsets.size());
  Values none(rows * vectors, k.zero(KernelBuilder::vectorOf(k.b.getF32Type(), lanes)));
  return k.loop(k.constant(0), k.constant(packed.blocks), 1, none, [&](Value block, mlir::ValueRange carried) {
    Value unit = firstUnit(tile, block, vectors), first = k.add(aOffset, k.mul(block, packed.steps));
    Values zeros = zerosOf(tile, block, vectors);
    auto group = [&](Values sum, Value number, int64_t count) {
      Value start = k.add(first, k.mul(number, groupSteps));
      int64_t stride = groupSteps / packed.unitSteps() * vectors * lanes;
      Values factors;
      emitGroup(k.add(unit, k.mul(number, stride)), vectors, count, zeros, [&](int64_t step, int64_t v, Value numbers) {
        if (v == 0) {
          factors.clear();
          for (int64_t offset : rowOffsets)
            factors.push_back(k.splat(k.load(a, k.add(start, offset + step), ElementType::f32), lanes));
        }
        for (int64_t row = 0; row < rows; ++row)
          sum[row * vectors + v] = k.fma(factors[row], numbers, sum[row * vectors + v]);
      });
      return sum;
    };
    int64_t whole = packed.steps / groupSteps, rest = packed.steps % groupSteps;
    Values part = k.loop(k.constant(0), k.constant(whole), 1, none, [&](Value number, mlir::ValueRange sum) {
      return group(Values(sum.begin(), sum.end()), number, groupSteps);
    });
    if (rest)
      part = group(part, k.constant(whole), rest);
    Values scales = parameters(packed.scale, tile, block, vectors), next;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(k.fma(part[row * vectors + v], scales[v], carried[row * vectors + v]));
    return next;
  });
}

void PackedColumns::toScratch(Value tile, int64_t vectors) {
  k.loop(k.constant(0), k.constant(packed.blocks), 1, [&](Value block) {
    Value unit = firstUnit(tile, block, vectors), first = k.mul(block, packed.steps);
    Values zeros = zerosOf(tile, block, vectors), scales = parameters(packed.scale, tile, block, vectors);
    auto group = [&](Value number, int64_t count) {
      Value to = k.mul(k.add(first, k.mul(number, groupSteps)), vectors * lanes);
      int64_t stride = groupSteps / packed.unitSteps() * vectors * lanes;
      emitGroup(k.add(unit, k.mul(number, stride)), vectors, count, zeros, [&](int64_t step, int64_t v, Value numbers) {
        Value scaled = k.b.create<mlir::arith::MulFOp>(k.loc, numbers, scales[v]);
        k.store(scaled, k.scratch(), k.add(to, (step * vectors + v) * lanes), ElementType::f32);
      });
    };
    int64_t whole = packed.steps / groupSteps, rest = packed.steps % groupSteps;
    k.loop(k.constant(0), k.constant(whole), 1, [&](Value number) { group(number, groupSteps); });
    if (rest)
      group(k.constant(whole), rest);
  });
}

// ---- Storage ----

namespace {

/// Calls `visit(block, column, at)` for every block and column, `at` the number of both in storage order.
template <class Visit> void forEachColumn(const GemmPlan &plan, int64_t unitsOfBlock, Visit visit) {
  const int64_t wide = plan.vectors * plan.lanes;
  for (int64_t column = 0; column < plan.gemm.n; ++column) {
    int64_t tile = column / wide;
    int64_t width = (tile + 1 < plan.tiles() ? plan.vectors : plan.tailVectors()) * plan.lanes;
    for (int64_t block = 0; block < plan.gemm.packed->blocks; ++block)
      visit(block, column,
            tile * wide * plan.gemm.packed->blocks * unitsOfBlock + block * unitsOfBlock * width + column % wide,
            width);
  }
}

std::vector<char> packCodes(const nn::ConstantData &data, const GemmPlan &plan) {
  const PackedColumnsFacts &packed = *plan.gemm.packed;
  const unsigned bits = bitWidth(packed.codes);
  const int64_t n = plan.gemm.n, units = packed.blockUnits(), bytes = bits == 4 ? 4 : 1;
  std::vector<char> result(plan.columnVectors() * plan.lanes * packed.blocks * units * bytes);
  auto code = [&](int64_t index) -> uint32_t {
    if (data.splat)
      index = 0;
    if (bits == 8)
      return static_cast<uint8_t>(data.bytes[index] ^ (packed.signedBias() ? 0x80 : 0));
    uint32_t nibble = static_cast<uint8_t>(data.bytes[index / 2]) >> (index % 2 * 4) & 15;
    return nibble ^ (packed.signedBias() ? 8 : 0);
  };
  forEachColumn(plan, units, [&](int64_t block, int64_t column, int64_t at, int64_t width) {
    for (int64_t unit = 0; unit < units; ++unit) {
      uint32_t word = 0;
      for (int64_t i = 0; i < packed.unitSteps() && unit * packed.unitSteps() + i < packed.steps; ++i)
        word |= code((block * packed.steps + unit * packed.unitSteps() + i) * n + column) << (4 * i);
      std::memcpy(result.data() + (at + unit * width) * bytes, &word, bytes);
    }
  });
  return result;
}

std::vector<char> packParameter(const nn::ConstantData &data, const GemmPlan &plan,
                                const PackedColumnsFacts::Parameter &parameter, double less) {
  std::vector<float> result(plan.columnVectors() * plan.lanes * plan.gemm.packed->blocks);
  forEachColumn(plan, 1, [&](int64_t block, int64_t column, int64_t at, int64_t) {
    int64_t from = data.splat ? 0 : block * parameter.blockStride + column * parameter.columnStride;
    float value;
    std::memcpy(&value, data.bytes.data() + from * sizeof value, sizeof value);
    result[at] = static_cast<float>(value - less);
  });
  const char *bytes = reinterpret_cast<const char *>(result.data());
  return {bytes, bytes + result.size() * sizeof(float)};
}

} // namespace

void addPackedPackings(const GemmPlan &plan, std::vector<std::optional<Packing>> &packings) {
  const PackedColumnsFacts &packed = *plan.gemm.packed;
  std::string order = fmt::format("{}x{} blocks={}x{}", plan.vectors, plan.lanes, packed.blocks, packed.steps);
  packings[plan.gemm.b] = {[plan](const nn::ConstantData &data) { return packCodes(data, plan); },
                           fmt::format("kn/{} {}", order, name(packed.codes))};
  auto add = [&](const PackedColumnsFacts::Parameter &parameter, const char *what, double less) {
    if (parameter.argument)
      packings[*parameter.argument] = {
          [plan, parameter, less](const nn::ConstantData &data) { return packParameter(data, plan, parameter, less); },
          fmt::format("{}/{}{}{}{}", what, order, parameter.blockStride ? " by block" : "",
                      parameter.columnStride ? " by column" : "", less != 0 ? fmt::format(" less {}", less) : "")};
  };
  add(packed.scale, "scale", 0);
  add(packed.zero, "zero", double(packed.signedBias()));
}

} // namespace lathe
