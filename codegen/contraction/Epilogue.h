// What follows a contraction inside its kernel: element-wise operators on accumulators, then the stores.
//
// Results are indexed by image (outer axes), pixel (spatial axes flattened; the row of a matrix) and channel (the axis
// that lies in vector lanes: axis 1 of a convolution, the last of a matrix product).
#pragma once

#include "codegen/Generate.h"
#include "codegen/builder/RunTimeDims.h"
#include "codegen/builder/Scalar.h"
#include "ir/SymbolicShapes.h"

namespace lathe {

/// Address of an element: image * imageStride + pixel * pixelStride + channel * channelStride, for channels at which a
/// vector starts; the lanes of that vector are `laneStride` apart (0: one value for all).
struct PointAccess {
  unsigned buffer = 0;
  ElementType type = ElementType::invalid;
  Dim imageStride = 0;
  int64_t pixelStride = 0, channelStride = 0, laneStride = 0;
  bool wholeBlocks = false; // lanes beyond the last channel exist in memory (blocked layout, padded constant)
};

enum class ChannelAxis { second, last };

/// Splits `dims` of a result into image, pixel and channel extents.
struct PointSpace {
  Dims dims;
  ChannelAxis axis = ChannelAxis::second;
  unsigned pixelAxes = 1; // how many axes make up the pixel index
  Dim images() const;
  Dim pixels() const;
  int64_t channels() const;
};

/// Packing of a vector over channels with room behind it for one more vector's load.
Packing paddedChannels(int64_t lanes);

class Epilogue {
public:
  using Value = mlir::Value;
  /// `anchor` is the value whose elements arrive as accumulators of `lanes` channels each. Throws Declined for operands
  /// that are broadcast in a way it does not know. `inner`: what follows the anchor ends in this value, which lies in
  /// no buffer, instead of the function's results; emit() then needs a sink.
  Epilogue(mlir::func::FuncOp function, Value anchor, PointSpace space, int64_t lanes, const nn::SymbolicShapes &shapes,
           RunTimeDims &dims, Value inner = {});

  /// A register block of results.
  struct Tile {
    Value image, pixel, channel;       // of its first element; channel at a vector's start
    llvm::SmallVector<int64_t> pixels; // offsets from `pixel`, one a row
    int64_t vectors = 1;
    int64_t channels = 0; // valid ones, at most vectors * lanes
  };
  /// Takes a vector of results: of pixel `tile.pixels[row]`.
  using Sink = std::function<void(const Tile &tile, size_t row, int64_t vector, Value result)>;
  /// Applies the operators to `accumulators[p * vectors + v]` and stores, or hands over to the sink.
  void emit(KernelBuilder &k, const RunTimeDims &dims, const Tile &tile, mlir::ValueRange accumulators,
            const Sink &sink = {}) const;

  /// Loads one vector of channels of a kernel argument that varies along channels only (a bias): `channels` valid
  /// lanes.
  static Value loadLanes(KernelBuilder &k, const PointAccess &access, Value offset, int64_t lanes, int64_t channels);

  /// The anchor's value is alpha * accumulator + beta * addend (null: without); set before emit.
  void setAddend(Value addend, double alpha, double beta, const nn::SymbolicShapes &shapes, RunTimeDims &dims);

  /// True when every result lies in the blocked layout of `lanes` channels.
  bool blocked() const;
  /// True when a vector that holds fewer than `lanes` channels may be computed like any other: nothing is read or
  /// written that is not there.
  bool wholeVectors() const;
  /// True when argument `buffer` is one of the operands.
  bool reads(unsigned buffer) const;
  /// Adds the packings of per-channel constants, which are padded so that whole vectors can be loaded anywhere.
  void addPackings(std::vector<std::optional<Packing>> &packings) const;

private:
  mutable mlir::func::FuncOp function; // a handle: the IR is only read
  Value anchor;
  PointSpace space;
  int64_t lanes;
  llvm::DenseMap<Value, PointAccess> operands;
  std::vector<std::pair<Value, PointAccess>> results;
  Value addend;
  double alpha = 1, beta = 1;

  PointAccess access(Value value, unsigned buffer, const nn::SymbolicShapes &shapes, RunTimeDims &dims) const;
};

} // namespace lathe
