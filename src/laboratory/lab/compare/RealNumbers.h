// Converts integers to the real numbers they stand for, if two sides of a network have different types: a float model
// and an int8 one.
#pragma once

#include "lab/compare/Ports.h"
#include "support/Quantization.h"

#include <map>

namespace lathe::lab {

/// Quantisations of inputs and outputs, by their names.
using Scales = std::map<std::string, Quantization>;

/// Returns the ports as callers see them who pass real numbers: a port with a scale has type f32.
std::vector<RunnerPort> realPorts(std::vector<RunnerPort> ports, const Scales &scales);

/// The real numbers that the elements of port `name` stand for; the tensor itself if it has no scale.
Tensor realNumbers(const Scales &scales, const std::string &name, const Tensor &tensor);

/// Converts real numbers to elements of `port`: quantises them if the port has a scale.
Tensor elementsFor(const Scales &scales, const RunnerPort &port, const Tensor &real);

/// True if pairPorts pairs each of their ports with one of ours.
bool allPaired(const std::vector<RunnerPort> &ours, const std::vector<RunnerPort> &theirs);

} // namespace lathe::lab
