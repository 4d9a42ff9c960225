// Inputs of a run, from files or generated.
#pragma once

#include "jobs/ModelOptions.h"
#include "runtime/Model.h"
#include "runtime/Tensor.h"

#include <map>
#include <set>

namespace lathe::jobs {

struct InputOptions {
  std::vector<std::string> given; // "name=x.npy", "x.npy" (single input), "all.npz", or a folder of writeValues
  std::vector<std::string> like;  // files in the form of `given`; only the extents of their inputs are used
  std::string fill;               // "zeros", "ones", "random"; "": every input must be given
  uint64_t seed = 0;
  int64_t batch = 0; // extent of symbolic first dimensions; 0: 1
  // True if --fill (--seed) was given: an Error if no input is generated.
  bool fillAsked = false, seedAsked = false;
  /// Names of inputs that hold variables of the model (variablesOf). A variable that is not given starts with the real
  /// number zero, regardless of --fill.
  std::set<std::string> variables;

  /// The flags as arguments; with --fill and --seed if `fills`.
  Arguments arguments(bool fills) const;
};

/// The files that --input names.
std::vector<std::string> filesOf(const InputOptions &options);

/// Returns one value per port, in order. `shapes` as in ModelOptions. Throws Error with the input
/// (missing, unknown, wrong type or shape) or the flag without effect.
std::vector<Value> gatherInputs(std::span<const runtime::Port> ports, const InputOptions &flags,
                                const std::vector<std::string> &shapes);

/// Names of the inputs NAME.past for which there is an output NAME.next of the same type and extents: importers name
/// the variables of a model like this.
std::set<std::string> variablesOf(std::span<const runtime::Port> inputs, std::span<const runtime::Port> outputs);

/// Names that --input gives with a file, and that no port has.
std::vector<std::string> unknownInputs(std::span<const runtime::Port> ports, const InputOptions &flags);
/// What --input gives, by name of the port.
std::map<std::string, Value> givenInputs(std::span<const runtime::Port> ports, const InputOptions &flags);
/// --shape by name of the port. Throws Error for a shape of no input, or not one that the input can have.
std::map<std::string, std::vector<int64_t>> shapesByName(std::span<const runtime::Port> ports,
                                                         const std::vector<std::string> &texts);
/// For every symbol that is the whole extent of an axis of `port`: adds its value in `dims` to `known`.
void bindSymbols(const runtime::Port &port, std::span<const int64_t> dims, std::map<std::string, int64_t> &known);
/// Throws Error if an input is missing that nothing fills, or if --fill or --seed have nothing to fill.
void requireFillHonoured(std::span<const runtime::Port> ports, const InputOptions &flags,
                         const std::map<std::string, Value> &given);
/// What --fill makes for a port. Symbols of its extents are those `known`, else as --batch says, else 1; `number` tells
/// random inputs of one seed apart.
Tensor filledInput(const runtime::Port &port, const InputOptions &flags,
                   const std::map<std::string, std::vector<int64_t>> &shapes,
                   const std::map<std::string, int64_t> &known, uint64_t number);

/// True if `flags.given` does not cover all inputs.
bool fillsInputs(std::span<const runtime::Port> ports, const InputOptions &flags);

/// A tensor of random values: floats uniform in [-1, 1), integers in [0, 10), booleans. Equal for equal seeds on every
/// machine.
Tensor randomTensor(ElementType type, std::vector<int64_t> dims, uint64_t seed);

/// Parses "data=1x3x224x224" to name and extents. Throws Error for another form.
std::pair<std::string, std::vector<int64_t>> parseShape(const std::string &text);

/// Names and extents of the tensor inputs as text: "data 1x3x224x224, mask 1x128".
std::string inputsText(std::span<const runtime::Port> ports, std::span<const Value> values);

/// Extents as text: "1x1000".
std::string dimsText(std::span<const int64_t> dims);

/// Throws Error if writeValues cannot write `count` outputs to `path`. Call it before long work.
void requireValuesPath(const std::string &path, size_t count);

/// Writes values to `path`: an .npz file; an .npy file or the standard output ("-", as .npy) for a
/// single value; or NAME.npy files in a folder (existing, or created if the name ends in "/").
void writeValues(const std::string &path, std::span<const std::string> names, std::span<const Value> values);

} // namespace lathe::jobs
