// A source model as plain records: what the reader of a format hands to Graph.h. No MLIR, no format's own types.
#pragma once

#include "support/ElementType.h"
#include "support/Error.h"

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

/// The elements of a tensor.
struct TensorData {
  ElementType type = ElementType::invalid;
  std::vector<int64_t> dims;
  std::vector<char> bytes;          // row-major, native order; booleans 0 or 1; sub-byte types packed
  std::vector<std::string> strings; // of string tensors
};

/// The product of `dims`, refusing negative extents and more than 2^42 elements (Error starting with `what`).
int64_t checkedElements(const std::vector<int64_t> &dims, const std::string &what);

/// A tensor of the file, decoded when it is asked for.
struct TensorRecord {
  std::string name;
  ElementType type = ElementType::invalid; // invalid: one that Lathe does not know
  std::string typeName;                    // as the format calls it, for messages
  /// Throws Error, starting with `what` ("initializer 'w'"), unless type, extents and data agree.
  std::function<TensorData(const std::string &what)> read;
  /// Frees the bytes; `read` is not called again. Empty: nothing to free.
  std::function<void()> release;
};

/// A value of a kind that no operator reads, such as a sparse tensor.
struct OtherKind {
  std::string name; // "a sparse tensor"
};

struct GraphRecord;

struct AttributeRecord {
  std::string name;
  /// Nothing where the attribute has no value, or only `graphs` or `parameter`.
  std::variant<std::monostate, int64_t, float, std::string, ElementType, TensorRecord, std::vector<int64_t>,
               std::vector<float>, std::vector<std::string>, OtherKind>
      value;
  std::vector<GraphRecord> graphs; // bodies and branches
  std::string parameter;           // in a function: the attribute of the call that gives the value; "" elsewhere
};

struct NodeRecord {
  std::string name;   // "" where the file gives none
  std::string domain; // of the operator; "" for the format's own
  std::string op;
  std::vector<std::string> inputs, outputs; // names of tensors; "" where an optional one is absent
  std::vector<AttributeRecord> attributes;
};

struct ExtentRecord {
  std::optional<int64_t> value;
  std::string symbol; // where `value` is absent; "" for an extent without a name
};

/// An input or output of a graph.
struct ValueRecord {
  std::string name;
  std::string kind; // "" for a tensor, otherwise what it is: "a sequence"
  ElementType type = ElementType::invalid;
  std::string typeName;
  std::optional<std::vector<ExtentRecord>> extents; // nothing: the rank is not known
};

/// Nodes may stand in any order. Names are those of tensors.
struct GraphRecord {
  std::vector<NodeRecord> nodes;
  std::vector<ValueRecord> inputs, outputs;
  std::vector<TensorRecord> initializers;
  std::vector<std::pair<std::string, std::string>> unreadable; // initializers by name, with the reason
};

/// Nodes that nodes of its name and domain stand for.
struct FunctionRecord {
  std::string domain, name;
  std::optional<int64_t> version; // of the operator set its nodes are of; nothing: the caller's
  std::vector<std::string> inputs, outputs;
  std::vector<AttributeRecord> defaults;
  std::vector<NodeRecord> nodes;
};

struct ModelRecord {
  int64_t version = 0; // of the operator set
  std::string producer;
  GraphRecord graph;
  std::vector<FunctionRecord> functions;
  std::shared_ptr<void> storage; // the parsed file, which the tensors' functions read
};

/// `name` without characters that would break a message's line.
std::string oneLine(std::string name);
/// A node's name: its own, or that of its first output.
std::string nodeName(const NodeRecord &node);
/// Names a node reads, those its subgraphs take from outside included; sorted. Throws Error for subgraphs nested deeper
/// than `mostNested`.
std::vector<std::string> namesRead(const NodeRecord &node);
/// Subgraphs and functions nest at most this deep.
inline constexpr int mostNested = 64;

/// `node` with the attributes that a function's call gives it (`given`, by name); `storage` holds the copy where one is
/// made.
const NodeRecord &withParameters(const NodeRecord &node, const std::map<std::string, const AttributeRecord *> &given,
                                 NodeRecord &storage);

} // namespace lathe::source
