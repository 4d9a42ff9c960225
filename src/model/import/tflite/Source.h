// What the tables of a TFLite file say of tensors and operators.
#pragma once

#include "import/Records.h"
#include "import/tflite/tflite_generated.h" // of tflite.fbs

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::tflite {

/// The quantisation of a tensor; nothing if it has none. Throws Error if scales, zero points and extents disagree.
std::optional<Quantization> quantizationOf(const file::Tensor &tensor);

/// `invalid` for types without an element type of ours.
ElementType elementType(file::TensorType type);
/// "INT8", also for numbers that are no type.
std::string typeName(file::TensorType type);
/// "" where the file has no text.
inline std::string textOf(const flatbuffers::String *text) { return text ? text->str() : std::string(); }
/// "CONV_2D", also for numbers that are no operator.
std::string operatorName(file::BuiltinOperator code);

/// An operator of the file: what NodeRecord::source points to.
struct SourceNode {
  const file::SubGraph *graph;
  const file::Operator *op;
  file::BuiltinOperator code;
  int32_t version;                                // of the operator
  const std::vector<source::GraphRecord> *graphs; // all subgraphs of the file, by number
};

/// What the first results of the nodes of a graph stand for, by the names of the nodes (import/TensorScales.h).
std::map<std::string, Quantization> tensorScales(const source::GraphRecord &graph);

} // namespace lathe::tflite
