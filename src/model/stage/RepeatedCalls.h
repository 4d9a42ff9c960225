// Loops in the source of a model: calls that repeat.
#pragma once

#include "stage/Program.h"

namespace lathe::staging {

/// Makes one repeated statement of calls that follow one another, differ in a number of their prefix ("layer3.1.",
/// "layer3.2.", ...) and pass a value on from one to the next.
void repeatCalls(Function &function);

} // namespace lathe::staging
