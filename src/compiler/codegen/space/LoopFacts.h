// Facts about kernels of the loop-shaped families, for their priors and the legality of their
// schedules.
#pragma once

#include "codegen/space/KernelFacts.h"

namespace lathe {

/// Division of an index space into work items. Each work item has one index of the axes before `axis`, `chunk` indices of `axis`, and all of
/// the axes behind it.
struct Units {
  size_t axis = 0;
  int64_t chunk = 1;
  int64_t inner = 1; // elements of one index of `axis`
  Dim chunks = 1;    // chunks along `axis`
  Dim count = 1;     // number of work items
};
/// Divides a space into work items of about `grain` elements at most, counting only the axes [0,
/// limit). The last axis is divided at multiples of `granule`.
Units cutUnits(const Dims &extents, int64_t grain, int64_t granule, size_t limit);

/// Arguments of cutUnits: the extents, the number of axes that work items are cut along, the granule, and the number of
/// elements of `grain` that an index of the last of these axes counts as.
struct LoopShape {
  Dims extents;
  size_t limit = 0;
  int64_t granule = 1, divisor = 1;
};

/// A grain near `grain` whose work items are shared by the threads most evenly: every thread gets as many consecutive ones as
/// the others, and the last one may be smaller. With one thread: `grain`.
int64_t evenGrain(const LoopShape &shape, int64_t grain, int64_t threads);

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
  Prediction predict(const Schedule &schedule) const override;

  LoopShape shape;
  double elementCycles = 0.1; // of a result's element, with operands in the innermost cache

private:
  const char *algorithm;
  int64_t shared, alone;
};

class MapFacts : public LoopFacts {
public:
  int64_t operators = 0; // number of operators of the kernel
  LoopShape shape;       // granule: lanes
  /// One vector: instructions beside loads and stores, values alive at once, and constants.
  struct Body {
    double instructions = 1, live = 2, constants = 2;
  } body;
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

class PoolFacts : public LoopFacts {
public:
  int64_t window = 1; // elements of the window
  bool blocked = false, average = false;
  int64_t lastKernel = 1, lastStride = 1; // of the last spatial axis
  LoopShape shape;                        // limit: the axis of a row's positions
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

class ReduceFacts : public LoopFacts {
public:
  int64_t vectors = 0; // result vectors along the innermost kept axis, if lanes are results and the number is known
  bool lanesAreResults = false, vectorLoop = false; // vectorLoop: along an axis of results
  int64_t lanes = 1;
  double operations = 1; // instructions per element
  Dim terms = 1;         // of a result
  LoopShape shape;       // of the results
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

/// Facts of softmax and normalize: statistics over rows of elements, or over columns of vectors.
class RowFacts : public KernelFacts {
public:
  bool contiguous = false; // lanes are elements of one row
  int64_t lanes = 1;
  Dim length = 1; // elements per row
  Dim count = 1;  // rows that can be processed side by side
  LoopShape shape;

  void require(const Schedule &schedule) const override;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
  /// `grain` of the prior for `rows` rows side by side.
  int64_t grainFor(int64_t rows, int64_t known) const;
};

class SoftmaxFacts : public RowFacts {
public:
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

class NormalizeFacts : public RowFacts {
public:
  unsigned bits = 32; // bits per element
  Schedule prior() const override;
  Prediction predict(const Schedule &schedule) const override;
};

} // namespace lathe
