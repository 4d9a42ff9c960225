// What a recurrent kernel computes, what a schedule of `recurrent` means for it and how its memory lies.
#pragma once

#include "codegen/space/KernelFacts.h"
#include "ops/recurrent/Recurrent.h"

namespace lathe {

/// Gates whose share of the hidden state is computed together. A gru that resets before the product needs two: its last
/// gate multiplies what the others made.
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
  bool constantR; // packed when the package is made; otherwise by each unit, into scratch
  std::vector<RecurrentPhase> phases;

  int64_t mostGates() const; // of one phase
};

class RecurrentFacts : public KernelFacts {
public:
  RecurrentGeometry geometry;

  Schedule prior() const override;
  void require(const Schedule &schedule) const override;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
};

struct RecurrentPlan : RecurrentGeometry {
  /// Throws Illegal.
  RecurrentPlan(const RecurrentFacts &facts, const Schedule &schedule);

  // Of the schedule.
  int64_t rows, vectors, unroll;
  bool split; // the slots share the columns of every step; the batch is static then, and the weights are packed

  /// Stages of a split plan (GeneratedKernel::stages): the first fetches the states, every phase of a step is one more.
  Dim stages() const { return steps * Dim(static_cast<int64_t>(phases.size())) + Dim(1); }
  /// Blocks of rows that carry states of their own, and the tiles of all: the units of one stage.
  int64_t blocks() const { return form.directions() * chunks().constant(); }
  int64_t stageUnits() const { return blocks() * tiles(); }

  int64_t tileColumns() const { return vectors * lanes; }
  int64_t tiles() const { return (hidden + tileColumns() - 1) / tileColumns(); }
  /// Columns of a state in scratch: whole tiles.
  int64_t padded() const { return tiles() * tileColumns(); }
  Dim chunks() const { return ceilDiv(batch, rows); }

  /// Offsets in elements into the packed weights: directions, then phases, then tiles of [hidden][gate][column of the
  /// tile].
  int64_t packedSize() const { return form.gates() * padded() * hidden; } // of one direction
  int64_t packedOffset(size_t phase) const;

  // Scratch, in elements; the lengths (i64) come last. A split plan has as much for every block of rows, shared by the
  // slots: each writes columns of its own.
  int64_t stateSize() const { return rows * padded(); }
  int64_t cellOffset() const { return 2 * stateSize(); } // behind two hidden states, read and written in turn
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
