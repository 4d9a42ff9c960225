// Reads the tables of a TFLite file about tensors and operators.
#pragma once

#include "import/Records.h"
#include "import/tflite/tflite_generated.h" // of tflite.fbs

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::tflite {

/// The quantisation of a tensor in a TFLite file; nothing if it has none. Throws Error if scales, zero points and
/// extents disagree.
std::optional<Quantization> quantizationOf(const file::Tensor &tensor);

/// The element type for TFLite's number of a type; `invalid` for types that Lathe does not have.
ElementType elementType(file::TensorType type);
/// The name of a TFLite type, such as "INT8"; also for unknown numbers.
std::string typeName(file::TensorType type);
/// A text in a TFLite file; "" if it is absent.
inline std::string textOf(const flatbuffers::String *text) { return text ? text->str() : std::string(); }
/// The name of a TFLite operator, such as "CONV_2D"; also for unknown numbers.
std::string operatorName(file::BuiltinOperator code);

/// An operator as it stands in the TFLite file; NodeRecord::source points to it.
struct SourceNode {
  const file::SubGraph *graph;
  const file::Operator *op;
  file::BuiltinOperator code;
  int32_t version;                                // version of the operator
  const std::vector<source::GraphRecord> *graphs; // all subgraphs of the file, by their number
};

/// The quantisation of each node's first result in a graph, by the node's name (import/TensorScales.h).
std::map<std::string, Quantization> tensorScales(const source::GraphRecord &graph);

} // namespace lathe::tflite
