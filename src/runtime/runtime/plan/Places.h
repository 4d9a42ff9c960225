// Checks of the places, devices and memory spaces of a package's program (package/plan.fbs).
#pragma once

#include "package/plan_generated.h"
#include "runtime/plan/Program.h"

#include <string>

namespace lathe::runtime {

/// Throws Error that begins with `file` if the program needs a device that this runtime does not have.
void checkDevices(const plan::Program &program, const std::string &file);

/// Throws Error if an index of a place, device or memory space is out of range, or if an instruction waits for an
/// instruction that does not stand before it in the block.
void checkPlaces(const plan::Program &program, const plan::Plan &plan);

/// Throws Error if an instruction of a plan with places uses what another one computes and may begin before it is done.
void checkOrder(const plan::Plan &source, const Plan &plan);

} // namespace lathe::runtime
