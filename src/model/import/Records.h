// A source model as plain records, which the reader of a format passes to Graph.h. Independent of
// MLIR and of the format.
#pragma once

#include "support/ElementType.h"
#include "support/Error.h"
#include "support/Quantization.h"
#include "support/ValueKind.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lathe::source {

/// The type, extents and elements of a constant tensor.
struct TensorData {
  ElementType type = ElementType::invalid;
  std::vector<int64_t> dims;
  // elements in row-major order and native byte order; booleans 0 or 1; sub-byte types packed
  std::vector<char> bytes;
  std::vector<std::string> strings; // elements of string tensors
};

/// Number of elements of a tensor with extents `dims`. Throws Error, beginning with `what`, for negative extents and
/// for more than 2^42 elements.
int64_t checkedElements(const std::vector<int64_t> &dims, const std::string &what);

/// A constant tensor of a model file, decoded on demand.
struct TensorRecord {
  std::string name;
  ElementType type = ElementType::invalid; // element type; invalid: a type that Lathe does not have
  std::string typeName;                    // name of the element type in the format, for messages
  /// Decodes the tensor. Throws Error, beginning with `what` ("initializer 'w'"), unless type,
  /// extents and data agree.
  std::function<TensorData(const std::string &what)> read;
  /// Frees the tensor's bytes; `read` must not be called afterwards. May be empty.
  std::function<void()> release;
};

/// A value that no operator reads, such as a sparse tensor.
struct OtherKind {
  std::string name; // name of the kind for messages, such as "a sparse tensor"
};

struct ExtentRecord {
  std::optional<int64_t> value;
  std::string symbol; // name of an extent without `value`; "": an extent without a name
};

/// An input or output of a graph. For a sequence or an optional, `type` and `extents` describe its tensors.
struct ValueRecord {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  // for a value that is no tensor, sequence or optional: its kind for messages, such as "a map"; "" otherwise
  std::string other;
  ElementType type = ElementType::invalid;
  std::string typeName;
  std::optional<std::vector<ExtentRecord>> extents; // extents of the tensor; empty: unknown rank
  std::optional<Quantization> quantization = {};    // present for integers that stand for real numbers

  /// Makes the record of a value with this name and no other information.
  static ValueRecord named(const std::string &name) {
    ValueRecord value;
    value.name = name;
    return value;
  }
};

struct GraphRecord;

struct AttributeRecord {
  std::string name;
  /// The attribute's value; empty if it has none, or only `graphs` or `parameter`.
  std::variant<std::monostate, int64_t, float, std::string, ElementType, TensorRecord, std::vector<int64_t>,
               std::vector<float>, std::vector<std::string>, ValueRecord, OtherKind>
      value;
  std::vector<GraphRecord> graphs; // subgraphs that the attribute holds: bodies and branches
  std::string parameter;           // in a function: name of the call's attribute that gives the value; "" elsewhere
};

struct NodeRecord {
  std::string name;   // name of the node; "": none
  std::string domain; // domain of the operator; "": the format's own domain
  std::string op;
  std::vector<std::string> inputs, outputs; // names of tensors; "": an absent optional operand or an unused result
  std::vector<AttributeRecord> attributes;
  const void *source = nullptr; // the parsed node of the file, for importers that read it; null if none do
};

/// The nodes and values of a source graph, in any order. Nodes refer to tensors by name.
struct GraphRecord {
  std::vector<NodeRecord> nodes;
  std::vector<ValueRecord> inputs, outputs;
  std::vector<ValueRecord> values; // results of nodes, as far as the file describes them
  std::vector<TensorRecord> initializers;
  // names of initializers that cannot be read, with the reason
  std::vector<std::pair<std::string, std::string>> unreadable;
};

/// A function of a source model: the nodes that replace a node with the function's name and domain.
struct FunctionRecord {
  std::string domain, name;
  // version of the operator set of the function's nodes; empty: the version of the caller
  std::optional<int64_t> version;
  std::vector<std::string> inputs, outputs;
  std::vector<AttributeRecord> defaults;
  std::vector<NodeRecord> nodes;
};

struct ModelRecord {
  int64_t version = 0; // version of the operator set of the model's nodes
  std::string producer;
  GraphRecord graph;
  std::vector<FunctionRecord> functions;
  std::shared_ptr<void> storage; // keeps the parsed file alive, from which the tensors are read
};

/// Returns `name` without characters that would break the line of a message.
std::string oneLine(std::string name);
/// Name of a node for messages: its own name, else the name of its first output.
std::string nodeName(const NodeRecord &node);
/// Names of the tensors that a node and its subgraphs read, sorted. Throws Error for subgraphs nested deeper than
/// `mostNested`.
std::vector<std::string> namesRead(const NodeRecord &node);
/// Largest nesting depth of subgraphs and functions.
inline constexpr int mostNested = 64;

/// Returns a node of a function with the attributes that the call of the function gives (`given`, by name). `storage`
/// holds the changed copy if one is needed.
const NodeRecord &withParameters(const NodeRecord &node, const std::map<std::string, const AttributeRecord *> &given,
                                 NodeRecord &storage);

} // namespace lathe::source
