// Builds small ONNX models for tests.
#pragma once

#include "import/Import.h"
#include "import/onnx/TensorData.h"
#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <variant>
#include <vector>

namespace lathe::onnx {

class TestNode {
public:
  explicit TestNode(NodeProto *node) : node(node) {}
  NodeProto *node;
  TestNode &attr(const char *name, int64_t value) {
    return add(name, AttributeProto::INT, [&](auto &a) { a.set_i(value); });
  }
  TestNode &attr(const char *name, int value) { return attr(name, static_cast<int64_t>(value)); }
  TestNode &attr(const char *name, float value) {
    return add(name, AttributeProto::FLOAT, [&](auto &a) { a.set_f(value); });
  }
  TestNode &attr(const char *name, const char *value) {
    return add(name, AttributeProto::STRING, [&](auto &a) { a.set_s(value); });
  }
  TestNode &attr(const char *name, std::vector<int64_t> values) {
    return add(name, AttributeProto::INTS, [&](auto &a) { a.mutable_ints()->Add(values.begin(), values.end()); });
  }
  TestNode &floats(const char *name, std::vector<float> values) {
    return add(name, AttributeProto::FLOATS, [&](auto &a) { a.mutable_floats()->Add(values.begin(), values.end()); });
  }
  TestNode &attr(const char *name, const TensorProto &value) {
    return add(name, AttributeProto::TENSOR, [&](auto &a) { *a.mutable_t() = value; });
  }

private:
  template <class Fill> TestNode &add(const char *name, AttributeProto::AttributeType kind, Fill fill) {
    auto *attr = node->add_attribute();
    attr->set_name(name);
    attr->set_type(kind);
    fill(*attr);
    return *this;
  }
};

class TestModel {
public:
  explicit TestModel(int64_t opset) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
    graph = model.mutable_graph();
    graph->set_name("g");
  }
  ModelProto model;
  GraphProto *graph;

  /// An extent of a test model: a number, or the name of a symbol.
  using Extent = std::variant<int, const char *>;
  TestModel &input(const char *name, std::vector<Extent> dims, int32_t type = TensorProto::FLOAT) {
    describe(*graph->add_input(), name, type);
    auto *shape = graph->mutable_input(graph->input_size() - 1)->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const Extent &extent : dims) {
      auto *dim = shape->add_dim();
      if (auto number = std::get_if<int>(&extent))
        dim->set_dim_value(*number);
      else
        dim->set_dim_param(std::get<const char *>(extent));
    }
    return *this;
  }
  TestModel &output(const char *name, int32_t type = TensorProto::FLOAT) {
    describe(*graph->add_output(), name, type);
    return *this;
  }
  TestModel &ints(const char *name, std::vector<int64_t> dims, std::vector<int64_t> values) {
    *graph->add_initializer() = intTensor(name, dims, values);
    return *this;
  }
  TestModel &ints(const char *name, std::vector<int64_t> values) {
    return ints(name, {static_cast<int64_t>(values.size())}, values);
  }
  TestModel &floats(const char *name, std::vector<int64_t> dims, std::vector<float> values) {
    *graph->add_initializer() = floatTensor(name, dims, values);
    return *this;
  }
  /// Adds an initializer whose elements are the floats 0, 1, 2, ... to the test model.
  TestModel &weight(const char *name, std::vector<int64_t> dims) {
    int64_t count = 1;
    for (int64_t extent : dims)
      count *= extent;
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(i));
    return floats(name, dims, values);
  }
  TestNode node(const char *op, std::vector<const char *> inputs, std::vector<const char *> outputs,
                const char *name = "") {
    NodeProto *added = graph->add_node();
    added->set_op_type(op);
    added->set_name(name);
    for (const char *input : inputs)
      added->add_input(input);
    for (const char *output : outputs)
      added->add_output(output);
    return TestNode(added);
  }

  static TensorProto intTensor(const char *name, std::vector<int64_t> dims, std::vector<int64_t> values) {
    TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::INT64);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    tensor.mutable_int64_data()->Add(values.begin(), values.end());
    return tensor;
  }
  static TensorProto floatTensor(const char *name, std::vector<int64_t> dims, std::vector<float> values) {
    TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    tensor.mutable_float_data()->Add(values.begin(), values.end());
    return tensor;
  }

  std::string bytes() const { return model.SerializeAsString(); }
  /// Imports the test model and returns the module as text without locations, or "error: ..." if the import fails.
  std::string imported(const ImportOptions &options = {}) const {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    try {
      auto module = importOnnxBytes(context, bytes(), "m.onnx", options);
      std::string text;
      llvm::raw_string_ostream out(text);
      module->print(out);
      return text;
    } catch (const Error &error) {
      return std::string("error: ") + error.what();
    }
  }

private:
  static void describe(ValueInfoProto &value, const char *name, int32_t type) {
    value.set_name(name);
    value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  }
};

} // namespace lathe::onnx
