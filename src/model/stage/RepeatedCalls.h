// Turns repeated calls of a function in staged source into loops.
#pragma once

#include "stage/Program.h"

namespace lathe::staging {

/// Replaces consecutive calls in `function` by one repeated statement, if they differ only in a number in their prefix
/// ("layer3.1.", "layer3.2.", ...) and each call passes a value to the next one.
void repeatCalls(Function &function);

} // namespace lathe::staging
