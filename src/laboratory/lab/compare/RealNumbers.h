// Converts integers to the real numbers they stand for, for a comparison of two sides of different types: a float
// model and an int8 model.
#pragma once

#include "lab/compare/Ports.h"
#include "support/Quantization.h"

#include <map>

namespace lathe::lab {

/// Quantisations of a model's inputs and outputs, by name.
using Scales = std::map<std::string, Quantization>;

/// Returns the ports as a caller sees them who passes real numbers: a port with a scale has type f32.
std::vector<RunnerPort> realPorts(std::vector<RunnerPort> ports, const Scales &scales);

/// Converts the elements of port `name` to the real numbers that they stand for; returns the tensor itself if the port
/// has no scale.
Tensor realNumbers(const Scales &scales, const std::string &name, const Tensor &tensor);

/// Converts real numbers to elements of `port`: quantises them if the port has a scale.
Tensor elementsFor(const Scales &scales, const RunnerPort &port, const Tensor &real);

/// True if pairPorts finds a partner in `ours` for each port of `theirs`.
bool allPaired(const std::vector<RunnerPort> &ours, const std::vector<RunnerPort> &theirs);

} // namespace lathe::lab
