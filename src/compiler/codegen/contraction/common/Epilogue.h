// The epilogue of a contraction: applies element-wise operators to accumulators, then stores the results.
//
// Results are indexed by image (outer axes), pixel (spatial axes flattened; the row of a matrix) and channel (the axis
// in vector lanes: axis 1 of a convolution, the last axis of a matrix product).
#pragma once

#include "codegen/Generate.h"
#include "codegen/builder/RunTimeDims.h"
#include "codegen/builder/Scalar.h"
#include "ir/SymbolicShapes.h"

#include "llvm/ADT/MapVector.h"

namespace lathe {

/// How the elements of a buffer are addressed: at image * imageStride + pixel * pixelStride + channel * channelStride,
/// for a channel at the start of a vector. Lanes are `laneStride` apart (0: one value for all lanes; byChannel: the
/// distance of channels, which is known only at run time).
struct PointAccess {
  static constexpr int64_t byChannel = -1;
  unsigned buffer = 0;
  ElementType type = ElementType::invalid;
  Dim imageStride = 0, channelStride = 0;
  int64_t pixelStride = 0, laneStride = 0;
  bool wholeBlocks = false; // true: lanes after the last channel exist in memory (blocked layout, padded constant)
};

enum class ChannelAxis { second, last };

/// Divides the axes `dims` of a result into axes of images, of pixels and of channels.
struct PointSpace {
  Dims dims;
  ChannelAxis axis = ChannelAxis::second;
  unsigned pixelAxes = 1; // number of axes that count pixels
  Dim images() const;
  Dim pixels() const;
  int64_t channels() const;
};

/// Returns the packing of a constant with one value per channel. It is padded by one vector, so that whole vectors can
/// be loaded anywhere.
Packing paddedChannels(int64_t lanes);

class Epilogue {
public:
  using Value = mlir::Value;
  /// `anchor` is the value that the accumulators hold, in vectors of `lanes` channels. Throws Declined for operands
  /// with an unsupported broadcast. With `inner`, the epilogue ends in this value, which has no buffer, instead of the
  /// results of the function; emit() then needs a sink.
  Epilogue(mlir::func::FuncOp function, Value anchor, PointSpace space, int64_t lanes, const nn::SymbolicShapes &shapes,
           RunTimeDims &dims, Value inner = {});

  /// The position of the results that one register block computes, and their number.
  struct Tile {
    Value image, pixel, channel;       // position of the first element; its channel is at the start of a vector
    llvm::SmallVector<int64_t> pixels; // offset of each row's pixel from `pixel`
    int64_t vectors = 1;
    int64_t channels = 0; // number of valid channels in the register block, at most vectors * lanes
  };
  /// Function that receives a vector of results for the pixel `tile.pixels[row]`.
  using Sink = std::function<void(const Tile &tile, size_t row, int64_t vector, Value result)>;
  /// Emits the epilogue for a register block: applies the operators to `accumulators[p * vectors + v]` and stores the
  /// results, or passes them to `sink`.
  void emit(KernelBuilder &k, const RunTimeDims &dims, const Tile &tile, mlir::ValueRange accumulators,
            const Sink &sink = {}) const;

  /// Emits the load of one vector of channels of an argument that varies only along channels (a bias), with `channels`
  /// valid lanes. `laneStep`: the distance of lanes if laneStride is byChannel.
  static Value loadLanes(KernelBuilder &k, const PointAccess &access, Value offset, int64_t lanes, int64_t channels,
                         Value laneStep = {});

  /// Makes the value of the anchor alpha * accumulator + beta * addend (addend null: alpha * accumulator). Call it
  /// before emit().
  void setAddend(Value addend, double alpha, double beta, const nn::SymbolicShapes &shapes, RunTimeDims &dims);

  /// True if every result of the epilogue has the blocked layout with `lanes` channels per block.
  bool blocked() const;
  /// True if a vector with fewer than `lanes` valid channels may be computed like a whole vector, because no access
  /// leaves a buffer.
  bool wholeVectors() const;
  /// True if the epilogue reads argument `buffer`.
  bool reads(unsigned buffer) const;
  /// Adds packings for the epilogue's constants with one value per channel, padded so that whole vectors can be loaded
  /// anywhere.
  void addPackings(std::vector<std::optional<Packing>> &packings) const;

private:
  class Emission;

  mutable mlir::func::FuncOp function; // a handle, through which the function is not changed
  Value anchor;
  PointSpace space;
  int64_t lanes;
  llvm::MapVector<Value, PointAccess> operands; // in a fixed order, so that equal kernels have equal code
  std::vector<std::pair<Value, PointAccess>> results;
  Value addend;
  double alpha = 1, beta = 1;

  PointAccess access(Value value, unsigned buffer, const nn::SymbolicShapes &shapes, RunTimeDims &dims) const;
};

} // namespace lathe
