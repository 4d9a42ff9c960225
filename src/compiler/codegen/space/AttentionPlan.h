// Facts of attention kernels, and the plan of a schedule of `attention`.
#pragma once

#include "codegen/space/ContractionFormat.h"
#include "codegen/space/KernelFacts.h"

namespace lathe {

/// How the kernel reads one operand of attention as matrices: for every head, a matrix of rows by lanes.
struct AttentionWalk {
  unsigned buffer = 0;
  ElementType type = ElementType::invalid;
  Dim base = 0, rowStride = 0, laneStride = 0;
  Dims outer; // strides along the axes AttentionGeometry::outer, which count heads
};

struct AttentionGeometry {
  ElementType type, compute; // type: of elements in memory; compute: of elements in scratch and of arithmetic
  int64_t lanes;
  double scale, fill, softcap; // softcap: limit of the scores; 0 if there is none
  bool causal, zeroMaskedRows;
  Dim visible; // causal attention only: query i sees the keys 0 ... i + visible
  Dims outer;  // extents of the axes that count heads; every operand has one stride for each axis
  Dim queries, keys;
  int64_t depth, width; // depth: lanes (elements) of a row of q and k; width: of a row of v and the result
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
  /// True if keys and values can be read where they lie in memory: rows are neighbours and have few vectors.
  bool readsInPlace() const;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
  bool allowsWord(const Parameter &parameter, std::string_view word) const override;
};

/// With type=bf16, scaled queries, keys, values and exponentials are rounded before products
/// (codegen/contraction/common/FormatCode.h). Scores, softmax, sums and the result stay in fp32.
struct AttentionPlan : AttentionGeometry {
  int64_t rows, vectors, unroll, mc, kc;
  ContractionFormat format; // format of the products whose operands are in scratch
  bool packs; // true: keys and values are copied into scratch; false: they are read where they lie in memory

  /// Makes the plan of a schedule of `attention`. Throws Illegal for an illegal schedule.
  AttentionPlan(const AttentionFacts &facts, const Schedule &schedule);

  Dim heads() const { return product(outer); }
  /// True if all keys of a head are in scratch at once. Otherwise blocks of keys are processed one
  /// after the other and results are rescaled.
  bool single() const { return kc == 0; }
  int64_t panel() const { return vectors * lanes; } // number of keys in a panel
  int64_t keyCapacity() const;                      // number of keys in scratch, rounded up to whole panels
  int64_t widthVectors() const { return (width + lanes - 1) / lanes; }
  /// Number of lanes of depth, or of keys, in one reduction step of a product.
  int64_t ofStep() const { return format.group; }
  int64_t depthSteps() const { return format.unitsOf(depth); }
  int64_t depthPitch() const { return (depth + lanes - 1) / lanes * lanes / ofStep(); }
  // row distance of the scores in scratch; the addition avoids powers of two
  int64_t scorePitch() const { return keyCapacity() + lanes; }
  Dim pieces() const { return ceilDiv(queries, rows); }
  Dim chunks() const { return ceilDiv(pieces(), mc); }

  // The offsets of the parts of scratch, in elements of `compute`. A unit is as large as an element.
  int64_t keysAt() const { return 0; }
  int64_t valuesAt() const { return packs ? keyCapacity() * depthSteps() : 0; }
  int64_t queriesAt() const { return packs ? valuesAt() + keyCapacity() / ofStep() * widthVectors() * lanes : 0; }
  int64_t scoresAt() const { return queriesAt() + padded(rows * depthPitch()); }
  // one factor per row of the register block
  int64_t factorsAt() const { return scoresAt() + padded(rows * scorePitch()); }
  // this and the parts below: one number per row of the work item,
  int64_t greatestAt() const { return factorsAt() + padded(rows); }
  // and only if the keys come in blocks
  int64_t sumsAt() const { return greatestAt() + (single() ? 0 : padded(mc * rows)); }
  int64_t resultsAt() const { return sumsAt() + (single() ? 0 : padded(mc * rows)); }
  int64_t scratchElements() const { return resultsAt() + (single() ? 0 : mc * rows * widthVectors() * lanes); }

private:
  int64_t padded(int64_t count) const { return (count + lanes - 1) / lanes * lanes; }
};

} // namespace lathe
