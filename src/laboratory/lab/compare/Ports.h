// Matches the inputs or outputs of two networks: by name, else by order and shape, across layouts.
#pragma once

#include "lab/compare/Runner.h"
#include "runtime/Tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe::lab {

/// Position of our port for each of theirs: the one with the same name, else the first one that no name has taken,
/// with the same type and fitting extents (fitOf). An unknown type is the same as any. Nothing where there is none.
std::vector<std::optional<size_t>> pairPorts(const std::vector<RunnerPort> &ours,
                                             const std::vector<RunnerPort> &theirs);

/// How a tensor meets a port.
struct PortFit {
  bool fits = false;
  /// Axis of the tensor for each axis of the port, where the port has the channels elsewhere: in front of the
  /// spatial axes in place of behind them, or the reverse. Empty: the same layout.
  std::vector<size_t> permutation;
};

/// The extents of a tensor against a port, whose open extents fit any number. A shape that fits as it is has the same
/// layout.
PortFit fitOf(const RunnerPort &tensor, const RunnerPort &port);

/// A port with the type and extents of a tensor.
RunnerPort portOf(const std::string &name, const Tensor &tensor);

/// Copy of `tensor` whose axis i is the axis permutation[i] of `tensor`.
Tensor transposed(const Tensor &tensor, const std::vector<size_t> &permutation);

/// "data f32 1x3x224x224", and several with commas between them.
std::string portText(const RunnerPort &port);
std::string portsText(const std::vector<RunnerPort> &ports);
/// "1x3x224x224"; "scalar" without extents.
std::string extentsText(const RunnerPort &port);

} // namespace lathe::lab
