// Magnitude of the random operands with which kernels are tested.
#pragma once

#include <string_view>

namespace lathe {

/// Random test inputs of a kernel of `family` are between -inputBound and inputBound. Recurrences get small inputs:
/// with weights up to 1, rounding errors grow with every step, and no bound separates them from errors of the code
/// (codegen/families/RecurrentTest.cpp judges such recurrences step by step).
inline double inputBound(std::string_view family) { return family == "recurrent" ? 0.1 : 1; }

} // namespace lathe
