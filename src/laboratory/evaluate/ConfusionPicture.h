// Draws a confusion matrix as a picture.
#pragma once

#include "evaluate/Decisions.h"

#include <string>
#include <vector>

namespace lathe::evaluate {

/// Writes the part of a confusion matrix with the classes that occur to `path`, as SVG with labels and counts, or as
/// PNG. Each pair of classes is one square; rows are classes and columns decisions; a larger share of the row is
/// darker. Throws Error for another extension.
void writeConfusion(const std::string &path, const Confusion &confusion, const std::vector<std::string> &names);

/// Returns the confusion matrix as SVG text.
std::string confusionSvg(const Confusion &confusion, const std::vector<std::string> &names);

} // namespace lathe::evaluate
