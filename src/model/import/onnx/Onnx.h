// ONNX as a source format: its table of operators. Only Reader.cpp and TensorData.cpp use protobuf.
#pragma once

#include "import/Node.h"
#include "import/Unfold.h"
#include "import/onnx/Types.h"

namespace lathe::onnx {

using namespace source;

const Format &format();

/// Reads an ONNX file into records (Reader.cpp). The bytes of a weight stay in the parsed message until they are
/// needed.
ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder,
                      const ImportOptions &options = {});

// Functions that add importers of ONNX operators to a table. These importers take precedence over the mappings in
// ops/*.td.
void addAttentionHandlers(Handlers &table);   // Attention.cpp
void addWindowHandlers(Handlers &table);      // Window.cpp: convolution, pooling, global pooling
void addNormalizeHandlers(Handlers &table);   // Normalize.cpp: normalizations, softmax, minimum and maximum, gemm
void addElementwiseHandlers(Handlers &table); // Elementwise.cpp
void addViewHandlers(Handlers &table);        // View.cpp: reshape, flatten, squeeze, unsqueeze
void addMovementHandlers(Handlers &table);    // Movement.cpp: split, pad, upsample, resize
void addValueHandlers(Handlers &table);       // Value.cpp: constants, identity, dropout, size
void addRecurrentHandlers(Handlers &table);   // Recurrent.cpp: LSTM, GRU, RNN
void addIndexedHandlers(Handlers &table);     // Indexed.cpp: top-k, cumulative sums, sampling
void addDecomposedHandlers(Handlers &table);  // Decompose.cpp: operators composed of others
void addQuantizeHandlers(Handlers &table);    // Quantize.cpp
void addMatMulNBitsHandlers(Handlers &table); // MatMulNBits.cpp: ONNX Runtime's product with weights of few bits
void addSignalHandlers(Handlers &table);      // Signal.cpp: windows, Fourier transforms, mel bands
void addStateHandlers(Handlers &table);       // State.cpp: operators whose result is the state of the next run
void addNGramHandlers(Handlers &table);       // NGrams.cpp: TfIdfVectorizer
void addDeformHandlers(Handlers &table);      // Deform.cpp: DeformConv
/// Returns the importer of an ONNX operator with subgraphs (Structure.cpp) or of an operator on sequences; null for
/// operators on tensors without subgraphs.
StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &inputs);
/// Returns the importer of an ONNX operator on sequences or optionals (Sequence.cpp); null for other operators.
StructureHandler sequenceHandler(const NodeRecord &node, const std::vector<Entry> &inputs);
void importFlexAttention(StructureNode &node);   // FlexAttention.cpp
void importLinearAttention(StructureNode &node); // LinearAttention.cpp

/// Emits step `iteration` of x along `axis`. If x has no steps, emits a value with the extents of a step, for the body
/// of a loop that never runs (LinearAttention.cpp).
mlir::Value stepOf(Node &node, mlir::Value x, mlir::Value iteration, int64_t axis);

/// Emits the extent of x along an axis as an i64 scalar.
mlir::Value extentOf(Node &node, mlir::Value x, int64_t axis);
/// Emits x / sqrt(extent of x along `axis`), as attention scales queries.
mlir::Value overRootOfExtent(Node &node, mlir::Value x, int64_t axis);
/// Emits the vector 0, 1, ..., size - 1, where `size` is an i64 scalar; a constant if the size is known.
mlir::Value countTo(Node &node, mlir::Value size);
/// Emits a vector as a matrix with one column.
mlir::Value column(Node &node, mlir::Value vector);

/// Reads kernel, strides, pads, dilations and ceil_mode of a pooling node (Window.cpp).
Fields averagePoolFields(Node &node);
/// Emits a convolution of integers with the window attributes of the node; zero points may be null.
mlir::Value emitConvInteger(Node &node, mlir::Value x, mlir::Value w, mlir::Value xZero, mlir::Value wZero);
/// Replaces ceil_mode in the fields of a pooling operator by more padding at the end (Window.cpp). `x` are the extents
/// of the input. Throws Unsupported for a symbolic spatial extent.
void padForCeil(const Dims &x, Fields &fields);

} // namespace lathe::onnx
