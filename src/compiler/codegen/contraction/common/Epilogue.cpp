#include "codegen/contraction/common/Epilogue.h"

#include "codegen/builder/ChannelLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <cstring>

namespace lathe {

namespace {

Dim productOf(std::span<const Dim> dims) { return product(dims); }

/// An operand's extents against the result's on one group of axes: nothing varies, everything does, or a mixture.
enum class Coverage { none, full, mixed };
Coverage coverage(std::span<const Dim> operand, std::span<const Dim> result) {
  bool ones = true, equal = true;
  for (size_t i = 0; i < operand.size(); ++i) {
    ones &= operand[i] == Dim(1);
    equal &= operand[i] == result[i];
  }
  return equal ? Coverage::full : ones ? Coverage::none : Coverage::mixed;
}

mlir::Value multiply(KernelBuilder &k, mlir::Value value, double factor) {
  if (!llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(value.getType())))
    throw Declined{"integers are scaled by alpha or beta"};
  return k.b.create<mlir::arith::MulFOp>(k.loc, value, k.constantF(factor, value.getType()));
}

mlir::Value prefix(KernelBuilder &k, int64_t count, int64_t lanes) {
  llvm::SmallVector<bool> bits(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    bits[i] = i < count;
  auto type = mlir::VectorType::get({lanes}, k.b.getI1Type());
  return k.b.create<mlir::arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>(bits)));
}

} // namespace

Dim PointSpace::images() const { return productOf(std::span(dims).first(dims.size() - 1 - pixelAxes)); }

Dim PointSpace::pixels() const {
  return axis == ChannelAxis::second ? productOf(std::span(dims).last(pixelAxes))
                                     : productOf(std::span(dims).subspan(dims.size() - 1 - pixelAxes, pixelAxes));
}

int64_t PointSpace::channels() const {
  const Dim &extent = axis == ChannelAxis::second ? dims[dims.size() - 1 - pixelAxes] : dims.back();
  if (!extent.isConstant())
    throw Declined{fmt::format("the channel extent {} is not static", extent.str())};
  return extent.constant();
}

PointAccess Epilogue::access(Value value, unsigned buffer, const nn::SymbolicShapes &shapes, RunTimeDims &dims) const {
  TensorInfo info = shapes.of(value);
  nn::BlockedAttr layout = nn::layoutOf(value);
  if (info.rank() > space.dims.size())
    throw Declined{
        fmt::format("an operand of rank {} is combined with a result of rank {}", info.rank(), space.dims.size())};
  Dims own(space.dims.size() - info.rank(), Dim(1));
  own.insert(own.end(), info.dims.begin(), info.dims.end());

  size_t images = own.size() - 1 - space.pixelAxes;
  bool second = space.axis == ChannelAxis::second;
  size_t channelAt = second ? images : own.size() - 1, pixelAt = second ? images + 1 : images;
  auto part = [&](const Dims &all, size_t at, size_t count) { return std::span(all).subspan(at, count); };
  Coverage image = coverage(part(own, 0, images), part(space.dims, 0, images));
  Coverage pixel = coverage(part(own, pixelAt, space.pixelAxes), part(space.dims, pixelAt, space.pixelAxes));
  Coverage channel = coverage(part(own, channelAt, 1), part(space.dims, channelAt, 1));
  if (image == Coverage::mixed || pixel == Coverage::mixed || channel == Coverage::mixed)
    throw Declined{fmt::format("an operand of shape {} is broadcast to {} along part of its axes", str(info.dims),
                               str(space.dims))};

  PointAccess result{buffer, info.type};
  Dim pixels = productOf(part(own, pixelAt, space.pixelAxes));
  Dim channels = own[channelAt];
  auto constant = [&](const Dim &dim, const char *what) {
    if (!dim.isConstant())
      throw Declined{fmt::format("{} {} is not static", what, dim.str())};
    return dim.constant();
  };
  if (layout) {
    ChannelLayout blocks = channelLayout(value, lanes);
    if (!second || layout.getAxis() != 1 || blocks.block != lanes || info.rank() != space.dims.size())
      throw Declined{fmt::format("a tensor in blocks of {} meets vectors of {} channels", layout.getSize(), lanes)};
    if (channel != Coverage::full)
      throw Declined{"a blocked operand is broadcast along channels"};
    result.channelStride = blocks.last ? Dim(1) : pixels;
    result.laneStride = 1;
    result.pixelStride = pixel == Coverage::full ? std::max(blocks.last, lanes) : 0;
    int64_t stored = (constant(channels, "the channel extent") + lanes - 1) / lanes * lanes;
    result.imageStride = Dim(std::max(blocks.last, stored)) * pixels;
    result.wholeBlocks = true;
  } else if (second) {
    result.channelStride = channel == Coverage::full ? pixels : Dim(0);
    result.laneStride = result.channelStride.constantOr(PointAccess::byChannel);
    result.pixelStride = pixel == Coverage::full ? 1 : 0;
    result.imageStride = channels * pixels;
  } else {
    result.laneStride = channel == Coverage::full ? 1 : 0;
    result.channelStride = result.laneStride;
    result.pixelStride = pixel == Coverage::full ? constant(channels, "the row length") : 0;
    result.imageStride = channels * pixels;
  }
  if (image != Coverage::full)
    result.imageStride = 0;
  if (buffer < function.getNumArguments() && function.getArgAttr(buffer, "nn.constant") && image != Coverage::full &&
      result.pixelStride == 0 && result.laneStride == 1)
    result.wholeBlocks = true; // see addPackings
  dims.need(result.imageStride);
  dims.need(result.channelStride);
  return result;
}

Epilogue::Epilogue(mlir::func::FuncOp function, Value anchor, PointSpace space, int64_t lanes,
                   const nn::SymbolicShapes &shapes, RunTimeDims &dims, Value inner)
    : function(function), anchor(anchor), space(std::move(space)), lanes(lanes) {
  // Arguments reached from the results without passing through the anchor.
  llvm::SmallVector<Value> pending;
  llvm::DenseMap<Value, bool> seen;
  llvm::SmallVector<Value> ends(function.getBody().front().getTerminator()->getOperands());
  if (inner)
    ends = {inner};
  for (auto [i, value] : llvm::enumerate(ends)) {
    if (shapes.of(value).dims != this->space.dims)
      throw Declined{fmt::format("a result of shape {} is not of the anchor's shape {}", str(shapes.of(value).dims),
                                 str(this->space.dims))};
    results.emplace_back(value, access(value, function.getNumArguments() + i, shapes, dims));
    pending.push_back(value);
  }
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value == anchor || seen[value])
      continue;
    seen[value] = true;
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value))
      operands[value] = access(value, argument.getArgNumber(), shapes, dims);
    else
      for (Value operand : value.getDefiningOp()->getOperands())
        pending.push_back(operand);
  }
}

void Epilogue::setAddend(Value value, double alphaFactor, double betaFactor, const nn::SymbolicShapes &shapes,
                         RunTimeDims &dims) {
  addend = betaFactor == 0 ? Value() : value;
  alpha = alphaFactor;
  beta = betaFactor;
  if (!addend)
    return;
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(addend);
  if (!argument)
    throw Declined{"the added matrix is computed inside the kernel"};
  operands[addend] = access(addend, argument.getArgNumber(), shapes, dims);
}

Packing paddedChannels(int64_t lanes) {
  return {[lanes](const nn::ConstantData &data) {
            int64_t size = bitWidth(data.type) / 8, count = 1;
            for (int64_t extent : data.dims)
              count *= extent;
            std::vector<char> packed((count + lanes - 1) * size);
            for (int64_t i = 0; i < count; ++i)
              std::memcpy(packed.data() + i * size, data.bytes.data() + (data.splat ? 0 : i * size), size);
            return packed;
          },
          fmt::format("channels+{}", lanes - 1)};
}

bool Epilogue::wholeVectors() const {
  for (auto &[value, access] : operands)
    if (access.laneStride != 0 && !access.wholeBlocks)
      return false;
  return blocked();
}

bool Epilogue::reads(unsigned buffer) const {
  for (auto &[value, access] : operands)
    if (access.buffer == buffer)
      return true;
  return false;
}

void Epilogue::addPackings(std::vector<std::optional<Packing>> &packings) const {
  for (auto &[value, access] : operands)
    if (access.wholeBlocks && access.pixelStride == 0 && function.getArgAttr(access.buffer, "nn.constant") &&
        !nn::layoutOf(value))
      packings[access.buffer] = paddedChannels(lanes);
}

bool Epilogue::blocked() const {
  for (auto &[value, access] : results)
    if (!access.wholeBlocks)
      return false;
  return true;
}

namespace {

/// Offset of lane `i` of a vector at `offset`.
mlir::Value lane(KernelBuilder &k, const PointAccess &access, mlir::Value offset, int64_t i, mlir::Value step) {
  return k.add(offset,
               access.laneStride == PointAccess::byChannel ? k.mul(step, i) : k.constant(i * access.laneStride));
}

} // namespace

mlir::Value Epilogue::loadLanes(KernelBuilder &k, const PointAccess &access, Value offset, int64_t lanes,
                                int64_t channels, Value laneStep) {
  Value buffer = k.buffer(access.buffer);
  channels = std::min(channels, lanes);
  if (access.laneStride == 0)
    return k.load(buffer, offset, access.type);
  if (access.laneStride == 1) {
    if (channels == lanes || access.wholeBlocks)
      return k.load(buffer, offset, access.type, lanes);
    return k.maskedLoad(buffer, offset, access.type, lanes, prefix(k, channels, lanes));
  }
  Value vector = k.zero(KernelBuilder::vectorOf(k.computeType(access.type), lanes));
  for (int64_t i = 0; i < channels; ++i)
    vector = k.b.create<mlir::vector::InsertOp>(
        k.loc, k.load(buffer, lane(k, access, offset, i, laneStep), access.type), vector, i);
  return vector;
}

/// The code of one register block. Operands are loaded where they are used, those that are the same for all pixels
/// once.
class Epilogue::Emission {
public:
  Emission(const Epilogue &epilogue, KernelBuilder &k, const RunTimeDims &dims, const Tile &tile,
           mlir::ValueRange accumulators)
      : epilogue(epilogue), k(k), dims(dims), tile(tile), accumulators(accumulators) {
    for (auto &[value, access] : epilogue.operands)
      bases[value] = base(access);
    for (auto &[value, access] : epilogue.results)
      resultBases.push_back(base(access));
  }

  void run(const Sink &sink) {
    for (vector = 0; vector < tile.vectors; ++vector) {
      channels = std::min(epilogue.lanes, tile.channels - vector * epilogue.lanes);
      if (channels <= 0)
        break;
      perChannel.clear();
      for (row = 0; row < tile.pixels.size(); ++row)
        emitVector(sink);
    }
  }

private:
  const Epilogue &epilogue;
  KernelBuilder &k;
  const RunTimeDims &dims;
  const Tile &tile;
  mlir::ValueRange accumulators;
  llvm::DenseMap<Value, Value> bases; // of the operands
  llvm::SmallVector<Value> resultBases;
  // The vector of results that is being computed: its number, its valid channels, and its row.
  int64_t vector = 0, channels = 0;
  size_t row = 0;
  llvm::DenseMap<Value, Value> perChannel; // operands that all rows share

  /// Offset of the register block in a buffer.
  Value base(const PointAccess &access) {
    Value offset = k.mul(tile.image, dims.value(k, access.imageStride));
    offset = k.add(offset, k.mul(tile.pixel, access.pixelStride));
    return k.add(offset, k.mul(tile.channel, dims.value(k, access.channelStride)));
  }
  /// Offset of the current vector.
  Value offset(Value base, const PointAccess &access) {
    if (access.channelStride.isConstant())
      return k.add(base,
                   tile.pixels[row] * access.pixelStride + vector * epilogue.lanes * access.channelStride.constant());
    Value ofVector = k.mul(dims.value(k, access.channelStride), vector * epilogue.lanes);
    return k.add(k.add(base, ofVector), tile.pixels[row] * access.pixelStride);
  }
  /// Distance of lanes that is known only at run time.
  Value laneStep(const PointAccess &access) {
    return access.laneStride == PointAccess::byChannel ? dims.value(k, access.channelStride) : Value();
  }

  /// The current vector of an operand; null for values that are computed.
  Value operand(Value value) {
    auto found = epilogue.operands.find(value);
    if (found == epilogue.operands.end())
      return {};
    const PointAccess &access = found->second;
    if (access.pixelStride == 0)
      if (auto known = perChannel.find(value); known != perChannel.end())
        return known->second;
    Value loaded = loadLanes(k, access, offset(bases[value], access), epilogue.lanes, channels, laneStep(access));
    if (access.pixelStride == 0)
      perChannel[value] = loaded;
    return loaded;
  }

  /// alpha * accumulator + beta * addend
  Value anchored() {
    Value sum = accumulators[row * tile.vectors + vector];
    if (epilogue.alpha != 1)
      sum = multiply(k, sum, epilogue.alpha);
    if (!epilogue.addend)
      return sum;
    Value added = k.splat(operand(epilogue.addend), epilogue.lanes);
    if (epilogue.beta != 1)
      added = multiply(k, added, epilogue.beta);
    if (llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(sum.getType())))
      return k.b.create<mlir::arith::AddFOp>(k.loc, sum, added);
    return k.b.create<mlir::arith::AddIOp>(k.loc, sum, added);
  }

  void emitVector(const Sink &sink) {
    Pointwise pointwise(k, [&](Value value) { return value == epilogue.anchor ? anchored() : operand(value); });
    for (size_t r = 0; r < epilogue.results.size(); ++r) {
      auto &[value, access] = epilogue.results[r];
      Value result = k.splat(pointwise.evaluate(value), epilogue.lanes);
      if (sink)
        sink(tile, row, vector, result);
      else
        store(result, access, offset(resultBases[r], access));
    }
  }

  void store(Value result, const PointAccess &access, Value offset) {
    Value buffer = k.buffer(access.buffer);
    if (access.laneStride == 1 && (channels == epilogue.lanes || access.wholeBlocks))
      k.store(result, buffer, offset, access.type);
    else if (access.laneStride == 1)
      k.maskedStore(result, buffer, offset, access.type, prefix(k, channels, epilogue.lanes));
    else
      for (int64_t i = 0; i < channels; ++i)
        k.store(k.b.create<mlir::vector::ExtractOp>(k.loc, result, i), buffer,
                lane(k, access, offset, i, laneStep(access)), access.type);
  }
};

void Epilogue::emit(KernelBuilder &k, const RunTimeDims &dims, const Tile &tile, mlir::ValueRange accumulators,
                    const Sink &sink) const {
  Emission(*this, k, dims, tile, accumulators).run(sink);
}

} // namespace lathe
