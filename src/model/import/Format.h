// A source format: a reader that converts a file to plain records, and a table of operators. A new format needs no
// other code.
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

/// Importer of one operator: reads the node, emits nn operators and sets its outputs.
using Handler = void (*)(Node &);
using Handlers = std::unordered_map<std::string, Handler>;
/// Importer of an operator with subgraphs or on sequences (Unfold.h).
using StructureHandler = void (*)(StructureNode &);

struct Format {
  const char *name;        // "ONNX", in messages
  const char *versionWord; // name of the version of an operator set: "opset"
  /// Reads a file as records. Throws Error that begins with `fileName`. `folder` is the folder of
  /// the file (empty: unknown); data outside the file must be in it or below. A format without signatures throws Error for
  /// options that name one.
  ModelRecord (*read)(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder,
                      const ImportOptions &options);
  /// Operators that map to one nn operator: operands in order, attributes by name. For a format in
  /// the operator records these are mappings(format) of ops/Registry.h.
  std::vector<MappedOp> mappings;
  /// Operators with an importer function. They take precedence over `mappings`.
  Handlers handlers;
  /// Returns the importer of a node with subgraphs or on sequences; null for other nodes. The function may be null if
  /// the format has no such operators.
  StructureHandler (*structure)(const NodeRecord &node, const std::vector<Entry> &inputs) = nullptr;
  /// Converts a number in an attribute to an element type; `invalid` for unknown types. The function may be null.
  ElementType (*typeOf)(int64_t code) = nullptr;
  std::string (*typeName)(int64_t code) = nullptr;
  /// Names the unsupported operators in the subgraphs and functions of a node. It is called when the inputs of the node
  /// could not be imported, so that its subgraphs cannot be imported either. May be null.
  std::vector<ImportIssue> (*unknownWithin)(const NodeRecord &node, const std::string &name) = nullptr;
  /// True for a node whose first output is its first input. May be null.
  bool (*passesOn)(const NodeRecord &node) = nullptr;

  bool knows(const std::string &op) const;
  /// Returns the direct mapping of `op` at `version`; its record is null if there is none.
  MappedOp mapping(const std::string &op, int64_t version) const;
  /// A hint for an unknown operator: " (did you mean 'Conv'?)", or "".
  std::string suggestionFor(const std::string &op) const;
};

/// Imports `bytes`, a model of `format`, as a verified module at graph level. Throws Error or
/// UnsupportedError; both are one line.
mlir::OwningOpRef<mlir::ModuleOp> importModelOf(const Format &format, mlir::MLIRContext &context,
                                                std::string_view bytes, const std::string &fileName,
                                                const std::filesystem::path &folder, const ImportOptions &options);

/// Origins of the tensors that the nodes of the graph write.
TensorOrigins originsOf(const Format &format, const GraphRecord &graph);

} // namespace lathe::source
