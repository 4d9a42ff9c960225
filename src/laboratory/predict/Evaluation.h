// How close predicted latencies are to measured ones. Each family of networks is predicted by fits without that family.
#pragma once

#include "predict/Latency.h"

namespace lathe::predict {

/// A network that was predicted by a fit, and with an interval, in which its family took no part.
struct Evaluated {
  const MeasuredNetwork *network;
  double seconds = 0;                           // predicted
  double costModelSeconds = 0, peakSeconds = 0; // by the cost model alone, and of its operations at peak
  double spread = 0;                            // half width of the interval in logarithms

  bool isCovered() const;
};
std::vector<Evaluated> evaluate(const MachinePoints &points);

/// Errors of predictions, of `of` for example Evaluated::seconds.
struct Errors {
  size_t count = 0;
  double mean = 0;     // mean of |predicted / measured - 1|
  double within10 = 0; // share of them that are at most 0.1
  double bias = 0;     // geometric mean of predicted / measured
  double covered = 0;  // share of latencies in their intervals
};
Errors errorsOf(std::span<const Evaluated *const> networks, double Evaluated::*of = &Evaluated::seconds);

} // namespace lathe::predict
