// The extents of the inputs at which the verbs bench and compare measure one package.
#pragma once

#include "jobs/Inputs.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::jobs {

/// The extents of the inputs in one measurement.
struct Size {
  int64_t batch = 0;               // as InputOptions::batch
  std::vector<std::string> shapes; // as ModelOptions::shapes
};

/// Parses a list of numbers for the flag `option`: "1,2,4", "8..64" (8, 16, 32, 64: doubling, including the last) and
/// "8..64:8" (in steps of 8), in any combination. Throws Error for another form and for more than 1000 numbers.
std::vector<int64_t> parseCounts(const std::string &option, const std::string &text);

/// Returns every combination of the batches in `batches` ("" for none) and the sets of --shape. An input with several
/// --shape has one of them in each set; an input with one --shape has it in all sets. Throws Error if two inputs have
/// different numbers of shapes.
std::vector<Size> sizesOf(const std::string &batches, const std::vector<std::string> &shapes);

/// True if some input has several --shape. The model is then compiled without these shapes.
bool severalShapes(const std::vector<std::string> &shapes);

} // namespace lathe::jobs
