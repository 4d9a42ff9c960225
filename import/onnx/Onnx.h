// ONNX as a source format: its table of operators. Only Reader.cpp and TensorData.cpp use protobuf.
#pragma once

#include "import/Node.h"
#include "import/Unfold.h"
#include "import/onnx/Types.h"

namespace lathe::onnx {

using namespace source;

const Format &format();

/// Reads a file (Reader.cpp). The bytes of a weight stay in the parsed message until they are
/// requested.
ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder);

void addAttentionHandlers(Handlers &table);   // Attention.cpp
void addWindowHandlers(Handlers &table);      // Window.cpp: convolution and pooling
void addNormalizeHandlers(Handlers &table);   // Normalize.cpp: batch norm, softmax, global pools, gemm
void addElementwiseHandlers(Handlers &table); // Elementwise.cpp
void addViewHandlers(Handlers &table);        // View.cpp: reshape, flatten, squeeze, ...
void addMovementHandlers(Handlers &table);    // Movement.cpp: slice, split, pad, resize, ...
void addValueHandlers(Handlers &table);       // Value.cpp: constants, identity, dropout, shape
void addRecurrentHandlers(Handlers &table);   // Recurrent.cpp: LSTM, GRU, RNN
void addIndexedHandlers(Handlers &table);     // Indexed.cpp: top-k, cumulative sums, sampling
void addDecomposedHandlers(Handlers &table);  // Decompose.cpp: operators composed of others
void addEinsumHandlers(Handlers &table);      // Einsum.cpp
void addQuantizeHandlers(Handlers &table);    // Quantize.cpp
/// Structure.cpp; null for operators on tensors without subgraphs.
StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &inputs);
/// Sequence.cpp; null for operators other than those on sequences and optionals.
StructureHandler sequenceHandler(const NodeRecord &node, const std::vector<Entry> &inputs);

// Window.cpp: the common attributes of pooling operators, and ceil_mode converted to padding at the
// end.
Fields averagePoolFields(Node &node);
/// Emits a convolution of integers with the attributes of the node; zero points may be null.
mlir::Value emitConvInteger(Node &node, mlir::Value x, mlir::Value w, mlir::Value xZero, mlir::Value wZero);
void padForCeil(const Dims &x, Fields &fields);

} // namespace lathe::onnx
