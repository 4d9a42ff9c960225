// TFLite as a source format: its table of operators, and an operator that is being imported.
#pragma once

#include "import/Node.h"
#include "import/Unfold.h"
#include "import/tflite/Source.h"

namespace lathe::tflite {

using namespace source;
using file::Activation;
using file::BuiltinOperator;
using file::BuiltinOptions;

const Format &format();
/// True for bytes with the mark of a TFLite file.
bool isTflite(std::string_view bytes);

/// Reads a file (Reader.cpp). Its bytes must live as long as the record.
ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder);

/// An operator of the file with its node. Operands and results have the positions of the file; new values of variables
/// are results behind those of the file.
class Operator {
public:
  explicit Operator(Node &node);

  Node &node;
  const SourceNode &source;
  BuiltinOperator code() const { return source.code; }

  /// The options, which must be of `kind`: options<file::Pool2DOptions>(BuiltinOptions::Pool2D). Default values where
  /// the file has none.
  template <class Options> const Options &options(BuiltinOptions kind) const {
    const void *found = optionsOf(kind);
    return *static_cast<const Options *>(found ? found : emptyTable());
  }

  /// What the file says of an operand or a result; null where it is absent.
  const file::Tensor *inputTensor(size_t index) const { return tensor(source.op->inputs(), index); }
  const file::Tensor *outputTensor(size_t index = 0) const { return tensor(source.op->outputs(), index); }
  /// A tensor inside of the operator, as a quantised LSTM has them.
  const file::Tensor *intermediateTensor(size_t index) const { return tensor(source.op->intermediates(), index); }
  std::optional<Quantization> inputQuantization(size_t index) const { return quantization(inputTensor(index)); }
  std::optional<Quantization> outputQuantization(size_t index = 0) const { return quantization(outputTensor(index)); }
  ElementType inputType(size_t index) const { return type(inputTensor(index)); }
  ElementType outputType(size_t index = 0) const { return type(outputTensor(index)); }

  // ---- Often used.
  mlir::Value in(size_t index) const { return node.in(index); }
  void set(mlir::Value value) { node.set(0, value); }
  mlir::Value emit(const char *mnemonic, const Values &operands, const Fields &fields = {}) {
    return node.emit(mnemonic, operands, fields);
  }
  const Dims &dims(mlir::Value value) const { return node.info(value).dims; }
  [[noreturn]] void unsupported(std::string reason) const { node.unsupported(std::move(reason)); }

private:
  const void *optionsOf(BuiltinOptions kind) const;
  static const void *emptyTable();
  const file::Tensor *tensor(const flatbuffers::Vector<int32_t> *indices, size_t index) const;
  static std::optional<Quantization> quantization(const file::Tensor *tensor);
  static ElementType type(const file::Tensor *tensor);
};

/// How an operator is imported.
struct Importer {
  void (*run)(Operator &) = nullptr;
  /// It only moves elements: quantised tensors are imported in the same way.
  bool moves = false;
};
using Importers = std::unordered_map<BuiltinOperator, Importer>;

// Importers on tensors that are not quantised. Quantized.h has those on quantised ones.
void addElementwiseImporters(Importers &table); // Elementwise.cpp
void addWindowImporters(Importers &table);      // Window.cpp: convolution and pooling

// ---- Parts that float and quantised importers share.

/// NHWC (rank 4; rank 5: NDHWC) to NCHW, and back.
mlir::Value channelsFirst(Node &node, mlir::Value x);
mlir::Value channelsLast(Node &node, mlir::Value x);
mlir::Value transpose(Node &node, mlir::Value x, std::vector<int64_t> perm);
/// The fused activation of a float operator.
mlir::Value activate(Node &node, mlir::Value x, Activation activation);

/// Window of a convolution or a pool along the spatial axes, height first.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads; // all begins, then all ends
  Fields fields() const { return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}}; }
};
/// Fills in the pads for `x`, the operand with channels last. Throws Error for values that are no window.
Window padded(Node &node, mlir::Value x, file::Padding padding, Window window);
/// A convolution as nn sees it: weights with output channels first (O x C/group x kernel).
struct Convolution {
  mlir::Value x, w; // channels first
  Window window;
  int64_t group = 1;
};
/// Reads CONV_2D or DEPTHWISE_CONV_2D with its options; the operands are transposed.
Convolution readConvolution(Operator &op);
Activation activationOf(const Operator &op); // of operators with a window
/// Window of AVERAGE_POOL_2D, MAX_POOL_2D or L2_POOL_2D.
Window readPool(Operator &op);

} // namespace lathe::tflite
