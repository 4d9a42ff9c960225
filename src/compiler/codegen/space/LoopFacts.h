// Facts about kernels that are loops over elements, for choosing schedules (priors) and deciding which schedules are
// legal.
#pragma once

#include "codegen/space/KernelFacts.h"

namespace lathe {

/// A division of an index space into work items. Each work item has one index of each axis before `axis`, `chunk`
/// indices of `axis`, and all indices of the axes behind it.
struct Units {
  size_t axis = 0;
  int64_t chunk = 1;
  int64_t inner = 1; // number of elements that belong to one index of `axis`
  Dim chunks = 1;    // number of chunks along `axis`
  Dim count = 1;     // number of work items
};
/// Divides an index space into work items of at most about `grain` elements, along the axes [0, limit) only. The last
/// of these axes is divided at multiples of `granule`.
Units cutUnits(const Dims &extents, int64_t grain, int64_t granule, size_t limit);

/// The index space of a kernel and how it may be divided into work items. `extents`, `limit` and `granule` are the
/// arguments of cutUnits. An index of the last axis that is divided counts as `divisor` elements of `grain`.
struct LoopShape {
  Dims extents;
  size_t limit = 0;
  int64_t granule = 1, divisor = 1;
};

/// Returns a grain (elements of a work item) near `grain` with which threads share the work items most evenly: every
/// thread gets as many consecutive work items as the others, and the last work item may be smaller. Returns `grain`
/// for one thread.
int64_t evenGrain(const LoopShape &shape, int64_t grain, int64_t threads);

/// Facts of kernel families whose schedules are all legal.
class LoopFacts : public KernelFacts {
public:
  void require(const Schedule &) const override {}

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
};

/// Facts of kernel families whose only parameter is `grain`, the elements of a work item. The prior chooses about
/// `alone` elements for one thread, `shared` for several threads.
class GrainFacts : public LoopFacts {
public:
  GrainFacts(const char *algorithm, int64_t shared, int64_t alone)
      : algorithm(algorithm), shared(shared), alone(alone) {}
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;

  LoopShape shape;
  double elementCycles = 0.1; // cycles per element of the result, with operands in the innermost cache

private:
  const char *algorithm;
  int64_t shared, alone;
};

class MapFacts : public LoopFacts {
public:
  int64_t operators = 0; // number of operators in the kernel
  LoopShape shape;       // the granule of the shape is the number of lanes
  /// What the loop body needs for one vector: number of instructions besides loads and stores, of values alive at
  /// once, and of constants.
  struct Body {
    double instructions = 1, live = 2, constants = 2;
  } body;
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

class PoolFacts : public LoopFacts {
public:
  int64_t window = 1; // number of elements of the pooling window
  bool blocked = false, average = false;
  int64_t lastKernel = 1, lastStride = 1; // kernel extent and stride of the last spatial axis
  LoopShape shape;                        // work items are divided along the axes before the positions of a row
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

class ReduceFacts : public LoopFacts {
public:
  // if lanes are results: number of vectors of results along the innermost kept axis, if known
  int64_t vectors = 0;
  // vectorLoop: the loop over vectors runs along an axis of results
  bool lanesAreResults = false, vectorLoop = false;
  int64_t lanes = 1;
  double operations = 1; // number of instructions for each element
  Dim terms = 1;         // number of elements that are reduced to one result
  LoopShape shape;       // shape of the space of the results
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

/// Facts of the families softmax and normalize, which take statistics over rows. The elements of a row are in the
/// lanes of vectors, or each lane is a row of its own.
class RowFacts : public KernelFacts {
public:
  bool contiguous = false; // true: the lanes of a vector are elements of one row
  int64_t lanes = 1;
  Dim length = 1; // number of elements in a row
  Dim count = 1;  // number of rows that can be processed side by side
  LoopShape shape;

  void require(const Schedule &schedule) const override;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
  /// The value that the prior chooses for `grain` if `rows` rows are processed side by side.
  int64_t grainFor(int64_t rows, int64_t known) const;
};

class SoftmaxFacts : public RowFacts {
public:
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

class NormalizeFacts : public RowFacts {
public:
  unsigned bits = 32; // width of an element in bits
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

} // namespace lathe
