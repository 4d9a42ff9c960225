// TFLite as a source format: its table of operators, and an operator that is being imported.
#pragma once

#include "import/parts/Emitter.h"
#include "import/tflite/Source.h"

namespace lathe::tflite {

using namespace source;
using file::Activation;
using file::BuiltinOperator;
using file::BuiltinOptions;

const Format &format();
/// How an operator on tensors is imported; null if it is not imported.
const struct Importer *importerOf(BuiltinOperator code);
/// Makes the text of docs/generated/tflite.md (Support.cpp).
std::string supportPage();

/// Reads a TFLite file into records (Reader.cpp). Its bytes must outlive the record. `options.signature` names the
/// signature whose subgraph is the model; "": the first subgraph.
ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder,
                      const ImportOptions &options = {});

/// An operator of the file with its node. Operands and results have the positions of the file; new values of variables
/// are additional results at the end.
class Operator : public Emitter {
public:
  explicit Operator(Node &node);

  const SourceNode &source;
  BuiltinOperator code() const { return source.code; }

  /// The options, which must be of `kind`: options<file::Pool2DOptions>(BuiltinOptions::Pool2D). Default values if the
  /// file has no options.
  template <class Options> const Options &options(BuiltinOptions kind) const {
    const void *found = optionsOf(kind);
    return *static_cast<const Options *>(found ? found : emptyTable());
  }

  /// The file's description of an operand or a result; null if it is absent.
  const file::Tensor *inputTensor(size_t index) const { return tensor(source.op->inputs(), index); }
  const file::Tensor *outputTensor(size_t index = 0) const { return tensor(source.op->outputs(), index); }
  /// An intermediate tensor: the file describes a value inside the operator. Quantised LSTMs have such tensors.
  const file::Tensor *intermediateTensor(size_t index) const { return tensor(source.op->intermediates(), index); }
  std::optional<Quantization> inputQuantization(size_t index) const { return quantization(inputTensor(index)); }
  std::optional<Quantization> outputQuantization(size_t index = 0) const { return quantization(outputTensor(index)); }
  ElementType inputType(size_t index) const { return type(inputTensor(index)); }
  ElementType outputType(size_t index = 0) const { return type(outputTensor(index)); }

  int64_t option(const char *name, int64_t fallback) override;
  ElementType resultType(const char *, ElementType, size_t index = 0) override { return outputType(index); }
  double zero() const override;

  /// Sets the new value of the variable in operand `index`; does nothing if the operand is not a variable.
  void setVariable(size_t index, mlir::Value value);

private:
  const void *optionsOf(BuiltinOptions kind) const;
  static const void *emptyTable();
  const file::Tensor *tensor(const flatbuffers::Vector<int32_t> *indices, size_t index) const;
  static std::optional<Quantization> quantization(const file::Tensor *tensor);
  static ElementType type(const file::Tensor *tensor);
};

/// How an operator is imported. The importer of the same operator on quantised tensors takes the same number of
/// operands.
struct Importer {
  std::function<void(Operator &)> run;
  OperandCount operands = {};
  /// The operator only moves elements, so quantised tensors are imported in the same way.
  bool moves = false;
};
using Importers = std::unordered_map<BuiltinOperator, Importer>;

// Importers on tensors that are not quantised, in addition to the mappings of the operator records and parts/Common.h.
// Quantized.h has the importers on quantised tensors.
void addElementwiseImporters(Importers &table); // Elementwise.cpp
void addWindowImporters(Importers &table);      // Window.cpp: convolution and pooling
void addProductImporters(Importers &table);     // Product.cpp: matrix products, transposed convolution
void addViewImporters(Importers &table);        // View.cpp: the same elements with other extents
void addReduceImporters(Importers &table);      // Reduce.cpp: softmax, normalisation along an axis
void addMovementImporters(Importers &table);    // Movement.cpp
void addIndexedImporters(Importers &table);     // Indexed.cpp: gathers, scatters, tensors of numbers
void addRecurrentImporters(Importers &table);   // Recurrent.cpp
void addDetectionImporters(Importers &table);   // Detection.cpp: selection of boxes
/// The importer of the custom operator `name` (Detection.cpp); null for others.
void (*customImporter(const std::string &name))(Operator &);
/// Names of the custom operators that Lathe imports.
std::vector<std::string> customOperators();
/// The importer of IF, WHILE and CALL (Control.cpp); null for other operators.
StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &inputs);

// ---- Parts that float and quantised importers share.

/// Applies an activation that is fused into a float operator.
mlir::Value activate(Node &node, mlir::Value x, Activation activation);

/// Fills in the pads of the window for `x`, the operand with channels last.
Window padded(Node &node, mlir::Value x, file::Padding padding, Window window);
/// A convolution in the form of nn: weights with output channels first (O x C/group x kernel).
struct Convolution {
  mlir::Value x, w; // operands, with channels first
  Window window;
  int64_t group = 1;
  std::vector<int64_t> outputPadding; // only for a transposed convolution
  Fields fields() const;
};
/// Reads CONV_2D or DEPTHWISE_CONV_2D with its options; the operands are transposed.
Convolution readConvolution(Operator &op);
/// Like readConvolution, for TRANSPOSE_CONV; the weights are C x O x kernel.
Convolution readTransposeConv(Operator &op);
Activation activationOf(const Operator &op); // activation fused into an operator with a window
/// Reads the window of AVERAGE_POOL_2D, MAX_POOL_2D or L2_POOL_2D.
Window readPool(Operator &op);

/// Axes and options of MEAN and similar operators.
struct Reduction {
  std::vector<int64_t> axes; // not negative, without duplicates
  bool keepDims = false;
};
Reduction readReduction(Operator &op);
/// flattenRows makes operand 0 of FULLY_CONNECTED a matrix with as many columns as the weights. restoreRows gives the
/// result y the axes that the options keep.
mlir::Value flattenRows(Operator &op);
mlir::Value restoreRows(Operator &op, mlir::Value y);

// ---- Hybrid operators (Hybrid.cpp): quantised weights, float activations.

/// Activations that are quantised at run time, with a scale for each index of axis 0: real = scale * (x - zero).
struct QuantizedActivations {
  mlir::Value x;     // i8
  mlir::Value scale; // f32; all extents but the first are 1
  mlir::Value zero;  // i32, same extents as scale; null: 0
};
QuantizedActivations quantizeActivations(Node &node, mlir::Value x, bool asymmetric);
/// True if operand 0 is float and operand `weights` is quantised.
bool isHybrid(const Operator &op, size_t weights = 1);
/// Throws Unsupported unless operand `weights` is i8 without zero points.
void requireHybridWeights(Operator &op, size_t weights);
/// Turns `sums`, i32 sums of products of quantised operands, into real numbers. `axis` is the axis of output channels.
mlir::Value hybridResult(Operator &op, mlir::Value sums, const QuantizedActivations &x, size_t weights, int64_t axis);
/// x * w^T, where w is operand `weights`, a quantised matrix with a row for every output.
mlir::Value hybridProduct(Operator &op, mlir::Value x, size_t weights, bool asymmetric);

} // namespace lathe::tflite
