// amx/1: convolutions and matrix products of bytes, or of operands rounded to bf16, on AMX's tile registers. One
// instruction adds the product of 16 rows x 64 bytes and 64 bytes x 16 columns, of 64 or 32 channels, to 16 x 16 sums
// in i32 or fp32; a register block is two tiles of rows times `oc` tiles of columns.
//
// Converted input lies as [block of channels][phase][row][column][channel], where it is padding zeros or the zero point of
// bytes, so that all sums are corrected for that alike (codegen/space/ContractionFormat.h). Positions of a
// row and of the next one follow each other, so that 16 consecutive ones are the rows of a tile whatever the width;
// those in the columns that only the kernel reaches are computed in vain. Strided kernels read every stride-th
// position: each phase (position modulo stride) has a plane of its own, in which all kernels have stride 1.
#include "codegen/contraction/amx/AmxPlan.h"
#include "codegen/contraction/common/ContractionKernel.h"
#include "codegen/contraction/common/FormatCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

using Tap = TileTap;
constexpr int64_t lineBytes = tileLineBytes, lanes = tileLanes, configAt = tileConfigAt, sumsAt = tileSumsAt,
                  inputAt = tileInputAt;

class TileGenerator {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  TileGenerator(KernelBuilder &k, const TilePlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
                std::optional<unsigned> bias, bool paddedBias)
      : k(k), plan(plan), epilogue(epilogue), dims(dims), bias(bias), paddedBias(paddedBias),
        wholeVectors(epilogue.wholeVectors() && (!bias || paddedBias)), depth(plan.depth()),
        leftType(plan.conv ? plan.conv->inputType : plan.gemm->leftType) {}

  void emit() {
    configure();
    setPadding();
    // Chunk of rows by chunk of rows: the input of a chunk is converted once, for all work items of the chunk that the
    // slot has.
    k.loop(k.div(k.begin(), plan.tiles()), k.div(k.add(k.end(), plan.tiles() - 1), plan.tiles()), 1, [&](Value range) {
      setRange(range);
      plan.gemm ? convertMatrix() : convertPlanes();
      Value first = k.mul(range, plan.tiles());
      k.loop(k.max(k.begin(), first), k.min(k.end(), k.add(first, plan.tiles())), 1,
             [&](Value unit) { emitUnit(k.sub(unit, first)); });
    });
    amx("llvm.x86.tilerelease", {});
  }

private:
  KernelBuilder &k;
  const TilePlan &plan;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  std::optional<unsigned> bias;
  bool paddedBias, wholeVectors;
  int64_t depth;               // channels of a line
  ElementType leftType;        // of the input, or of the left operand
  Value padding;               // of bytes: 16 channels where there is no input
  Value correction;            // units::correction()
  Value image, firstRow, rows; // of the current range; `rows` are there, at most a chunk

  void amx(const char *name, mlir::ValueRange operands) {
    k.b.create<mlir::LLVM::CallIntrinsicOp>(k.loc, mlir::TypeRange(), k.b.getStringAttr(name), operands,
                                            mlir::LLVM::FastmathFlagsAttr{});
  }
  /// The number of a tile register, or a stride: constants of the instruction.
  Value immediate(int64_t value, unsigned bits) {
    return k.b.create<mlir::LLVM::ConstantOp>(k.loc, k.b.getIntegerType(bits),
                                              k.b.getIntegerAttr(k.b.getIntegerType(bits), value));
  }
  Value bytes(Value base, Value offset) { return k.gep(base, offset, k.b.getI8Type()); }
  Value lines(Value offset) { return bytes(k.scratch(), k.add(k.mul(offset, lineBytes), inputAt)); }

  void configure();
  void setPadding();
  void setRange(Value range);
  void convertMatrix();
  void convertPlanes();
  void convertRow(size_t phase, Value block, int64_t channels, Value inRow, Value to);
  /// The lanes of one vector of channels from channel `first` of a line on, of which the line has `channels`.
  using Part = llvm::function_ref<Value(int64_t first, int64_t valid)>;
  void storePosition(int64_t channels, Part part, Value to);
  void storePadding(Value to);
  void emitUnit(Value tile);
  void emitColumns(Value tile, int64_t vectors, int64_t valid);
  void multiply(Value weights, Value position, int64_t tilesOfRows, int64_t vectors, Value block);
  Value added(Value x, Value y);
  Value beginning(Value channel, int64_t valid);
  void finish(Value tile, Value position, Value count, int64_t vectors, int64_t valid);
};

/// All tiles have 16 rows of 64 bytes.
void TileGenerator::configure() {
  std::vector<int8_t> config(64, 0);
  config[0] = 1; // palette
  for (int tile = 0; tile < 8; ++tile) {
    config[16 + 2 * tile] = lineBytes;
    config[48 + tile] = tileRows;
  }
  mlir::VectorType type = KernelBuilder::vectorOf(k.b.getI8Type(), 64);
  Value constant =
      k.b.create<mlir::arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<int8_t>(config)));
  Value at = bytes(k.scratch(), k.constant(configAt));
  k.b.create<mlir::LLVM::StoreOp>(k.loc, constant, at, 1);
  amx("llvm.x86.ldtilecfg", at);
}

/// `range`: (image, chunk of rows).
void TileGenerator::setRange(Value range) {
  Value chunks = dims.value(k, plan.chunks());
  image = k.b.createOrFold<mlir::arith::DivUIOp>(k.loc, range, chunks);
  firstRow = k.mul(k.b.createOrFold<mlir::arith::RemUIOp>(k.loc, range, chunks), plan.rows);
  rows = k.min(k.sub(dims.value(k, plan.height), firstRow), k.constant(plan.rows));
}

/// Sets the byte that represents zero, and its correction of sums.
void TileGenerator::setPadding() {
  if (!plan.format.correctsSums())
    return;
  std::optional<unsigned> zero = plan.conv ? plan.conv->inputZero : plan.gemm->leftZero;
  correction = units::correction(k, zero, leftType, lanes);
  Value none = zero ? k.splat(k.load(k.buffer(*zero), k.constant(0), leftType), lanes)
                    : k.zero(KernelBuilder::vectorOf(k.computeType(leftType), lanes));
  padding = units::operand(k, plan.format, none, leftType, {});
}

/// One position's line, of `channels` channels and padding.
void TileGenerator::storePosition(int64_t channels, Part part, Value to) {
  int64_t partBytes = lanes * plan.format.elementBytes();
  llvm::SmallVector<Value> vectors;
  for (int64_t first = 0; first < depth; first += lanes)
    vectors.push_back(first < channels ? part(first, std::min(lanes, channels - first)) : Value());
  for (size_t i = 0; i < vectors.size(); ++i) {
    Value vector = padding;
    if (vectors[i])
      vector = units::elements(k, plan.format, units::operand(k, plan.format, vectors[i], leftType, {}));
    else if (!padding)
      vector = k.zero(KernelBuilder::vectorOf(k.b.getBF16Type(), lanes));
    int64_t at = int64_t(i) * partBytes;
    k.b.create<mlir::LLVM::StoreOp>(k.loc, vector, at ? bytes(to, k.constant(at)) : to, at ? partBytes : lineBytes);
  }
}

void TileGenerator::storePadding(Value to) {
  storePosition(0, [](int64_t, int64_t) { return Value(); }, to);
}

void TileGenerator::convertMatrix() {
  const GemmGeometry &gemm = *plan.gemm;
  k.loop(k.constant(0), rows, 1, [&](Value row) {
    Value from = k.mul(k.add(firstRow, row), gemm.aRowStride);
    auto block = [&](Value number, int64_t steps) {
      Value at = k.add(from, k.mul(number, depth));
      auto vector = [&](int64_t first, int64_t valid) -> Value {
        return valid == lanes ? k.load(k.buffer(gemm.a), k.add(at, first), leftType, lanes)
                              : k.maskedLoad(k.buffer(gemm.a), k.add(at, first), leftType, lanes,
                                             k.prefixMask(k.constant(valid), lanes));
      };
      storePosition(steps, vector, lines(k.add(k.mul(number, plan.blockStride()), row)));
    };
    k.loop(k.constant(0), k.constant(gemm.k / depth), 1, [&](Value number) { block(number, depth); });
    if (gemm.k % depth)
      block(k.constant(gemm.k / depth), gemm.k % depth);
  });
}

/// One row of one phase's plane, from input row `inRow`.
void TileGenerator::convertRow(size_t phase, Value block, int64_t channels, Value inRow, Value to) {
  const ConvGeometry &conv = *plan.conv;
  int64_t column = plan.phases[phase].second - conv.padBegin[2],
          stride = conv.stride[2]; // of the first position, in the input
  int64_t low = std::clamp<int64_t>((-column + stride - 1) / stride, 0, plan.pitch());
  int64_t high =
      std::clamp<int64_t>(column >= conv.in[2] ? 0 : (conv.in[2] - column + stride - 1) / stride, low, plan.pitch());
  auto zeros = [&](int64_t first, int64_t last) {
    k.loop(k.constant(first), k.constant(last), 1, [&](Value at) { storePadding(lines(k.add(to, at))); });
  };
  zeros(0, low);
  Value from = k.add(k.mul(image, conv.inImageStride()), k.mul(block, depth * conv.inPixels()));
  from = k.add(from, k.mul(inRow, conv.in[2] * lanes));
  k.loop(k.constant(low), k.constant(high), 1, [&](Value at) {
    Value position = k.add(from, k.mul(k.add(k.mul(at, stride), column), lanes));
    auto vector = [&](int64_t first, int64_t valid) -> Value {
      Value source = k.add(position, first * conv.inPixels());
      // Lanes without a channel may hold anything, and zero times that is not always zero.
      return valid == lanes
                 ? k.load(k.buffer(conv.input), source, leftType, lanes)
                 : k.maskedLoad(k.buffer(conv.input), source, leftType, lanes, k.prefixMask(k.constant(valid), lanes));
    };
    storePosition(channels, vector, lines(k.add(to, at)));
  });
  zeros(high, plan.pitch());
}

void TileGenerator::convertPlanes() {
  const ConvGeometry &conv = *plan.conv;
  Value held = k.add(rows, plan.moreRows);
  auto block = [&](Value number, int64_t channels) {
    for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
      Value plane = k.add(k.mul(number, plan.blockStride()), int64_t(phase) * plan.plane());
      k.loop(k.constant(0), held, 1, [&](Value row) {
        Value inRow = k.mul(k.add(firstRow, row), conv.stride[1]);
        inRow = k.add(inRow, plan.phases[phase].first - conv.padBegin[1]);
        Value to = k.add(plane, k.mul(row, plan.pitch()));
        auto real = [&] { convertRow(phase, number, channels, inRow, to); };
        if (conv.padBegin[1] == 0 &&
            (conv.out[1] - 1) * conv.stride[1] + (conv.kernel[1] - 1) * conv.dilation[1] < conv.in[1] &&
            (conv.stride[1] == 1 || plan.moreRows == 0))
          return real();
        Value inside = k.b.create<mlir::arith::AndIOp>(k.loc, k.less(k.constant(-1), inRow),
                                                       k.less(inRow, k.constant(conv.in[1])));
        k.ifThen(inside, real, [&] {
          k.loop(k.constant(0), k.constant(plan.pitch()), 1, [&](Value at) { storePadding(lines(k.add(to, at))); });
        });
      });
    }
  };
  k.loop(k.constant(0), k.constant(plan.channels / depth), 1, [&](Value number) { block(number, depth); });
  if (plan.channels % depth)
    block(k.constant(plan.channels / depth), plan.channels % depth);
}

void TileGenerator::emitUnit(Value tile) {
  int64_t last = plan.tiles() - 1, before = last * plan.oc * lanes;
  int64_t valid = wholeVectors ? plan.tailVectors() * lanes : plan.outputs - before;
  if (last == 0)
    emitColumns(tile, plan.tailVectors(), valid);
  else if (valid == plan.oc * lanes)
    emitColumns(tile, plan.oc, valid);
  else
    k.ifThen(
        k.less(tile, k.constant(last)), [&] { emitColumns(tile, plan.oc, plan.oc * lanes); },
        [&] { emitColumns(tile, plan.tailVectors(), valid); });
}

void TileGenerator::emitColumns(Value tile, int64_t vectors, int64_t valid) {
  Value weights = bytes(k.buffer(plan.conv ? plan.conv->weights : plan.gemm->b), k.mul(tile, plan.panel(plan.oc)));
  Value positions = k.add(k.mul(k.sub(rows, k.constant(1)), plan.pitch()), plan.width);
  auto block = [&](Value position, int64_t tilesOfRows) {
    multiply(weights, position, tilesOfRows, vectors, k.div(position, 2 * tileRows));
    finish(tile, position, k.min(k.sub(positions, position), k.constant(tilesOfRows * tileRows)), vectors, valid);
  };
  k.loop(k.constant(0), positions, 2 * tileRows, [&](Value position) {
    k.ifThen(
        k.less(k.constant(tileRows), k.sub(positions, position)), [&] { block(position, 2); },
        [&] { block(position, 1); });
  });
}

/// Sums of 16 or 32 positions from `position` on, left in scratch as [position][lane of all vectors].
void TileGenerator::multiply(Value weights, Value position, int64_t tilesOfRows, int64_t vectors, Value block) {
  auto sum = [&](int64_t m, int64_t v) { return immediate(m * 2 + v, 8); };
  auto left = [&](int64_t m) { return immediate(4 + m, 8); };
  auto right = [&](int64_t v) { return immediate(6 + v, 8); };
  for (int64_t m = 0; m < tilesOfRows; ++m)
    for (int64_t v = 0; v < vectors; ++v)
      amx("llvm.x86.tilezero", sum(m, v));
  // Each block of positions fetches its share of the next panel's lines.
  int64_t all = vectors * tileBytes / lineBytes, most = (plan.rows * plan.pitch() + 2 * tileRows - 1) / (2 * tileRows);
  int64_t share = (all + most - 1) / most;
  Value ahead = k.add(k.mul(k.min(k.mul(block, share), k.constant(all - share)), lineBytes), plan.panel(vectors));
  Value stride = immediate(lineBytes, 64);
  for (size_t t = 0; t < plan.taps.size(); ++t) {
    const Tap &tap = plan.taps[t];
    Value a = lines(k.add(position, tap.phase * plan.plane() + tap.row * plan.pitch() + tap.column));
    Value b = bytes(weights, k.constant(int64_t(t) * plan.blocks() * vectors * tileBytes));
    k.loop(k.constant(0), k.constant(plan.blocks()), 1, [&](Value number) {
      Value from = bytes(a, k.mul(number, plan.blockStride() * lineBytes)),
            panel = bytes(b, k.mul(number, vectors * tileBytes));
      for (int64_t v = 0; v < vectors; ++v)
        amx("llvm.x86.tileloadd64", {right(v), bytes(panel, k.constant(v * tileBytes)), stride});
      for (int64_t m = 0; m < tilesOfRows; ++m) {
        amx("llvm.x86.tileloadd64", {left(m), bytes(from, k.constant(m * tileRows * lineBytes)), stride});
        for (int64_t v = 0; v < vectors; ++v)
          amx(plan.format.rounds ? "llvm.x86.tdpbf16ps" : "llvm.x86.tdpbusd", {sum(m, v), left(m), right(v)});
      }
      for (int64_t line = 0; plan.prefetch && line < share; ++line)
        k.b.create<mlir::LLVM::Prefetch>(k.loc, bytes(panel, k.add(ahead, line * lineBytes)), /*rw=*/0, /*hint=*/2,
                                         /*cache=*/1);
    });
  }
  for (int64_t m = 0; m < tilesOfRows; ++m)
    for (int64_t v = 0; v < vectors; ++v)
      amx("llvm.x86.tilestored64",
          {sum(m, v), bytes(k.scratch(), k.constant(sumsAt + (m * tileRows * vectors + v) * lineBytes)),
           immediate(vectors * lineBytes, 64)});
}

mlir::Value TileGenerator::added(Value x, Value y) {
  return isFloat(plan.format.sum) ? k.b.create<mlir::arith::AddFOp>(k.loc, x, y).getResult()
                                  : k.b.create<mlir::arith::AddIOp>(k.loc, x, y).getResult();
}

/// The initial value of the sums of a vector of outputs from `channel` on: the bias, and the corrections of the left
/// elements' excess. Null: zero.
mlir::Value TileGenerator::beginning(Value channel, int64_t valid) {
  Value begin;
  if (bias)
    begin = Epilogue::loadLanes(k, biasAccess(*bias, plan.format.sum, paddedBias), channel, lanes, valid);
  if (!correction)
    return begin;
  Value at = k.add(channel, plan.panel(plan.vectors()) / 4);
  Value weights = k.load(k.buffer(plan.conv ? plan.conv->weights : plan.gemm->b), at, plan.format.sum, lanes);
  Value less = k.b.create<mlir::arith::MulIOp>(k.loc, weights, correction);
  return begin ? added(begin, less) : less;
}

/// The epilogue of `count` positions from `position` on.
void TileGenerator::finish(Value tile, Value position, Value count, int64_t vectors, int64_t valid) {
  Value channel = k.mul(tile, plan.oc * lanes), sums = bytes(k.scratch(), k.constant(sumsAt));
  Values biases; // with the corrections
  for (int64_t v = 0; v < vectors; ++v)
    biases.push_back(bias || correction ? beginning(k.add(channel, v * lanes), std::min(lanes, valid - v * lanes))
                                        : Value());
  // Results [first, last) of the block are neighbours, the first one `pixel`.
  auto run = [&](Value first, Value last, Value pixel) {
    k.loop(first, last, 1, [&](Value at) {
      Values results;
      for (int64_t v = 0; v < vectors; ++v) {
        Value sum = k.load(sums, k.add(k.mul(at, vectors * lanes), v * lanes), plan.format.sum, lanes);
        results.push_back(biases[v] ? added(sum, biases[v]) : sum);
      }
      Epilogue::Tile out;
      out.image = image;
      out.pixel = k.add(pixel, k.sub(at, first));
      out.channel = channel;
      out.pixels = {0};
      out.vectors = vectors;
      out.channels = valid;
      epilogue.emit(k, dims, out, results);
    });
  };
  Value none = k.constant(0);
  if (plan.pitch() == plan.width)
    return run(none, count, k.add(k.mul(firstRow, plan.width), position));
  // Row by row, without the columns that are not results.
  Value end = k.add(position, count), pitch = k.constant(plan.pitch());
  Value lastRow = k.div(k.add(end, plan.pitch() - 1), plan.pitch());
  k.loop(k.div(position, plan.pitch()), lastRow, 1, [&](Value row) {
    Value start = k.mul(row, pitch); // the position of the row's first result
    Value first = k.max(start, position), last = k.min(k.add(start, plan.width), end);
    Value pixel = k.add(k.mul(k.add(firstRow, row), plan.width), k.sub(first, start));
    run(k.sub(first, position), k.sub(last, position), pixel);
  });
}

} // namespace

GeneratedKernel generateFrom(const ContractionProblem &problem, const TilePlan &plan, const Schedule &schedule) {
  RunTimeDims dims;
  for (const Dim &dim : {plan.images, plan.height, plan.chunks()})
    dims.need(dim);
  Epilogue epilogue = plan.conv ? convEpilogue(problem, *plan.conv, dims) : gemmEpilogue(problem, *plan.gemm, dims);
  std::optional<unsigned> bias = plan.conv ? plan.conv->bias : std::nullopt;
  ContractionKernel kernel(problem, dims);
  TileGenerator(kernel.k, plan, epilogue, dims, bias, plan.conv && hasPaddedBias(problem, *plan.conv)).emit();

  GeneratedKernel result = kernel.finish(schedule);
  result.units = plan.images * plan.chunks() * Dim(plan.tiles());
  result.scratchBytes = plan.scratchBytes();
  if (plan.conv) {
    addConvPackings(result, problem, *plan.conv, packingOf(plan), epilogue);
  } else {
    epilogue.addPackings(result.packings);
    result.packings[plan.gemm->b] = packingOf(plan);
  }
  return result;
}

} // namespace lathe
