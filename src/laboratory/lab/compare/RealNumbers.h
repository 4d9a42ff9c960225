// Integers that stand for real numbers, where two sides of one network have other types: a float model beside an int8 one.
#pragma once

#include "lab/compare/Ports.h"
#include "support/Quantization.h"

#include <map>

namespace lathe::lab {

/// Of inputs and outputs, by name.
using Scales = std::map<std::string, Quantization>;

/// The ports; a port with a scale has type f32.
std::vector<RunnerPort> realPorts(std::vector<RunnerPort> ports, const Scales &scales);

/// The real numbers that the elements of port `name` stand for; without a scale the tensor itself.
Tensor realNumbers(const Scales &scales, const std::string &name, const Tensor &tensor);

/// Real numbers as elements of a port: quantised where it has a scale.
Tensor elementsFor(const Scales &scales, const RunnerPort &port, const Tensor &real);

/// True if every port of theirs is paired with one of ours (pairPorts).
bool allPaired(const std::vector<RunnerPort> &ours, const std::vector<RunnerPort> &theirs);

} // namespace lathe::lab
