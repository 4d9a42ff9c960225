// The parts of reading textual IR: what the text says before it is parsed, its weights, and the checks of what was
// parsed.
#pragma once

#include "ir/Safetensors.h"

#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/SourceMgr.h"

#include <map>
#include <optional>
#include <string>

namespace lathe::nn {

/// The module's attribute that names the file of the weights, relative to the text's folder.
constexpr const char *weightsAttribute = "nn.weights";

/// What is known of a text before it is parsed.
struct TextScan {
  std::optional<std::string> weights; // value of nn.weights as it is written, between the quotes
};
/// Throws Error for text nested so deeply that the parser, which is recursive, would run out of stack.
TextScan scanText(llvm::StringRef source, const std::string &path);

/// The weights of a text: its file, found by name, and the parser's view of it.
class TextWeights {
public:
  /// Opens the file that the text names, or the one beside the text that has its name and `.safetensors` behind it.
  /// Throws Error where a named file is missing or no safetensors file.
  TextWeights(const TextScan &scan, const std::string &path);

  /// A section behind the text that gives every weight a placeholder.
  std::string placeholders() const;
  /// Puts the data in the place of the placeholders. Throws Error where constants and weights do not fit.
  void load(mlir::ModuleOp module) const;

  /// Name of the weights' file for a new text at `path`.
  static std::string pathFor(const std::string &path) { return path + ".safetensors"; }

private:
  std::string path, weightsPath;
  bool exists = false;
  Safetensors weights;

  [[noreturn]] void failMissing(const std::string &constant) const;
};

/// Operations by where the text has them.
class TextPlaces {
public:
  TextPlaces(const mlir::AsmParserState &state, const llvm::SourceMgr &source, const std::string &path);

  /// "line 12: MESSAGE (m.onnx: node 3 'conv1' (Conv))".
  std::string at(mlir::Operation *op, const std::string &message) const;

  /// The same for the first thing that MLIR's verifier says about the module; "" where it says nothing.
  std::string verify(mlir::ModuleOp module) const;

private:
  std::string path;
  std::map<mlir::Operation *, std::pair<unsigned, unsigned>> positions; // line, column
};

/// Throws Error for what the verifier lets pass and nothing else of Lathe expects: attributes that nothing reads,
/// operators of other dialects, functions without a body, values that are no tensors.
void checkAttributes(mlir::ModuleOp module, const TextPlaces &places, const std::string &path);
void checkStructure(mlir::ModuleOp module, const TextPlaces &places, const std::string &path);

} // namespace lathe::nn
