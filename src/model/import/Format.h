// A source format of models: a reader that converts a file to plain records, and a table of operators. A new format
// needs no other code.
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

/// Function that imports one operator: reads the node, emits nn operators and sets the node's outputs.
using Handler = void (*)(Node &);
using Handlers = std::unordered_map<std::string, Handler>;
/// Function that imports an operator with subgraphs or on sequences (Unfold.h).
using StructureHandler = void (*)(StructureNode &);

struct Format {
  const char *name;        // name of the format in messages, such as "ONNX"
  const char *versionWord; // word for the version of an operator set in messages, such as "opset"
  /// Reads a file of the format as records. Throws Error that begins with `fileName`. `folder` is the folder of the
  /// file (empty: unknown); data outside the file must be in it or below. A format without signatures throws Error for
  /// options that name one.
  ModelRecord (*read)(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder,
                      const ImportOptions &options);
  /// Operators of the format that map to one nn operator: operands in order, attributes by name. For a format that the
  /// operator records (ops/*.td) know, this list is mappings(format) of ops/Registry.h.
  std::vector<MappedOp> mappings;
  /// Operators of the format with an importer function. They take precedence over `mappings`.
  Handlers handlers;
  /// Returns the importer of a node with subgraphs or on sequences; null for other nodes. The function may be null if
  /// the format has no such operators.
  StructureHandler (*structure)(const NodeRecord &node, const std::vector<Entry> &inputs) = nullptr;
  /// Converts the format's number of an element type, as it stands in an attribute, to an element type; `invalid` for
  /// unknown numbers. The function may be null.
  ElementType (*typeOf)(int64_t code) = nullptr;
  std::string (*typeName)(int64_t code) = nullptr;
  /// Names the unsupported operators in the subgraphs and functions of a node. It is called when the inputs of the node
  /// could not be imported, so that its subgraphs cannot be imported either. May be null.
  std::vector<ImportIssue> (*unknownWithin)(const NodeRecord &node, const std::string &name) = nullptr;
  /// True for a node of the format whose first output is its first input unchanged. May be null.
  bool (*passesOn)(const NodeRecord &node) = nullptr;

  bool knows(const std::string &op) const;
  /// Returns the direct mapping to an nn operator of `op` at `version`; the mapping's record is null if there is none.
  MappedOp mapping(const std::string &op, int64_t version) const;
  /// A hint for the error about an unknown operator: " (did you mean 'Conv'?)", or "".
  std::string suggestionFor(const std::string &op) const;
};

/// Imports `bytes`, a model of `format`, as a verified module at graph level. Throws Error or
/// UnsupportedError; both are one line.
mlir::OwningOpRef<mlir::ModuleOp> importModelOf(const Format &format, mlir::MLIRContext &context,
                                                std::string_view bytes, const std::string &fileName,
                                                const std::filesystem::path &folder, const ImportOptions &options);

/// Returns the origin of each tensor that the nodes of `graph` write: the node, or for a node that only passes a value
/// on, the origin of that value.
TensorOrigins originsOf(const Format &format, const GraphRecord &graph);

} // namespace lathe::source
