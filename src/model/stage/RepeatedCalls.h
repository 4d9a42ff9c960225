// Turns repeated calls in the source of a model into loops.
#pragma once

#include "stage/Program.h"

namespace lathe::staging {

/// Replaces consecutive calls by one repeated statement, if they differ in a number of their prefix ("layer3.1.",
/// "layer3.2.", ...) and each passes a value to the next one.
void repeatCalls(Function &function);

} // namespace lathe::staging
