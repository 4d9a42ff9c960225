// The inputs of a model for a run: read from files or generated.
#pragma once

#include "jobs/ModelOptions.h"
#include "runtime/Model.h"
#include "runtime/Tensor.h"

#include <map>
#include <set>

namespace lathe::jobs {

struct InputOptions {
  // values of --input: "name=x.npy", "x.npy" (single input), "all.npz", or a folder of writeValues
  std::vector<std::string> given;
  std::vector<std::string> like; // files in the form of `given`, of which only the extents of the inputs are used
  std::string fill;              // "zeros", "ones", "random"; "": every input must be given
  uint64_t seed = 0;
  int64_t batch = 0; // extent of symbolic first dimensions; 0: as 1
  // True if the user gave --fill (--seed): it is then an Error if no input is generated.
  bool fillAsked = false, seedAsked = false;
  /// Names of inputs that hold variables of the model (variablesOf). A variable without a given value starts with the
  /// real number zero, regardless of --fill.
  std::set<std::string> variables;

  /// These options as arguments of a verb; with --fill and --seed if `fills`.
  Arguments arguments(bool fills) const;
};

/// Paths of the files that --input names.
std::vector<std::string> filesOf(const InputOptions &options);

/// Returns the values of a model's inputs, one for each port, in order. `shapes` as in ModelOptions. Throws Error with
/// the input (missing, unknown, wrong type or shape) or with the flag that has no effect.
std::vector<Value> gatherInputs(std::span<const runtime::Port> ports, const InputOptions &flags,
                                const std::vector<std::string> &shapes);

/// Names of the inputs NAME.past for which there is an output NAME.next of the same type and extents: importers name
/// the variables of a model like this.
std::set<std::string> variablesOf(std::span<const runtime::Port> inputs, std::span<const runtime::Port> outputs);

/// Names of inputs for which --input gives a file, but which the model does not have.
std::vector<std::string> unknownInputs(std::span<const runtime::Port> ports, const InputOptions &flags);
/// The values that --input gives, by name of the input.
std::map<std::string, Value> givenInputs(std::span<const runtime::Port> ports, const InputOptions &flags);
/// The extents that --shape gives, by name of the input. Throws Error for a shape of an unknown input, and for one
/// that the input cannot have.
std::map<std::string, std::vector<int64_t>> shapesByName(std::span<const runtime::Port> ports,
                                                         const std::vector<std::string> &texts);
/// Adds to `known` the value of every symbol that is the whole extent of an axis of `port`, taken from `dims`.
void bindSymbols(const runtime::Port &port, std::span<const int64_t> dims, std::map<std::string, int64_t> &known);
/// Throws Error if an input has no value and nothing fills it, or if --fill or --seed have nothing to fill.
void requireFillHonoured(std::span<const runtime::Port> ports, const InputOptions &flags,
                         const std::map<std::string, Value> &given);
/// Generates the tensor for an input as --fill says. A symbol in its extents has its value in `known`, else the value
/// of --batch, else 1; `number` tells the random inputs of one seed apart.
Tensor filledInput(const runtime::Port &port, const InputOptions &flags,
                   const std::map<std::string, std::vector<int64_t>> &shapes,
                   const std::map<std::string, int64_t> &known, uint64_t number);

/// True if some input has no value in `flags.given` and must be filled.
bool fillsInputs(std::span<const runtime::Port> ports, const InputOptions &flags);

/// A tensor of random values: floats uniform in [-1, 1), integers in [0, 10), booleans. Equal for equal seeds on every
/// machine.
Tensor randomTensor(ElementType type, std::vector<int64_t> dims, uint64_t seed);

/// Parses "data=1x3x224x224" to name and extents. Throws Error for a text of another form.
std::pair<std::string, std::vector<int64_t>> parseShape(const std::string &text);

/// Names and extents of the tensor inputs as text: "data 1x3x224x224, mask 1x128".
std::string inputsText(std::span<const runtime::Port> ports, std::span<const Value> values);

/// Extents of a tensor as text: "1x1000".
std::string dimsText(std::span<const int64_t> dims);

/// Throws Error if writeValues cannot write `count` outputs to `path`. Call it before long work.
void requireValuesPath(const std::string &path, size_t count);

/// Writes values to `path`: an .npz file; an .npy file or the standard output ("-", as .npy) for a
/// single value; or NAME.npy files in a folder (existing, or created if the name ends in "/").
void writeValues(const std::string &path, std::span<const std::string> names, std::span<const Value> values);

} // namespace lathe::jobs
