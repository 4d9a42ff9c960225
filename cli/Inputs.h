// The inputs of one run: from files, or filled.
#pragma once

#include "cli/ModelFlags.h"
#include "runtime/Model.h"
#include "runtime/Tensor.h"

#include <map>

namespace lathe::cli {

struct InputFlags {
  std::vector<std::string> given; // "name=x.npy", "x.npy" (single input), "all.npz", a folder as writeValues makes it
  std::string fill;               // "zeros", "ones", "random"; "": every input must be given
  uint64_t seed = 0;
  int64_t batch = 0; // extent of symbolic first dimensions; 0: 1
  // --fill and --seed were asked for: where no input is filled they are Errors.
  bool fillAsked = false, seedAsked = false;

  /// `defaultFill`: what is done where inputs are missing and --fill is not given ("" refuses).
  void add(Options &options, const std::string &defaultFill);
  /// The flags as arguments; --fill and --seed where `fills`, which says that inputs are left to fill.
  Arguments arguments(bool fills) const;
};

/// One value a port, in order. `shapes` as in ModelFlags. Throws Error naming the input (missing, unknown, of another
/// type or shape) or the flag that has nothing to act on.
std::vector<Value> gatherInputs(std::span<const runtime::Port> ports, const InputFlags &flags,
                                const std::vector<std::string> &shapes);

/// True when `flags.given` leaves inputs to fill.
bool fillsInputs(std::span<const runtime::Port> ports, const InputFlags &flags);

/// Random values of `type`: floats uniform in [-1, 1), integers in [0, 10), booleans either. The same for the same seed
/// everywhere.
Tensor randomTensor(ElementType type, std::vector<int64_t> dims, uint64_t seed);

/// "data=1x3x224x224" to name and extents; throws Error for another form.
std::pair<std::string, std::vector<int64_t>> parseShape(const std::string &text);

/// "data 1x3x224x224, mask 1x128": names and extents of the inputs that are tensors.
std::string inputsText(std::span<const runtime::Port> ports, std::span<const Value> values);

/// "1x1000"
std::string dimsText(std::span<const int64_t> dims);

/// One line an output on standard output (when `print`), and the same in json["outputs"].
void printOutputs(std::span<const std::string> names, std::span<const Value> outputs, nlohmann::json &json, bool print);

/// Help of an option that takes such a path.
inline constexpr const char *outputHelp =
    "Write the outputs to FILE.npz, FOLDER/, or FILE.npy for a single one (-: .npy on standard output)";

/// Throws Error where writeValues could not write `count` outputs at `path`: to be called before long work.
void requireValuesPath(const std::string &path, size_t count);

/// Writes values to `path`: an .npz file; an .npy file or the standard output ("-", as .npy) where there is one; or one
/// NAME.npy each in a folder (its name ends in "/", and it is made when missing, or it is there).
void writeValues(const std::string &path, std::span<const std::string> names, std::span<const Value> values);

} // namespace lathe::cli
