// Builder for the architectures of the zoo: layers with names and seeded random weights.
#pragma once

#include "ir/Bridge.h"
#include "zoo/Zoo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>

namespace lathe::zoo {

/// A value of the network with estimates of its mean and variance; the next layer scales its
/// weights by them.
struct Signal {
  mlir::Value value;
  double mean = 0, variance = 1;
  double moment() const { return mean * mean + variance; } // second moment: E[x^2]

  int64_t channels() const;
  int64_t extent(unsigned axis) const; // extent of an axis in the type of the value
  unsigned rank() const;
};

enum class Activation { none, relu, relu6, hardSwish, hardSigmoid, sigmoid, silu, gelu };

struct ConvOptions {
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> pad = {0, 0}; // padding of height and width, the same on both sides
  int64_t group = 1;
  bool bias = true;

  static ConvOptions square(int64_t kernel, int64_t stride = 1, int64_t pad = -1 /* -1: "same" at stride 1 */) {
    int64_t p = pad < 0 ? kernel / 2 : pad;
    return {{kernel, kernel}, {stride, stride}, {p, p}, 1, true};
  }
  ConvOptions grouped(int64_t groups) const {
    ConvOptions result = *this;
    result.group = groups;
    return result;
  }
};

class Network {
public:
  Network(mlir::MLIRContext &context, std::string name, const ZooOptions &options);

  /// Adds the only input, batch x `dims` of f32; tests fill it with normally distributed numbers.
  Signal input(std::vector<int64_t> dims);
  /// Adds an input of any shape, for networks that do not read images. Add all inputs before the
  /// first layer.
  mlir::Value input(const std::string &name, ElementType type, const Dims &dims);
  /// The extent of the batch: a number, or the symbol N.
  Dim batch() const { return options.dynamicBatch ? Dim::symbol("N") : Dim(options.batch); }
  int64_t sequence(int64_t byDefault) {
    readsSequence = true;
    return options.sequence ? options.sequence : byDefault;
  }
  bool readsSequence = false; // true if sequence() was called
  /// Adds a result of the model, after the result that the architecture's function returns.
  void alsoReturn(const std::string &name, mlir::Value value) { others.emplace_back(name, value); }
  /// Ends the function @main with `results` and the results of alsoReturn, and returns the module.
  mlir::OwningOpRef<mlir::ModuleOp> finish(llvm::ArrayRef<Signal> results, llvm::ArrayRef<std::string> names);

  Signal conv(Signal x, int64_t outChannels, const ConvOptions &options, const std::string &name);
  /// Adds a transposed convolution with kernel and stride `factor`, which multiplies height and width by `factor`;
  /// each output element depends on one input position.
  Signal convTranspose(Signal x, int64_t outChannels, int64_t factor, const std::string &name);
  /// Adds a batch normalisation. `gain` scales its output; it is below one for the last layer of a residual branch.
  Signal batchNorm(Signal x, const std::string &name, double gain = 1);
  /// Adds a convolution without bias, a batch normalisation and an activation: the usual layer of networks after 2014.
  Signal unit(Signal x, int64_t outChannels, ConvOptions options, Activation activation, const std::string &name,
              double gain = 1);
  Signal activate(Signal x, Activation activation, const std::string &name);
  Signal convRelu(Signal x, int64_t channels, const ConvOptions &options, const std::string &name) {
    return activate(conv(x, channels, options, name), Activation::relu, name + ".relu");
  }
  Signal dense(Signal x, int64_t outFeatures, const std::string &name); // x: batch x features
  Signal maxPool(Signal x, std::array<int64_t, 2> kernel, std::array<int64_t, 2> stride, std::array<int64_t, 2> pad,
                 const std::string &name, bool ceilMode = false);
  Signal averagePool(Signal x, std::array<int64_t, 2> kernel, std::array<int64_t, 2> stride, std::array<int64_t, 2> pad,
                     const std::string &name, bool countIncludePad = true);
  Signal globalAveragePool(Signal x, const std::string &name); // result: batch x C x 1 x 1
  Signal flatten(Signal x, const std::string &name);           // result: batch x all other elements
  Signal lrn(Signal x, int64_t size, double alpha, double beta, double bias, const std::string &name);
  Signal add(Signal x, Signal y, const std::string &name);
  Signal multiply(Signal x, Signal y, const std::string &name);
  Signal concat(llvm::ArrayRef<Signal> parts, const std::string &name); // concatenates along the channels
  std::vector<Signal> split(Signal x, std::vector<int64_t> sizes, const std::string &name, int64_t axis = 1);
  /// Adds operators that interleave the channels of `groups` groups (ShuffleNet): reshape, transpose, reshape.
  Signal channelShuffle(Signal x, int64_t groups, const std::string &name);
  Signal reshape(Signal x, std::vector<int64_t> shape, const std::string &name);
  Signal transpose(Signal x, std::vector<int64_t> perm, const std::string &name);
  Signal softmax(Signal x, int64_t axis, const std::string &name);
  Signal layerNorm(Signal x, const std::string &name, double epsilon = 1e-5); // normalises over the last axis
  Signal matmul(Signal x, Signal y, const std::string &name); // multiplies the matrices of the last two axes
  Signal scale(Signal x, double factor, const std::string &name);
  Signal joined(llvm::ArrayRef<Signal> parts, int64_t axis, const std::string &name); // concat along any axis
  /// Adds operators that select position `index` along `axis` and remove the axis.
  Signal pick(Signal x, int64_t axis, int64_t index, const std::string &name);
  /// Adds a weight tensor that belongs to no layer, such as an embedding of positions.
  Signal parameter(std::vector<int64_t> dims, double deviation, const std::string &name);
  /// Adds operators that repeat x, whose first extent is 1, for each image of the batch of `like`.
  Signal forEachImage(Signal x, Signal like, const std::string &name);

  /// Adds a product of the last axis with a weight matrix, plus a bias, for tensors of any rank, as exporters write
  /// it: MatMul and Add.
  Signal linear(Signal x, int64_t outFeatures, const std::string &name, double gain = 1);
  /// Adds an LSTM layer. x is steps x batch x features; the result is steps x 1 x batch x hidden.
  Signal lstm(Signal x, int64_t hidden, const std::string &name);

  /// Adds any nn operator with one result. Its location names the ONNX operator `onnxOp`.
  mlir::Value apply(const char *mnemonic, const char *onnxOp, llvm::ArrayRef<mlir::Value> operands, Attrs &&attrs,
                    const std::string &name);
  /// Adds a constant of random numbers: `mean` + `deviation` * noise with a nearly normal distribution. The noise
  /// depends only on the seed and the name.
  mlir::Value noise(const std::string &name, std::vector<int64_t> dims, double mean, double deviation);
  mlir::Value scalar(double value, const std::string &name);
  mlir::Value integers(std::vector<int64_t> dims, const std::vector<int64_t> &values, const std::string &name);

private:
  mlir::OpBuilder b;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main;
  std::string file;
  ZooOptions options;
  int nodes = 0;
  std::vector<std::pair<std::string, mlir::Value>> others;

  mlir::Location at(const std::string &name, const char *op);
};

} // namespace lathe::zoo
