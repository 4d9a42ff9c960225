// Layouts by measured times.
//
// Measured and predicted costs are never added or compared: a prediction that is wrong by a fifth would decide against
// everything that was measured. The choice takes three minimum cuts:
//
// 1. By predictions: the *default* layouts.
// 2. By predictions that flatter whatever the default layouts do not have, by `flattery`: the *rival* layouts. They are the
//    default ones where the cost model leaves no doubt.
// 3. By measured times, where the two differ. An operator has the layouts of one of the two; it keeps the default ones if
//    either form was not measured. A conversion that was not measured is not added, and gains nothing where it goes.
//
// All costs of the third cut are measured, up to constants, and what the default layouts do not have counts
// `measuredDoubt` more than it took. The default layouts are one of its solutions, with their exact cost, so the times of
// all kernels, each measured alone, add up to no more than with the default layouts, and to less by the doubt where
// anything changes. Without times the result is the default layouts.
#pragma once

#include "passes/kernels/LayoutProblem.h"

namespace lathe {

/// Returns the layouts by `measured` (in seconds), given the `standard` ones, which `predicted` decide. Asks only for
/// kernels in which the default and the rival layouts differ.
Layouts layoutsByMeasurement(const LayoutProblem &problem, const LayoutPrices &predicted, const Layouts &standard,
                             const LayoutCosts &measured);

} // namespace lathe
