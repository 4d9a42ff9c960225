// Writes small TensorFlow graphs for tests, imports them and evaluates them with the reference operators.
#pragma once

#include "import/tensorflow/TensorFlow.h"
#include "import/tensorflow/tensorflow.pb.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace lathe::tensorflow {

using Extents = std::vector<int64_t>;
using Numbers = std::vector<double>;

template <class T> constexpr int32_t dataType() {
  if (std::is_same_v<T, float>)
    return 1;
  if (std::is_same_v<T, double>)
    return 2;
  if (std::is_same_v<T, int32_t>)
    return 3;
  if (std::is_same_v<T, uint8_t>)
    return 4;
  if (std::is_same_v<T, bool>)
    return 10;
  return 9; // int64_t
}

/// An attribute of a node in a TensorFlow graph for tests.
struct Attr {
  std::string name;
  std::function<void(file::AttrValue &)> set;
};
inline Attr number(const char *name, int64_t value) {
  return {name, [=](file::AttrValue &attr) { attr.set_i(value); }};
}
inline Attr real(const char *name, float value) {
  return {name, [=](file::AttrValue &attr) { attr.set_f(value); }};
}
inline Attr text(const char *name, const std::string &value) {
  return {name, [=](file::AttrValue &attr) { attr.set_s(value); }};
}
inline Attr truth(const char *name, bool value = true) {
  return {name, [=](file::AttrValue &attr) { attr.set_b(value); }};
}
inline Attr type(const char *name, int32_t value) {
  return {name, [=](file::AttrValue &attr) { attr.set_type(static_cast<file::DataType>(value)); }};
}
inline Attr types(const char *name, const std::vector<int32_t> &values) {
  return {name, [=](file::AttrValue &attr) {
            for (int32_t value : values)
              attr.mutable_list()->add_type(static_cast<file::DataType>(value));
          }};
}
inline Attr numbers(const char *name, const Extents &values) {
  return {name, [=](file::AttrValue &attr) {
            for (int64_t value : values)
              attr.mutable_list()->add_i(value);
          }};
}
inline Attr function(const char *name, const std::string &value) {
  return {name, [=](file::AttrValue &attr) { attr.mutable_func()->set_name(value); }};
}
inline Attr functions(const char *name, const std::vector<std::string> &values) {
  return {name, [=](file::AttrValue &attr) {
            for (const std::string &value : values)
              attr.mutable_list()->add_func()->set_name(value);
          }};
}

inline void setNode(file::NodeDef &node, const std::string &name, const std::string &op,
                    const std::vector<std::string> &inputs, const std::vector<Attr> &attrs) {
  node.set_name(name);
  node.set_op(op);
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const Attr &attr : attrs)
    attr.set((*node.mutable_attr())[attr.name]);
}

template <class T>
void setConstant(file::NodeDef &node, const std::string &name, const Extents &dims, const std::vector<T> &values) {
  file::TensorProto tensor;
  tensor.set_dtype(static_cast<file::DataType>(dataType<T>()));
  for (int64_t extent : dims)
    tensor.mutable_tensor_shape()->add_dim()->set_size(extent);
  std::string bytes;
  for (T value : values)
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
  tensor.set_tensor_content(bytes);
  setNode(node, name, "Const", {}, {type("dtype", dataType<T>())});
  *(*node.mutable_attr())["value"].mutable_tensor() = tensor;
}

/// Builds a TensorFlow graph for a test. Nodes without a name get one.
class TestGraph {
public:
  file::GraphDef graph;

  TestGraph() { graph.mutable_versions()->set_producer(1000); }

  std::string placeholder(const std::string &name, const Extents &dims, int32_t dtype = 1) {
    file::NodeDef &node = *graph.add_node();
    setNode(node, name, "Placeholder", {}, {type("dtype", dtype)});
    auto &shape = *(*node.mutable_attr())["shape"].mutable_shape();
    for (int64_t extent : dims)
      shape.add_dim()->set_size(extent);
    return name;
  }
  template <class T> std::string constant(const Extents &dims, const std::vector<T> &values) {
    std::string name = "const" + std::to_string(graph.node_size());
    setConstant(*graph.add_node(), name, dims, values);
    return name;
  }
  std::string ints(const std::vector<int32_t> &values) { return constant<int32_t>({int64_t(values.size())}, values); }
  std::string scalar(int32_t value) { return constant<int32_t>({}, {value}); }
  std::string real(float value) { return constant<float>({}, {value}); }
  std::string op(const std::string &op, const std::vector<std::string> &inputs, const std::vector<Attr> &attrs = {},
                 std::string name = "") {
    if (name.empty())
      name = op + std::to_string(graph.node_size());
    setNode(*graph.add_node(), name, op, inputs, attrs);
    return name;
  }
  file::FunctionDef &function(const std::string &name, const std::vector<std::pair<std::string, int32_t>> &arguments,
                              const std::vector<std::pair<std::string, std::string>> &results) {
    file::FunctionDef &function = *graph.mutable_library()->add_function();
    function.mutable_signature()->set_name(name);
    for (const auto &[argument, dtype] : arguments) {
      auto &arg = *function.mutable_signature()->add_input_arg();
      arg.set_name(argument);
      arg.set_type(static_cast<file::DataType>(dtype));
    }
    for (const auto &[result, tensor] : results) {
      function.mutable_signature()->add_output_arg()->set_name(result);
      (*function.mutable_ret())[result] = tensor;
    }
    return function;
  }
  std::string bytes() const { return graph.SerializeAsString(); }
};

inline lathe::Value tensorOf(ElementType type, const Extents &dims, const Numbers &numbers) {
  Tensor tensor(ElementType::f64, dims);
  std::copy(numbers.begin(), numbers.end(), static_cast<double *>(tensor.data()));
  return lathe::Value(tensor.convertedTo(type));
}
inline lathe::Value floats(const Extents &dims, const Numbers &numbers) {
  return tensorOf(ElementType::f32, dims, numbers);
}

inline Numbers numbersOf(const Tensor &tensor) {
  Numbers result;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.push_back(tensor.asDouble(i));
  return result;
}

/// Evaluates a TensorFlow graph with the reference operators. With LATHE_TENSORFLOW_WRITE=DIR, the graph and its
/// inputs and results are written to DIR, so that other implementations can run it (tests/tensorflow_peer_test.py):
/// NAME.pb, NAME.json, NAME.in0.npy, NAME.out0.npy, ...
std::vector<Tensor> results(const std::string &bytes, const std::vector<lathe::Value> &inputs,
                            const ImportOptions &options = {});

/// Imports a TensorFlow graph and returns the message of the error; "" if the import succeeds.
inline std::string importError(std::string_view bytes, const std::string &name = "m.pb") {
  auto context = makeContext();
  try {
    importModelOf(format(), *context, bytes, name, {}, {});
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

} // namespace lathe::tensorflow
