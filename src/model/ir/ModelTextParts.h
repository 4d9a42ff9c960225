// Parts of the reader of textual IR: the scan before parsing, the weights, and the checks after
// parsing.
#pragma once

#include "ir/Safetensors.h"

#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/SourceMgr.h"

#include <map>
#include <optional>
#include <string>

namespace lathe::nn {

/// Module attribute with the path of the weights file, relative to the folder of the text.
constexpr const char *weightsAttribute = "nn.weights";

/// Result of scanning textual IR before it is parsed.
struct TextScan {
  std::optional<std::string> weights; // value of the attribute nn.weights, as written between the quotes
};
/// Scans textual IR before it is parsed. Throws Error if it is nested so deeply that the recursive parser would
/// exhaust the stack.
TextScan scanText(llvm::StringRef source, const std::string &path);

/// The file of weights of textual IR, and the placeholders by which the parser knows the weights.
class TextWeights {
public:
  /// Opens the file of weights that the text names, else the file named like the text with `.safetensors` appended.
  /// Throws Error if a named file is missing or is not a safetensors file.
  TextWeights(const TextScan &scan, const std::string &path);

  /// Returns a section to append to the text, which gives every weight a placeholder.
  std::string placeholders() const;
  /// Replaces the placeholders in the parsed module by the weights. Throws Error if constants and weights do not
  /// match.
  void load(mlir::ModuleOp module) const;

  /// Path of the file of weights for a new text at `path`.
  static std::string pathFor(const std::string &path) { return path + ".safetensors"; }

private:
  std::string path, weightsPath;
  bool exists = false;
  Safetensors weights;

  [[noreturn]] void failMissing(const std::string &constant) const;
};

/// The positions of operations in a text that was parsed.
class TextPlaces {
public:
  TextPlaces(const mlir::AsmParserState &state, const llvm::SourceMgr &source, const std::string &path);

  /// Adds the place of `op` to a message: "line 12: MESSAGE (m.onnx: node 3 'conv1' (Conv))".
  std::string at(mlir::Operation *op, const std::string &message) const;

  /// Runs the MLIR verifier. Returns its first message with the place, as `at` writes it, or "".
  std::string verify(mlir::ModuleOp module) const;

private:
  std::string path;
  std::map<mlir::Operation *, std::pair<unsigned, unsigned>> positions; // line and column of each operation
};

/// Throw Error for valid MLIR that Lathe does not support: unknown attributes, operators of other
/// dialects, functions without a body, values that are not tensors.
void checkAttributes(mlir::ModuleOp module, const TextPlaces &places, const std::string &path);
void checkStructure(mlir::ModuleOp module, const TextPlaces &places, const std::string &path);

} // namespace lathe::nn
