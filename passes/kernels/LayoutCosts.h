// Costs for the choice of layouts, in cycles of one core.
#pragma once

#include <cstdint>

namespace lathe {

struct MachineFacts;

/// Cost model for ranking only. The defaults are from profiles of shufflenet_v2 on Zen 5 at 4 GHz,
/// whose values fit the second-level cache.
struct LayoutCosts {
  double flopsPerCycle = 50;          // operations per cycle of a convolution
  double convertedBytesPerCycle = 15; // layout conversion: bytes read plus bytes written, per cycle
  double scalarCycles = 0.8;          // cycles per element for scalar loads and stores
  double callCycles = 1200;           // start, fork and join of a kernel

  /// Converts cycles to the whole numbers of the cut: sixteenths of a cycle.
  static int64_t units(double cycles) { return static_cast<int64_t>(16 * cycles); }
};

/// Costs for `machine` with vectors of `lanes` fp32 elements. As on Zen 5, convolutions reach 25/32
/// of the peak of multiply-adds, and conversions 5/16 of the bandwidth of the second level. No fact
/// gives the costs of scalar accesses and calls, which stay the same number of cycles.
LayoutCosts layoutCosts(const MachineFacts &machine, int64_t lanes);

} // namespace lathe
