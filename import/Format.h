// A source format: a reader that makes plain records of a file, and the table of its operators. Nothing else is needed
// to import models of a format.
#pragma once

#include "import/Import.h"
#include "import/Records.h"
#include "ops/Registry.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lathe::source {

class Node;
struct StructureNode;
struct Entry;

/// Importer of one operator: reads the node, emits nn ops, sets its outputs.
using Handler = void (*)(Node &);
using Handlers = std::unordered_map<std::string, Handler>;
/// Likewise for an operator with subgraphs or on sequences (Unfold.h).
using StructureHandler = void (*)(StructureNode &);

struct Format {
  const char *name;        // "ONNX", in messages
  const char *versionWord; // what it calls the version of an operator set: "opset"
  /// The file's content as records. Throws Error starting with `fileName`. `folder` is where the file lies (empty:
  /// unknown); data beside the model must lie in it or below.
  ModelRecord (*read)(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder);
  /// Operators that one nn operator stands for: operands in order, attributes by name. For a format that the operator
  /// records know these are mappings(format) of ops/Registry.h.
  std::vector<MappedOp> mappings;
  /// Operators that need code; they come before `mappings`.
  Handlers handlers;
  /// Null for operators on tensors without subgraphs. May itself be null: the format has no others.
  StructureHandler (*structure)(const NodeRecord &node, const std::vector<Entry> &inputs) = nullptr;
  /// Element types that attributes give as numbers; `invalid` for those that Lathe does not know. May be null.
  ElementType (*typeOf)(int64_t code) = nullptr;
  std::string (*typeName)(int64_t code) = nullptr;
  /// True for a node whose first output is its first input. May be null.
  bool (*passesOn)(const NodeRecord &node) = nullptr;

  bool knows(const std::string &op) const;
  /// The direct mapping of `op` at `version`; no record where there is none.
  MappedOp mapping(const std::string &op, int64_t version) const;
  /// " (did you mean 'Conv'?)", or "".
  std::string suggestionFor(const std::string &op) const;
};

/// `bytes`, a model of `format`, as a verified module at graph level. Throws Error, UnsupportedError among them; both
/// are one line.
mlir::OwningOpRef<mlir::ModuleOp> importModelOf(const Format &format, mlir::MLIRContext &context,
                                                std::string_view bytes, const std::string &fileName,
                                                const std::filesystem::path &folder, const ImportOptions &options);

/// The tensors that the graph's nodes write.
TensorOrigins originsOf(const Format &format, const GraphRecord &graph);

} // namespace lathe::source
