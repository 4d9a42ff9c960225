// Inputs of a run, from files or generated.
#pragma once

#include "cli/ModelFlags.h"
#include "runtime/Model.h"
#include "runtime/Tensor.h"

#include <map>
#include <set>

namespace lathe::cli {

struct InputFlags {
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

  /// Adds the flags. `defaultFill` applies if inputs are missing and --fill is not given ("": an
  /// Error). Without `oneBatch` there is no --batch (cli/Sizes.h adds a list).
  void add(Options &options, const std::string &defaultFill, bool oneBatch = true);
  /// The flags as arguments for another `lathe`; `fills`: with --fill and --seed.
  Arguments arguments(bool fills) const;
};

/// Returns one value per port, in order. `shapes`: ModelFlags::shapes. Throws Error with the input (missing, unknown,
/// wrong type or shape) or the flag without effect.
std::vector<Value> gatherInputs(std::span<const runtime::Port> ports, const InputFlags &flags,
                                const std::vector<std::string> &shapes);

/// Names of the inputs NAME.past for which there is an output NAME.next of the same type and extents: importers name
/// the variables of a model like this.
std::set<std::string> variablesOf(std::span<const runtime::Port> inputs, std::span<const runtime::Port> outputs);

/// Names for which --input gives a file, but that are not the name of a port.
std::vector<std::string> unknownInputs(std::span<const runtime::Port> ports, const InputFlags &flags);
/// The values that --input gives, by name of the port.
std::map<std::string, Value> givenInputs(std::span<const runtime::Port> ports, const InputFlags &flags);
/// The extents that --shape gives, by name of the port. Throws Error for a shape of an unknown input, and for a shape
/// that the input cannot have.
std::map<std::string, std::vector<int64_t>> shapesByName(std::span<const runtime::Port> ports,
                                                         const std::vector<std::string> &texts);
/// For every symbol that is the whole extent of an axis of `port`: adds its value in `dims` to `known`.
void bindSymbols(const runtime::Port &port, std::span<const int64_t> dims, std::map<std::string, int64_t> &known);
/// Throws Error if an input is missing and there is no --fill, or if --fill or --seed have nothing to fill.
void requireFillHonoured(std::span<const runtime::Port> ports, const InputFlags &flags,
                         const std::map<std::string, Value> &given);
/// The value that --fill makes for a port. Its extents are those that `shapes` gives for the port. A symbol in other
/// extents has its value in `known`; otherwise --batch, if it is the first extent; otherwise 1. `number` distinguishes
/// random inputs with the same seed.
Tensor filledInput(const runtime::Port &port, const InputFlags &flags,
                   const std::map<std::string, std::vector<int64_t>> &shapes,
                   const std::map<std::string, int64_t> &known, uint64_t number);

/// True if some input is missing in `flags.given`, so that it is filled.
bool fillsInputs(std::span<const runtime::Port> ports, const InputFlags &flags);

/// A tensor of random values: floats uniform in [-1, 1), integers in [0, 10), booleans. Equal for equal seeds on every
/// machine.
Tensor randomTensor(ElementType type, std::vector<int64_t> dims, uint64_t seed);

/// Parses "data=1x3x224x224" to name and extents. Throws Error for another form.
std::pair<std::string, std::vector<int64_t>> parseShape(const std::string &text);

/// Names and extents of the tensor inputs as text: "data 1x3x224x224, mask 1x128".
std::string inputsText(std::span<const runtime::Port> ports, std::span<const Value> values);

/// Extents as text: "1x1000".
std::string dimsText(std::span<const int64_t> dims);

/// Prints one line for each output (if `print`), and adds the same facts to json["outputs"].
void printOutputs(std::span<const std::string> names, std::span<const Value> outputs, nlohmann::json &json, bool print);

/// Help text of options whose value is a path for writeValues.
inline constexpr const char *outputHelp =
    "Write the outputs to FILE.npz, FOLDER/, or FILE.npy for a single one (-: .npy on standard output)";

/// Throws Error if writeValues cannot write `count` outputs to `path`. Call it before long work.
void requireValuesPath(const std::string &path, size_t count);

/// Writes values to `path`: an .npz file; an .npy file or the standard output ("-", as .npy) for a
/// single value; or NAME.npy files in a folder (existing, or created if the name ends in "/").
void writeValues(const std::string &path, std::span<const std::string> names, std::span<const Value> values);

} // namespace lathe::cli
