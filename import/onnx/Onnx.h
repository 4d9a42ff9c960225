// ONNX as a source format: its table of operators. Only Reader.cpp and TensorData.cpp see protobuf.
#pragma once

#include "import/Node.h"
#include "import/Unfold.h"
#include "import/onnx/Types.h"

namespace lathe::onnx {

using namespace source;

const Format &format();

/// Reader.cpp. A weight's bytes stay in the parsed message until they are asked for.
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
void addDecomposedHandlers(Handlers &table);  // Decompose.cpp: operators that are a few others
void addEinsumHandlers(Handlers &table);      // Einsum.cpp
void addQuantizeHandlers(Handlers &table);    // Quantize.cpp
/// Structure.cpp: null for operators on tensors without subgraphs.
StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &inputs);
/// Sequence.cpp: likewise for operators on sequences and optionals alone.
StructureHandler sequenceHandler(const NodeRecord &node, const std::vector<Entry> &inputs);

// Of Window.cpp. The attributes every pooling operator has; and ceil_mode replaced by padding behind.
Fields averagePoolFields(Node &node);
/// A convolution of integers by the node's attributes over these operands (zero points may be null).
mlir::Value emitConvInteger(Node &node, mlir::Value x, mlir::Value w, mlir::Value xZero, mlir::Value wZero);
void padForCeil(const Dims &x, Fields &fields);

} // namespace lathe::onnx
