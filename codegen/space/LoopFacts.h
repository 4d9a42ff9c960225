// The facts about kernels of the loop-shaped families: what their priors and the legality of their schedules go by.
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
  int64_t operators = 0; // of the kernel
  Schedule prior() const override;
};

class PoolFacts : public LoopFacts {
public:
  int64_t window = 1; // elements
  bool blocked = false;
  Schedule prior() const override;
};

class ReduceFacts : public LoopFacts {
public:
  int64_t vectors = 0; // of results along the innermost kept axis, where lanes are results and their number is known
  Schedule prior() const override;
};

/// softmax and normalize: statistics over rows of elements, or over lines of vectors below one another.
class RowFacts : public KernelFacts {
public:
  bool contiguous = false; // lanes are elements of one row
  int64_t lanes = 1;
  Dim length = 1; // elements of a row
  Dim count = 1;  // rows that may stand side by side

  void require(const Schedule &schedule) const override;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
  /// The prior's `grain` with `rows` rows side by side.
  int64_t grainFor(int64_t rows, int64_t known) const;
};

class SoftmaxFacts : public RowFacts {
public:
  Schedule prior() const override;
};

class NormalizeFacts : public RowFacts {
public:
  unsigned bits = 32; // of an element
  Schedule prior() const override;
};

} // namespace lathe
