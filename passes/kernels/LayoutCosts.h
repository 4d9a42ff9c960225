// What choices of layouts are weighed with, in cycles of one core.
#pragma once

#include <cstdint>

namespace lathe {

struct MachineFacts;

/// For ranking only. The defaults are those of Zen 5, whose profiles of shufflenet_v2 (values fit the second-level
/// cache) showed them at 4 GHz.
struct LayoutCosts {
  double flopsPerCycle = 50;          // of a convolution
  double convertedBytesPerCycle = 15; // copied with a change of layout, bytes read and bytes written together
  double scalarCycles = 0.8;          // an element stored or loaded one by one
  double callCycles = 1200;           // a kernel more: its start, fork and join

  /// Costs are cut as whole numbers: sixteenths of a cycle.
  static int64_t units(double cycles) { return static_cast<int64_t>(16 * cycles); }
};

/// Of `machine`, whose vectors have `lanes` fp32 elements. Convolutions reach 25/32 of what multiply-adds allow, and
/// conversions 5/16 of what the second level delivers, as on Zen 5. No fact says what scalar accesses and calls take:
/// those two stay as they are in cycles.
LayoutCosts layoutCosts(const MachineFacts &machine, int64_t lanes);

} // namespace lathe
