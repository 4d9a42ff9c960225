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
/// Returns how a TFLite operator on tensors is imported; null if it is not imported.
const struct Importer *importerOf(BuiltinOperator code);
/// Makes the text of docs/generated/tflite.md (Support.cpp).
std::string supportPage();

/// Reads a TFLite file into records (Reader.cpp). The bytes must outlive the records. `options.signature` names the
/// signature whose subgraph is the model; "": the first subgraph.
ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder,
                      const ImportOptions &options = {});

/// A TFLite operator that is being imported: the operator of the file with its node. Operands and results have the
/// positions of the file; new values of variables are additional results at the end.
class Operator : public Emitter {
public:
  explicit Operator(Node &node);

  const SourceNode &source;
  BuiltinOperator code() const { return source.code; }

  /// The operator's options, which must be of `kind`: options<file::Pool2DOptions>(BuiltinOptions::Pool2D). Default
  /// values if the file has no options.
  template <class Options> const Options &options(BuiltinOptions kind) const {
    const void *found = optionsOf(kind);
    return *static_cast<const Options *>(found ? found : emptyTable());
  }

  /// The file's description of an operand or a result of the operator; null if it is absent.
  const file::Tensor *inputTensor(size_t index) const { return tensor(source.op->inputs(), index); }
  const file::Tensor *outputTensor(size_t index = 0) const { return tensor(source.op->outputs(), index); }
  /// An intermediate tensor, by which the file describes a value inside the operator. Quantised LSTMs have such
  /// tensors.
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

/// How a TFLite operator is imported. The importer of the same operator on quantised tensors takes the same number of
/// operands.
struct Importer {
  std::function<void(Operator &)> run;
  OperandCount operands = {};
  /// True: the operator only moves elements, so quantised tensors are imported in the same way.
  bool moves = false;
};
using Importers = std::unordered_map<BuiltinOperator, Importer>;

// Functions that add the importers of operators on tensors that are not quantised. The mappings of the operator
// records and parts/Common.h import the other operators; Quantized.h has the importers on quantised tensors.
void addElementwiseImporters(Importers &table); // Elementwise.cpp
void addWindowImporters(Importers &table);      // Window.cpp: convolution and pooling
void addProductImporters(Importers &table);     // Product.cpp: matrix products, transposed convolution
void addViewImporters(Importers &table);        // View.cpp: operators that give the same elements other extents
void addReduceImporters(Importers &table);      // Reduce.cpp: softmax, normalisation along an axis
void addMovementImporters(Importers &table);    // Movement.cpp
void addIndexedImporters(Importers &table);     // Indexed.cpp: gathers, scatters, tensors of numbers
void addRecurrentImporters(Importers &table);   // Recurrent.cpp
void addDetectionImporters(Importers &table);   // Detection.cpp: selection of boxes
/// The importer of the custom operator `name` (Detection.cpp); null for other names.
void (*customImporter(const std::string &name))(Operator &);
/// Names of the custom TFLite operators that Lathe imports.
std::vector<std::string> customOperators();
/// The importer of the operators IF, WHILE and CALL (Control.cpp); null for other operators.
StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &inputs);

// ---- Parts that float and quantised importers share.

/// Emits an activation that is fused into a float operator, applied to `x`.
mlir::Value activate(Node &node, mlir::Value x, Activation activation);

/// Returns `window` with the pads that `padding` means for `x`, the operand with channels last.
Window padded(Node &node, mlir::Value x, file::Padding padding, Window window);
/// A TFLite convolution in the form of the nn dialect: weights with output channels first (O x C/group x kernel).
struct Convolution {
  mlir::Value x, w; // operands of the convolution, with channels first
  Window window;
  int64_t group = 1;
  std::vector<int64_t> outputPadding; // only for a transposed convolution
  Fields fields() const;
};
/// Reads the operator CONV_2D or DEPTHWISE_CONV_2D with its options; the operands are transposed to channels first.
Convolution readConvolution(Operator &op);
/// Reads the operator TRANSPOSE_CONV like readConvolution; the weights are C x O x kernel.
Convolution readTransposeConv(Operator &op);
Activation activationOf(const Operator &op); // activation that is fused into an operator with a window
/// Reads the window of an operator AVERAGE_POOL_2D, MAX_POOL_2D or L2_POOL_2D.
Window readPool(Operator &op);

/// Axes and options of the operator MEAN and similar operators.
struct Reduction {
  std::vector<int64_t> axes; // axes that are reduced; not negative, without duplicates
  bool keepDims = false;
};
Reduction readReduction(Operator &op);
/// flattenRows reshapes operand 0 of FULLY_CONNECTED to a matrix with as many columns as the weights. restoreRows
/// gives the result y the axes that the options keep.
mlir::Value flattenRows(Operator &op);
mlir::Value restoreRows(Operator &op, mlir::Value y);

// ---- Hybrid operators (Hybrid.cpp): quantised weights, float activations.

/// Activations of a hybrid operator, quantised at run time, with a scale for each index of axis 0: real = scale * (x -
/// zero).
struct QuantizedActivations {
  mlir::Value x;     // quantised elements, i8
  mlir::Value scale; // scales, f32; all extents but the first are 1
  mlir::Value zero;  // zero points, i32, with the extents of scale; null: 0
};
QuantizedActivations quantizeActivations(Node &node, mlir::Value x, bool asymmetric);
/// True if operand 0 of the operator is float and operand `weights` is quantised.
bool isHybrid(const Operator &op, size_t weights = 1);
/// Throws Unsupported unless operand `weights` of the hybrid operator is i8 without zero points.
void requireHybridWeights(Operator &op, size_t weights);
/// Emits the real results of a hybrid operator from `sums`, i32 sums of products of quantised operands. `axis` is the
/// axis of output channels.
mlir::Value hybridResult(Operator &op, mlir::Value sums, const QuantizedActivations &x, size_t weights, int64_t axis);
/// Emits x * w^T, where w is operand `weights` of the hybrid operator, a quantised matrix with a row for every output.
mlir::Value hybridProduct(Operator &op, mlir::Value x, size_t weights, bool asymmetric);

} // namespace lathe::tflite
