// Writes small TFLite files for tests, imports them and evaluates them with the reference operators.
#pragma once

#include "import/Format.h"
#include "import/tflite/Tflite.h"
#include "ir/Context.h"

#include <cstring>
#include <string>
#include <vector>

namespace lathe::tflite {

/// Builds a TFLite file for tests: subgraphs with tensors and operators. Tensors are identified by their number.
class TestFile {
public:
  flatbuffers::FlatBufferBuilder builder;
  using Ints = std::vector<int32_t>;
  using Type = file::TensorType;

  TestFile() {
    buffers.push_back(file::CreateBuffer(builder));
    graphs.emplace_back();
  }

  /// Begins another subgraph and returns its number; tensors and operators are added to it until `back` is called.
  int subgraph() {
    graphs.emplace_back();
    current = graphs.size() - 1;
    return static_cast<int>(current);
  }
  void back() { current = 0; }

  int input(const std::string &name, const Ints &dims, Type type = Type::FLOAT32, const Ints &signature = {}) {
    int index = tensor(name, dims, type, 0, 0, false, signature);
    graph().inputs.push_back(index);
    return index;
  }
  /// Adds a tensor that is a result of an operator and returns its number.
  int value(const Ints &dims, Type type = Type::FLOAT32, const std::string &name = "") {
    return tensor(name, dims, type, 0);
  }
  /// Add a quantised input, or a quantised result of an operator; `factor` is the scale, `zero` the zero point.
  int quantisedInput(const std::string &name, const Ints &dims, Type type, float factor, int64_t zero,
                     const Ints &signature = {}) {
    graph().inputs.push_back(tensor(name, dims, type, 0, scale({factor}, {zero}), false, signature));
    return graph().inputs.back();
  }
  int quantisedValue(const Ints &dims, Type type, float factor, int64_t zero, const std::string &name = "") {
    return tensor(name, dims, type, 0, scale({factor}, {zero}));
  }
  int variable(const std::string &name, const Ints &dims) {
    return tensor(name, dims, Type::FLOAT32, 0, 0, /*variable=*/true);
  }
  int quantisedVariable(const std::string &name, const Ints &dims, Type type, float factor, int64_t zero) {
    return tensor(name, dims, type, 0, scale({factor}, {zero}), /*variable=*/true);
  }
  template <class T>
  int constant(const Ints &dims, const std::vector<T> &values, flatbuffers::Offset<file::Quantization> scale = 0) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
    builder.ForceVectorAlignment(values.size() * sizeof(T), 1, 16);
    buffers.push_back(file::CreateBuffer(builder, builder.CreateVector(bytes, values.size() * sizeof(T))));
    return tensor("", dims, typeOf<T>(), static_cast<uint32_t>(buffers.size() - 1), scale);
  }
  flatbuffers::Offset<file::Quantization> scale(const std::vector<float> &scales,
                                                const std::vector<int64_t> &zeros = {}, int axis = 0) {
    auto values = builder.CreateVector(scales);
    auto points = builder.CreateVector(zeros);
    return file::CreateQuantization(builder, 0, 0, values, points, file::QuantizationDetails::NONE, 0, axis);
  }
  void output(int index) { graph().outputs.push_back(index); }

  /// Adds an operator to the current subgraph; `options` must be of the kind that the operator has.
  void op(BuiltinOperator code, const Ints &ins, const Ints &outs, BuiltinOptions kind = BuiltinOptions::NONE,
          flatbuffers::Offset<void> options = 0, const std::string &custom = "",
          const std::vector<uint8_t> &customOptions = {}, const Ints &intermediates = {}) {
    auto name = custom.empty() ? 0 : builder.CreateString(custom);
    codes.push_back(
        file::CreateOperatorCode(builder, static_cast<int8_t>(std::min(static_cast<int>(code), 127)), name, 1, code));
    auto inVector = builder.CreateVector(ins), outVector = builder.CreateVector(outs);
    auto extra = customOptions.empty() ? 0 : builder.CreateVector(customOptions);
    auto inner = intermediates.empty() ? 0 : builder.CreateVector(intermediates);
    graph().operators.push_back(file::CreateOperator(builder, static_cast<uint32_t>(codes.size() - 1), inVector,
                                                     outVector, kind, options, extra, 0, 0, inner));
  }
  void signature(const std::string &key, const std::vector<std::pair<std::string, int>> &ins,
                 const std::vector<std::pair<std::string, int>> &outs, uint32_t graph = 0) {
    auto aliases = [&](const auto &pairs) {
      std::vector<flatbuffers::Offset<file::TensorAlias>> list;
      for (auto &[name, index] : pairs)
        list.push_back(file::CreateTensorAlias(builder, builder.CreateString(name), static_cast<uint32_t>(index)));
      return builder.CreateVector(list);
    };
    auto inAliases = aliases(ins), outAliases = aliases(outs);
    signatures.push_back(file::CreateSignature(builder, inAliases, outAliases, builder.CreateString(key), graph));
  }

  std::string bytes(uint32_t version = 3) {
    std::vector<flatbuffers::Offset<file::SubGraph>> all;
    for (Graph &each : graphs) {
      auto tensors = builder.CreateVector(each.tensors);
      auto ins = builder.CreateVector(each.inputs), outs = builder.CreateVector(each.outputs);
      all.push_back(file::CreateSubGraph(builder, tensors, ins, outs, builder.CreateVector(each.operators)));
    }
    auto codeVector = builder.CreateVector(codes);
    auto graphVector = builder.CreateVector(all);
    auto bufferVector = builder.CreateVector(buffers);
    auto signatureVector = builder.CreateVector(signatures);
    builder.Finish(file::CreateModel(builder, version, codeVector, graphVector, 0, bufferVector, 0, 0, signatureVector),
                   "TFL3");
    return {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()};
  }

private:
  struct Graph {
    std::vector<flatbuffers::Offset<file::Tensor>> tensors;
    std::vector<flatbuffers::Offset<file::Operator>> operators;
    Ints inputs, outputs;
  };
  std::vector<Graph> graphs;
  size_t current = 0;
  std::vector<flatbuffers::Offset<file::Buffer>> buffers;
  std::vector<flatbuffers::Offset<file::OperatorCode>> codes;
  std::vector<flatbuffers::Offset<file::Signature>> signatures;

  Graph &graph() { return graphs[current]; }

  int tensor(const std::string &name, const Ints &dims, Type type, uint32_t buffer,
             flatbuffers::Offset<file::Quantization> scale = 0, bool variable = false, const Ints &signature = {}) {
    auto shape = builder.CreateVector(dims);
    auto text = name.empty() ? 0 : builder.CreateString(name);
    auto unknown = signature.empty() ? 0 : builder.CreateVector(signature);
    graph().tensors.push_back(file::CreateTensor(builder, shape, type, buffer, text, scale, variable, 0, unknown));
    return static_cast<int>(graph().tensors.size() - 1);
  }

  template <class T> static Type typeOf() {
    if constexpr (std::is_same_v<T, float>)
      return Type::FLOAT32;
    else if constexpr (std::is_same_v<T, int32_t>)
      return Type::INT32;
    else if constexpr (std::is_same_v<T, int64_t>)
      return Type::INT64;
    else if constexpr (std::is_same_v<T, int8_t>)
      return Type::INT8;
    else if constexpr (std::is_same_v<T, int16_t>)
      return Type::INT16;
    else
      return Type::UINT8;
  }
};

/// Imports a TFLite file and evaluates it with the reference operators. Returns copies of the results, because a
/// result may be a constant of the module. With LATHE_TFLITE_WRITE=DIR, the file and its inputs and results are
/// written to DIR, so that another implementation can run it (tests/tflite_peer_test.py): NAME.tflite, NAME.json,
/// NAME.in0.npy, NAME.out0.npy, ...
std::vector<Tensor> evaluated(const std::string &bytes, const std::vector<Tensor> &inputs,
                              const ImportOptions &options = {});

inline std::vector<double> numbers(const Tensor &tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.push_back(tensor.asDouble(i));
  return result;
}

/// Imports a TFLite file and returns the message of the error; "" if there is none.
inline std::string importError(std::string_view bytes, const ImportOptions &options = {}) {
  auto context = makeContext();
  try {
    importModelOf(format(), *context, bytes, "m.tflite", ".", options);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// Test data for an operand that is not monotonic: 23 different numbers, which then repeat.
inline std::vector<float> ramp(size_t count, float scale = 0.25f) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = scale * static_cast<float>(static_cast<int>(i * 37 % 23) - 11);
  return values;
}

} // namespace lathe::tflite
