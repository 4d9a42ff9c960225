// The facts of a recurrent kernel and the plan of a schedule of `recurrent`.
#pragma once

#include "codegen/space/KernelFacts.h"
#include "ops/recurrent/Recurrent.h"

namespace lathe {

/// Gates whose products with the hidden state are computed together. A gru that resets before the
/// product needs two phases, because its last gate multiplies results of the others.
struct RecurrentPhase {
  std::vector<int64_t> gates;
};

struct RecurrentGeometry {
  RecurrentForm form;
  ElementType type;
  Dim steps, batch;
  int64_t hidden, lanes;
  // Buffers of the kernel.
  unsigned x, r;
  std::optional<unsigned> hiddenBias, lengths, initialH, initialC, peepholes;
  std::optional<unsigned> y, lastH, lastC;
  bool constantR; // true: packed in the package; false: packed into scratch by each work item
  std::vector<RecurrentPhase> phases;

  int64_t mostGates() const; // largest number of gates of a phase
};

class RecurrentFacts : public KernelFacts {
public:
  RecurrentGeometry geometry;

  Schedule prior() const override;
  void require(const Schedule &schedule) const override;
  Prediction predict(const Schedule &schedule) const override;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
};

struct RecurrentPlan : RecurrentGeometry {
  /// Makes the plan. Throws Illegal for an illegal schedule.
  RecurrentPlan(const RecurrentFacts &facts, const Schedule &schedule);

  // Parameters of the schedule.
  int64_t rows, vectors, unroll;
  bool split; // the slots share the columns of every step; needs a static batch and packed weights

  /// Stages of a split plan (GeneratedKernel::stages): one to load the states, and one for each
  /// phase of each step.
  Dim stages() const { return steps * Dim(static_cast<int64_t>(phases.size())) + Dim(1); }
  /// Number of blocks of rows with their own states, and of all their tiles: the work items of one
  /// stage.
  int64_t blocks() const { return form.directions() * chunks().constant(); }
  int64_t stageUnits() const { return blocks() * tiles(); }

  int64_t tileColumns() const { return vectors * lanes; }
  int64_t tiles() const { return (hidden + tileColumns() - 1) / tileColumns(); }
  /// Columns of a state in scratch, rounded up to whole tiles.
  int64_t padded() const { return tiles() * tileColumns(); }
  Dim chunks() const { return ceilDiv(batch, rows); }

  /// Offsets in elements of the packed weights, ordered by direction, phase, and tile of
  /// [hidden][gate][column of the tile].
  int64_t packedSize() const { return form.gates() * padded() * hidden; } // size for one direction
  int64_t packedOffset(size_t phase) const;

  // Offsets in scratch, in elements; the lengths (i64) come last. A split plan has these buffers
  // once for every block of rows. The slots share it: each writes its own columns.
  int64_t stateSize() const { return rows * padded(); }
  /// After two hidden states, which are read and written alternately.
  int64_t cellOffset() const { return 2 * stateSize(); }
  int64_t resetOffset() const { return cellOffset() + (form.cell == Cell::lstm ? stateSize() : 0); }
  int64_t updateOffset() const { return resetOffset() + (phases.size() > 1 ? stateSize() : 0); }
  int64_t gatesOffset() const { return updateOffset() + (phases.size() > 1 ? stateSize() : 0); }
  int64_t weightsOffset() const { return gatesOffset() + rows * form.gates() * padded(); }
  int64_t lengthsOffset() const { return weightsOffset() + (constantR ? 0 : packedSize()); }
  int64_t blockScratch() const { return lengthsOffset(); } // of a split plan, which keeps no lengths
  int64_t scratchBytes() const {
    return split ? blocks() * blockScratch() * elementBytes() : lengthsOffset() * elementBytes() + rows * 8;
  }
  int64_t elementBytes() const { return bitWidth(type) / 8; }
};

} // namespace lathe
