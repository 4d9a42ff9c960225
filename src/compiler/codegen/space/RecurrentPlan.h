// The facts of a recurrent kernel and the plan of a schedule of `recurrent`.
#pragma once

#include "codegen/space/KernelFacts.h"
#include "ops/recurrent/Recurrent.h"

namespace lathe {

/// A part of a step of the recurrence: one matrix product computes the sums of the gates `gates`. A gru without
/// linear_before_reset needs two phases: the product of its last gate reads the hidden state times the reset gate, so
/// the reset gate must be complete before. Every other cell has one phase.
struct RecurrentPhase {
  std::vector<int64_t> gates;
};

struct RecurrentGeometry {
  RecurrentForm form;
  ElementType type;
  Dim steps, batch;
  int64_t hidden, lanes;
  // Numbers of the kernel's buffers for its arguments and results.
  unsigned x, r;
  std::optional<unsigned> hiddenBias, lengths, initialH, initialC, peepholes;
  std::optional<unsigned> y, lastH, lastC;
  /// true: the package contains the packed recurrent weights; false: each work item packs them into scratch.
  bool constantR;
  std::vector<RecurrentPhase> phases;

  int64_t mostGates() const; // number of gates in the phase that has the most gates
};

class RecurrentFacts : public KernelFacts {
public:
  RecurrentGeometry geometry;

  Schedule prior() const override;
  void require(const Schedule &schedule) const override;
  Prediction predict(const Schedule &schedule) const override;
  std::vector<LoopNest> loopNests(const Schedule &schedule) const override;
  std::array<double, 5> problemExtents() const override;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
};

struct RecurrentPlan : RecurrentGeometry {
  /// Makes the plan of a schedule of `recurrent`. Throws Illegal for an illegal schedule.
  RecurrentPlan(const RecurrentFacts &facts, const Schedule &schedule);

  // ---- Values of the schedule's parameters.
  int64_t rows, vectors, unroll;
  bool split; // `stages=1`: all slots compute each step together and share its columns; needs constant weights

  /// In a split plan: number of stages (GeneratedKernel::stages). The first stage loads the initial states, then there
  /// is one stage for each phase of each step.
  Dim stages() const { return steps * Dim(static_cast<int64_t>(phases.size())) + Dim(1); }
  /// In a split plan: number of blocks of rows in all directions together. Each block has its own states.
  Dim blocks() const { return (batch.isConstant() ? chunks() : evenChunks()) * Dim(form.directions()); }
  /// In a split plan: number of work items of one stage, one for each tile of columns of each block of rows.
  Dim stageUnits() const { return blocks() * Dim(tiles()); }
  /// In a split plan with an open batch: number of blocks of rows in one direction. An odd number is made even if each
  /// block keeps at least four rows: two threads then have blocks of their own and share no states.
  Dim evenChunks() const {
    Dim odd = chunks() - floorDiv(chunks(), 2) * 2;
    return chunks() + odd * minimum(floorDiv(floorDiv(batch, 4), chunks() + 1), 1);
  }
  /// In a split plan with an open batch: number of rows of each block. The first blocks have one row more until all
  /// rows belong to a block.
  Dim evenRows() const { return floorDiv(batch, maximum(evenChunks(), 1)); }

  // ---- Tiles of columns. A tile has the same range of columns of every gate.
  int64_t tileColumns() const { return vectors * lanes; }
  int64_t tiles() const { return (hidden + tileColumns() - 1) / tileColumns(); }
  /// Number of columns that a state has in scratch: the hidden size rounded up to whole tiles.
  int64_t padded() const { return tiles() * tileColumns(); }
  /// Number of blocks of rows in one direction.
  Dim chunks() const { return ceilDiv(batch, rows); }

  // ---- Packed recurrent weights. Their order is [direction][phase][tile][hidden][gate of the phase][column of the
  // tile].
  int64_t packedSize() const { return form.gates() * padded() * hidden; } // number of elements of one direction
  int64_t packedOffset(size_t phase) const;                               // first element of a phase within a direction

  // Buffers in scratch, as offsets in elements. First come two hidden states [row][column]; each step reads one and
  // writes the other, alternately. Then come the buffers below in their order; the lengths (i64) are last. A split plan
  // has these buffers, without lengths, once for every block of rows; all slots see them, and each slot writes its own
  // columns.
  int64_t stateSize() const { return rows * padded(); }
  int64_t cellOffset() const { return 2 * stateSize(); } // cell state of an lstm
  int64_t resetOffset() const { return cellOffset() + (form.cell == Cell::lstm ? stateSize() : 0); }
  int64_t updateOffset() const { return resetOffset() + (phases.size() > 1 ? stateSize() : 0); }
  int64_t gatesOffset() const { return updateOffset() + (phases.size() > 1 ? stateSize() : 0); }
  int64_t weightsOffset() const { return gatesOffset() + rows * form.gates() * padded(); }
  int64_t lengthsOffset() const { return weightsOffset() + (constantR ? 0 : packedSize()); }
  int64_t blockScratch() const { return lengthsOffset(); } // bytes of a split plan's block, which keeps no lengths
  Dim scratchBytes() const {
    return split ? blocks() * Dim(blockScratch() * elementBytes()) : Dim(lengthsOffset() * elementBytes() + rows * 8);
  }
  int64_t elementBytes() const { return bitWidth(type) / 8; }
};

} // namespace lathe
