// Matches the inputs or outputs of two networks by name, otherwise by order and shape, also across layouts.
#pragma once

#include "lab/compare/Runner.h"
#include "runtime/Tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe::lab {

/// Pairs ports of two networks: returns for each port of `theirs` the position of its partner in `ours`. The partner
/// is the port with the same name, otherwise the first port that no name has matched with the same type and fitting
/// extents (fitOf). An unknown type matches any type. Nothing if there is no partner.
std::vector<std::optional<size_t>> pairPorts(const std::vector<RunnerPort> &ours,
                                             const std::vector<RunnerPort> &theirs);

/// Whether a tensor fits a port, and how its axes must be permuted.
struct PortFit {
  bool fits = false;
  /// Axis of the tensor for each axis of the port, if the port has the channels before the spatial axes instead of
  /// after them, or the reverse. Empty: the same layout.
  std::vector<size_t> permutation;
};

/// Checks the extents of a tensor against a port, whose open extents fit any number. If the extents fit without a
/// permutation, the layouts count as equal.
PortFit fitOf(const RunnerPort &tensor, const RunnerPort &port);

/// Makes a port called `name` with the type and extents of a tensor.
RunnerPort portOf(const std::string &name, const Tensor &tensor);

/// Returns a copy of `tensor` whose axis i is the axis permutation[i] of `tensor`.
Tensor transposed(const Tensor &tensor, const std::vector<size_t> &permutation);

/// Returns an input or output (port) of a model as text, "data f32 1x3x224x224"; several ports are separated by
/// commas.
std::string portText(const RunnerPort &port);
std::string portsText(const std::vector<RunnerPort> &ports);
/// The extents of a port as text, "1x3x224x224"; "scalar" for a port without axes.
std::string extentsText(const RunnerPort &port);

} // namespace lathe::lab
