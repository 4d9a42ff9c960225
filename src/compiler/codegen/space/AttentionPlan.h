// The geometry of an attention kernel and the plan of a schedule of `attention`.
#pragma once

#include "codegen/space/ContractionFormat.h"
#include "codegen/space/KernelFacts.h"

namespace lathe {

/// One operand as matrices: for every head, rows by lanes.
struct AttentionWalk {
  unsigned buffer = 0;
  ElementType type = ElementType::invalid;
  Dim base = 0, rowStride = 0, laneStride = 0;
  Dims outer; // strides along AttentionGeometry::outer
};

struct AttentionGeometry {
  ElementType type, compute; // type in memory; type of scratch and arithmetic
  int64_t lanes;
  double scale, fill, softcap; // softcap 0: none
  bool causal, zeroMaskedRows;
  Dim visible; // causal: query i sees keys 0 ... i + visible
  Dims outer;  // heads, as axes with one stride for each operand
  Dim queries, keys;
  int64_t depth, width; // lanes of q and k; lanes of v and the result
  AttentionWalk q, k, v, y;
  std::optional<AttentionWalk> bias, mask;
};

class AttentionFacts : public KernelFacts {
public:
  AttentionGeometry geometry;

  Schedule prior() const override;
  void require(const Schedule &schedule) const override;
  Prediction predict(const Schedule &schedule) const override;
  std::vector<LoopNest> loopNests(const Schedule &schedule) const override;
  std::array<double, 5> problemExtents() const override;
  /// Keys and values can be read where they lie: rows of neighbours, of few vectors.
  bool readsInPlace() const;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
  bool allowsWord(const Parameter &parameter, std::string_view word) const override;
};

/// With type=bf16, scaled queries, keys, values and exponentials are rounded before products
/// (codegen/contraction/common/FormatCode.h). Scores, softmax, sums and the result stay in fp32.
struct AttentionPlan : AttentionGeometry {
  int64_t rows, vectors, unroll, mc, kc;
  ContractionFormat format; // of the products of operands in scratch
  bool packs;               // keys and values are copied into scratch; otherwise they are read where they lie

  /// Throws Illegal.
  AttentionPlan(const AttentionFacts &facts, const Schedule &schedule);

  Dim heads() const { return product(outer); }
  /// True if all keys of a head are in scratch at once. Otherwise blocks of keys are processed one
  /// after the other and results are rescaled.
  bool single() const { return kc == 0; }
  int64_t panel() const { return vectors * lanes; } // keys per panel
  int64_t keyCapacity() const;                      // keys in scratch, rounded up to whole panels
  int64_t widthVectors() const { return (width + lanes - 1) / lanes; }
  /// Lanes of depth, or keys, per reduction step.
  int64_t ofStep() const { return format.group; }
  int64_t depthSteps() const { return format.unitsOf(depth); }
  int64_t depthPitch() const { return (depth + lanes - 1) / lanes * lanes / ofStep(); }
  int64_t scorePitch() const { return keyCapacity() + lanes; } // avoids powers of two
  Dim pieces() const { return ceilDiv(queries, rows); }
  Dim chunks() const { return ceilDiv(pieces(), mc); }

  // Scratch: offsets in elements of `compute`, as large as a unit.
  int64_t keysAt() const { return 0; }
  int64_t valuesAt() const { return packs ? keyCapacity() * depthSteps() : 0; }
  int64_t queriesAt() const { return packs ? valuesAt() + keyCapacity() / ofStep() * widthVectors() * lanes : 0; }
  int64_t scoresAt() const { return queriesAt() + padded(rows * depthPitch()); }
  int64_t factorsAt() const { return scoresAt() + padded(rows * scorePitch()); } // one per row of the register block
  int64_t greatestAt() const { return factorsAt() + padded(rows); }              // the others: one per row of the unit,
  int64_t sumsAt() const { return greatestAt() + (single() ? 0 : padded(mc * rows)); } // where keys come in blocks
  int64_t resultsAt() const { return sumsAt() + (single() ? 0 : padded(mc * rows)); }
  int64_t scratchElements() const { return resultsAt() + (single() ? 0 : mc * rows * widthVectors() * lanes); }

private:
  int64_t padded(int64_t count) const { return (count + lanes - 1) / lanes * lanes; }
};

} // namespace lathe
