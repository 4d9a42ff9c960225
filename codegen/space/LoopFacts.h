// Facts about kernels of the loop-shaped families, for their priors and the legality of their
// schedules.
#pragma once

#include "codegen/space/KernelFacts.h"

namespace lathe {

/// Families whose schedules are all legal.
class LoopFacts : public KernelFacts {
public:
  void require(const Schedule &) const override {}

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
};

/// Families whose only parameter is `grain`: `alone` elements for one thread, `shared` for more.
class GrainFacts : public LoopFacts {
public:
  GrainFacts(const char *algorithm, int64_t shared, int64_t alone)
      : algorithm(algorithm), shared(shared), alone(alone) {}
  Schedule prior() const override;

private:
  const char *algorithm;
  int64_t shared, alone;
};

class MapFacts : public LoopFacts {
public:
  int64_t operators = 0; // number of operators of the kernel
  Schedule prior() const override;
};

class PoolFacts : public LoopFacts {
public:
  int64_t window = 1; // elements of the window
  bool blocked = false;
  Schedule prior() const override;
};

class ReduceFacts : public LoopFacts {
public:
  int64_t vectors = 0; // result vectors along the innermost kept axis, if lanes are results and the number is known
  Schedule prior() const override;
};

/// Facts of softmax and normalize: statistics over rows of elements, or over columns of vectors.
class RowFacts : public KernelFacts {
public:
  bool contiguous = false; // lanes are elements of one row
  int64_t lanes = 1;
  Dim length = 1; // elements per row
  Dim count = 1;  // rows that can be processed side by side

  void require(const Schedule &schedule) const override;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
  /// `grain` of the prior for `rows` rows side by side.
  int64_t grainFor(int64_t rows, int64_t known) const;
};

class SoftmaxFacts : public RowFacts {
public:
  Schedule prior() const override;
};

class NormalizeFacts : public RowFacts {
public:
  unsigned bits = 32; // bits per element
  Schedule prior() const override;
};

} // namespace lathe
