#include "tests/conformance/Case.h"

#include "compile/Compile.h"
#include "import/Import.h"
#include "import/onnx/TensorData.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"
#include "runtime/References.h"
#include "tests/conformance/Isolated.h"

#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>

namespace lathe::conformance {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  require(in.good(), "{}: cannot be read", path.string());
  return std::string(std::istreambuf_iterator<char>(in), {});
}

template <class Proto> Proto readProto(const fs::path &path) {
  Proto proto;
  require(proto.ParseFromString(contents(path)), "{}: is damaged", path.string());
  return proto;
}

void requireType(const onnx::TensorProto &proto) {
  if (onnx::fromOnnxType(proto.data_type()) == ElementType::invalid)
    throw NoTensor{"element type " + onnx::onnxTypeName(proto.data_type())};
}

Tensor toTensor(const onnx::TensorProto &proto, const fs::path &path) {
  onnx::TensorData data = onnx::decodeTensor(proto, path.string(), path.parent_path());
  Tensor tensor(data.type, data.dims);
  if (data.type == ElementType::string)
    tensor.strings() = data.strings;
  else if (!data.bytes.empty())
    std::memcpy(tensor.data(), data.bytes.data(), data.bytes.size());
  return tensor;
}

Value toValue(const onnx::TensorProto &proto, const fs::path &path) {
  requireType(proto);
  return toTensor(proto, path);
}

Value toValue(const onnx::SequenceProto &proto, const fs::path &path) {
  if (proto.sequence_values_size() || proto.sparse_tensor_values_size() || proto.optional_values_size())
    throw NoTensor{path.filename().string() + " is a sequence of other things than tensors"};
  Sequence sequence;
  for (const onnx::TensorProto &tensor : proto.tensor_values())
    sequence.items.push_back(toValue(tensor, path));
  if (!sequence.items.empty())
    sequence.elementType = sequence.items[0].tensor().type();
  return sequence;
}

Value toValue(const onnx::OptionalProto &proto, const fs::path &path) {
  Optional optional;
  if (proto.has_tensor_value())
    optional.value = std::make_shared<Value>(toValue(proto.tensor_value(), path));
  else if (proto.has_sequence_value())
    optional.value = std::make_shared<Value>(toValue(proto.sequence_value(), path));
  return optional;
}

/// The value in a file of type `type`.
Value readValue(const fs::path &path, const onnx::TypeProto &type) {
  if (type.has_sequence_type())
    return toValue(readProto<onnx::SequenceProto>(path), path);
  if (type.has_optional_type())
    return toValue(readProto<onnx::OptionalProto>(path), path);
  if (!type.has_tensor_type())
    throw NoTensor{path.filename().string() + " is no tensor, sequence or optional"};
  return toValue(readProto<onnx::TensorProto>(path), path);
}

std::string extents(const Tensor &tensor) {
  return fmt::format("{} [{}]", name(tensor.type()), fmt::join(tensor.dims(), "x"));
}

} // namespace

std::string difference(const Tensor &got, const Tensor &expected, double ofLargest) {
  if (got.type() != expected.type() || got.dims() != expected.dims())
    return fmt::format("is {}, expected {}", extents(got), extents(expected));
  double largest = 0;
  for (int64_t i = 0; ofLargest > 0 && isFloat(expected.type()) && i < expected.elements(); ++i)
    if (std::isfinite(expected.asDouble(i)))
      largest = std::max(largest, std::abs(expected.asDouble(i)));
  if (expected.type() == ElementType::string) {
    for (size_t i = 0; i < expected.strings().size(); ++i)
      if (got.strings()[i] != expected.strings()[i])
        return fmt::format("element {} is '{}', expected '{}'", i, got.strings()[i], expected.strings()[i]);
    return "";
  }
  for (int64_t i = 0; i < expected.elements(); ++i) {
    if (isFloat(expected.type())) {
      double a = got.asDouble(i), b = expected.asDouble(i);
      bool agrees = a == b || (std::isnan(a) && std::isnan(b)) ||
                    std::abs(a - b) <= 1e-7 + 1e-3 * std::abs(b) + ofLargest * largest;
      if (!agrees)
        return fmt::format("element {} is {}, expected {}", i, a, b);
    } else if (got.asInteger(i) != expected.asInteger(i)) {
      return fmt::format("element {} is {}, expected {}", i, got.asInteger(i), expected.asInteger(i));
    }
  }
  return "";
}

std::string difference(const Value &got, const Value &expected, double ofLargest) {
  if (expected.isTensor() && got.isTensor())
    return difference(got.tensor(), expected.tensor(), ofLargest);
  if (expected.isOptional() || got.isOptional()) {
    const Value *values[] = {&got, &expected};
    for (const Value *&value : values)
      if (value->isOptional())
        value = value->optional().value.get();
    if (!values[0] || !values[1])
      return values[0] == values[1] ? "" : values[0] ? "holds something, expected nothing" : "holds nothing";
    return difference(*values[0], *values[1], ofLargest);
  }
  if (!expected.isSequence() || !got.isSequence())
    return fmt::format("is {}, expected {}", name(kindOf(got)), name(kindOf(expected)));
  const std::vector<Value> &items = got.sequence().items, &wanted = expected.sequence().items;
  if (items.size() != wanted.size())
    return fmt::format("has {} tensors, expected {}", items.size(), wanted.size());
  for (size_t i = 0; i < items.size(); ++i)
    if (auto text = difference(items[i], wanted[i], ofLargest); !text.empty())
      return fmt::format("tensor {} {}", i, text);
  return "";
}

onnx::ModelProto readModel(const fs::path &folder) {
  onnx::ModelProto model;
  require(model.ParseFromString(contents(folder / "model.onnx")), "model.onnx: is damaged");
  return model;
}

DataSet readSet(const fs::path &folder, const onnx::ModelProto &model) {
  DataSet set;
  std::set<std::string> initializers;
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    initializers.insert(tensor.name());
  int index = 0;
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    fs::path path = folder / fmt::format("input_{}.pb", index++);
    if (!fs::exists(path) && initializers.contains(input.name()))
      continue;
    Value value = readValue(path, input.type());
    set.inputs.push_back(value.isTensor() ? readProto<onnx::TensorProto>(path) : onnx::TensorProto());
    set.inputs.back().set_name(input.name());
    set.inputTensors.push_back(value.isTensor() ? value.tensor() : Tensor());
    set.inputValues.push_back(std::move(value));
  }
  index = 0;
  for (const onnx::ValueInfoProto &output : model.graph().output()) {
    fs::path path = folder / fmt::format("output_{}.pb", index++);
    set.outputs.push_back(readValue(path, output.type()));
  }
  return set;
}

std::string specialised(onnx::ModelProto model, const DataSet &set) {
  for (size_t i = 1; i < set.inputs.size(); ++i)
    if (set.inputTensors[i].defined() && set.inputs[i].dims_size() <= 1 && set.inputTensors[i].elements() <= 64)
      *model.mutable_graph()->add_initializer() = set.inputs[i];
  return model.SerializeAsString();
}

std::vector<Value> compiledResults(mlir::ModuleOp module, const std::vector<Value> &inputs, int level,
                                   const std::string &kernelCache) {
  CompileOptions options;
  options.level = level;
  options.kernelCache = kernelCache;
  std::vector<char> package;
  compileToBytes(module, options, package);
  runtime::registerReferences();
  runtime::Context context(runtime::Model::fromBytes(package, "model.lathe"));
  return context.run(inputs);
}

std::vector<Value> argumentsOf(mlir::ModuleOp module, const DataSet &set) {
  auto main = mainFunction(module);
  std::vector<Value> inputs;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    std::string wanted = main.getArgAttrOfType<mlir::StringAttr>(i, "nn.name").str();
    for (size_t k = 0; k < set.inputs.size(); ++k)
      if (set.inputs[k].name() == wanted)
        inputs.push_back(set.inputTensors[k].defined() ? Value(set.inputTensors[k]) : set.inputValues[k]);
  }
  return inputs;
}

namespace {

/// "" when all outputs agree; throws UnsupportedError or Error.
std::string evaluateSet(const std::string &bytes, const DataSet &set, const RunOptions &options) {
  auto context = makeContext();
  auto module = importOnnxBytes(*context, bytes, "model.onnx");
  std::vector<Value> inputs = argumentsOf(*module, set);
  auto results = options.compiled ? compiledResults(*module, inputs, options.level) : evaluate(*module, inputs);
  require(results.size() == set.outputs.size(), "has {} outputs, expected {}", results.size(), set.outputs.size());
  // A sum cannot be more exact than its largest term; the expected one is not.
  double ofLargest = options.compiled && options.level == 4 ? 0x1p-11 : 0x1p-24;
  for (size_t i = 0; i < results.size(); ++i)
    if (auto text = difference(results[i], set.outputs[i], ofLargest); !text.empty())
      return fmt::format("output {} {}", i, text);
  return "";
}

Result runChecked(const fs::path &folder, const RunOptions &options) {
  std::string bytes = contents(folder / "model.onnx");
  onnx::ModelProto model = readModel(folder);
  Result result;
  for (auto &entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory())
      continue;
    DataSet set = readSet(entry.path(), model);
    std::string wrong;
    try {
      wrong = evaluateSet(bytes, set, options);
    } catch (const UnsupportedError &) {
      std::string bound = specialised(model, set);
      if (bound.size() == bytes.size())
        throw;
      wrong = evaluateSet(bound, set, options);
      result.verdict = Verdict::specialised;
    }
    if (!wrong.empty())
      return {Verdict::failed, wrong};
  }
  return result;
}

} // namespace

Result run(const fs::path &folder, const RunOptions &options) {
  try {
    return runChecked(folder, options);
  } catch (const UnsupportedError &error) {
    return {Verdict::unsupported, error.what()};
  } catch (const NoTensor &data) {
    return {Verdict::unsupported, data.reason};
  } catch (const std::exception &error) {
    std::string what = error.what();
    // A model of an opset outside the supported range says nothing about operators.
    bool opset = what.find(" opset ") != std::string::npos && what.find("imports ") != std::string::npos;
    return {opset ? Verdict::unsupported : Verdict::failed, what};
  }
}

Result runIsolated(const fs::path &folder, const RunOptions &options, unsigned seconds) {
  ChildEnd end = runInChild({seconds}, [&] {
    Result result = run(folder, options);
    return std::to_string(static_cast<int>(result.verdict)) + result.detail;
  });
  if (end.signal)
    return {Verdict::failed, end.signal == SIGALRM ? fmt::format("ran past {} s", seconds)
                                                   : fmt::format("crashed: {}", strsignal(end.signal))};
  if (end.message.empty())
    return {Verdict::failed, "ended without a result"};
  return {static_cast<Verdict>(end.message[0] - '0'), end.message.substr(1)};
}

} // namespace lathe::conformance
