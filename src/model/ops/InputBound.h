// Magnitude of random operands with which a right kernel is told from a wrong one.
#pragma once

#include <string_view>

namespace lathe {

/// Random inputs of a kernel of `family` are between -inputBound and inputBound. Recurrences get small ones: with
/// weights up to 1 rounding errors grow with every step, and no bound tells them from errors of the code
/// (codegen/families/RecurrentTest.cpp judges such recurrences step by step).
inline double inputBound(std::string_view family) { return family == "recurrent" ? 0.1 : 1; }

} // namespace lathe
