// Layouts by measured times.
//
// Measured and predicted costs are never added or compared, because a prediction that is wrong by a fifth would
// overrule all measurements. The choice takes three minimum cuts:
//
// 1. By predictions: the *default* layouts.
// 2. By predictions that make everything outside the default layouts cheaper by `flattery`: the *rival* layouts. They
//    equal the default layouts where the cost model leaves no doubt.
// 3. By measured times, where the two differ. An operator takes its layouts from one of the two, the default ones if
//    either form was not measured. A new conversion must have been measured; removing an unmeasured one gains nothing.
//
// All costs of the third cut are measured, up to constants, and everything outside the default layouts counts
// `measuredDoubt` more. The default layouts are a solution with exact cost. So the measured times of all kernels add up
// to no more than with the default layouts, and any change saves at least the doubt. Without times the result is the
// default layouts.
#pragma once

#include "passes/kernels/LayoutProblem.h"

namespace lathe {

/// Returns the layouts that the costs `measured` (in seconds) decide; `standard` are the default layouts, which the
/// costs `predicted` decide. Asks only for times of kernels in which the default and the rival layouts differ.
Layouts layoutsByMeasurement(const LayoutProblem &problem, const LayoutPrices &predicted, const Layouts &standard,
                             const LayoutCosts &measured);

} // namespace lathe
