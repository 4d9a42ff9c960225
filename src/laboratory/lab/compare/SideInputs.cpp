#include "lab/compare/SideInputs.h"

#include "lab/compare/Ports.h"
#include "runtime/NpyTensor.h"

#include <algorithm>

namespace lathe::lab {
namespace {

class Matching {
public:
  Matching(const LoadedSide &first, const LoadedSide &side, const CompareOptions &options, const std::string &stem)
      : first(first), side(side), options(options), stem(stem) {}

  SideInputs match(const std::vector<BoundInput> &inputs) {
    std::vector<RunnerPort> ours;
    std::vector<const BoundInput *> candidates = taken(inputs);
    for (const BoundInput *input : candidates)
      ours.push_back(input->port);
    const std::vector<RunnerPort> &theirs = side.model.inputs;
    compareTypes(ours);
    auto pairs = result.real ? pairPorts(realPorts(ours, first.scales), realPorts(theirs, side.scales))
                             : pairPorts(ours, theirs);
    require(ours.size() == theirs.size() && std::all_of(pairs.begin(), pairs.end(), [](auto &pair) { return pair; }),
            "{} has inputs {}, {} has {}: not the same network", first.called, portsText(ours), side.called,
            portsText(theirs));
    for (size_t i = 0; i < theirs.size(); ++i)
      give(*candidates[*pairs[i]], i);
    return std::move(result);
  }

private:
  const LoadedSide &first, &side;
  const CompareOptions &options;
  const std::string &stem;
  SideInputs result;

  /// The inputs for a side with this number of inputs: without the variables, if it keeps them internally.
  std::vector<const BoundInput *> taken(const std::vector<BoundInput> &inputs) {
    std::vector<const BoundInput *> all, others;
    for (const BoundInput &input : inputs) {
      all.push_back(&input);
      if (!options.variables.contains(input.port.name))
        others.push_back(&input);
    }
    if (side.model.inputs.size() != others.size() || others.size() == all.size())
      return all;
    result.notes.push_back(
        fmt::format("keeps the variables {} itself; they begin with zero", fmt::join(options.variables, ", ")));
    return others;
  }

  /// Finds out whether the side has other types than the first side for the same real numbers.
  void compareTypes(const std::vector<RunnerPort> &ours) {
    auto paired = [&](const std::vector<RunnerPort> &mine, const std::vector<RunnerPort> &theirs) {
      return allPaired(mine, theirs) || !allPaired(realPorts(mine, first.scales), realPorts(theirs, side.scales));
    };
    result.real = !paired(ours, side.model.inputs) || !paired(first.model.outputs, side.model.outputs);
    if (result.real)
      result.notes.emplace_back("has other types: quantised inputs and outputs are compared as real numbers");
  }

  /// Writes the value of input i for the side, if it differs from the first side's file.
  void give(const BoundInput &input, size_t i) {
    const RunnerPort &port = side.model.inputs[i];
    std::string &file = result.files[port.name] = input.file;
    PortFit fit = fitOf(input.port, port);
    auto shapes = [&] {
      return fmt::format("input '{}' of {} is {}, '{}' of {} is {}", port.name, side.called, extentsText(port),
                         input.port.name, first.called, extentsText(input.port));
    };
    require(fit.fits, "{}: not the same network", shapes());
    std::string note = port.name == input.port.name ? "" : fmt::format(" takes '{}'", input.port.name);
    Tensor tensor = result.real ? realNumbers(first.scales, input.port.name, input.tensor) : input.tensor;
    if (!fit.permutation.empty()) {
      require(options.adaptLayouts, "{}: another layout, give --adapt-layouts to transpose it", shapes());
      tensor = transposed(tensor, fit.permutation);
      note += fmt::format("{} transposed from {} to {}", note.empty() ? " is" : ",", extentsText(input.port),
                          extentsText(portOf("", tensor)));
    }
    if (result.real || !fit.permutation.empty()) {
      file = fmt::format("{}{}.npy", stem, i);
      writeNpy(file, npyView(result.real ? elementsFor(side.scales, port, tensor) : tensor));
    }
    if (!note.empty())
      result.notes.push_back(fmt::format("input '{}'{}", port.name, note));
  }
};

} // namespace

SideInputs inputsOfSide(const std::vector<BoundInput> &inputs, const LoadedSide &first, const LoadedSide &side,
                        const CompareOptions &options, const std::string &stem) {
  return Matching(first, side, options, stem).match(inputs);
}

} // namespace lathe::lab
