#include "tests/programs/ProgramWriter.h"

namespace lathe {

using namespace onnx;

NodeProto &ProgramWriter::node(Graph &graph, const std::string &op, const Names &inputs, const std::string &name,
                               const std::vector<Attribute> &attributes) {
  NodeProto &made = *graph.add_node();
  made.set_op_type(op);
  made.set_name(fmt::format("{}_{}", op, name));
  for (const std::string &input : inputs)
    made.add_input(input);
  TestNode test(&made);
  for (const Attribute &attribute : attributes)
    if (auto *number = std::get_if<int64_t>(&attribute.value))
      test.attr(attribute.name, *number);
    else if (auto *list = std::get_if<std::vector<int64_t>>(&attribute.value))
      test.attr(attribute.name, *list);
    else
      test.attr(attribute.name, std::get<std::string>(attribute.value).c_str());
  return made;
}

std::string ProgramWriter::emit(Graph &graph, const std::string &op, const Names &inputs,
                                const std::vector<Attribute> &attributes, const char *what) {
  std::string output = fresh(what);
  node(graph, op, inputs, output, attributes).add_output(output);
  return output;
}

ProgramWriter::Graph &ProgramWriter::subgraph(NodeProto &made, const char *name) {
  AttributeProto *attr = made.add_attribute();
  attr->set_name(name);
  attr->set_type(AttributeProto::GRAPH);
  attr->mutable_g()->set_name(fmt::format("{}_{}", made.name(), name));
  return *attr->mutable_g();
}

std::string ProgramWriter::floats(Graph &graph, const std::vector<int64_t> &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(below(2001) - 1000) / 2000);
  std::string name = fresh("w");
  *graph.add_initializer() = TestModel::floatTensor(name.c_str(), dims, values);
  return name;
}

std::string ProgramWriter::real(Graph &graph, float value) {
  std::string name = fresh("w");
  *graph.add_initializer() = TestModel::floatTensor(name.c_str(), {}, {value});
  return name;
}

std::string ProgramWriter::ints(Graph &graph, const std::vector<int64_t> &dims, const std::vector<int64_t> &values) {
  std::string name = fresh("i");
  *graph.add_initializer() = TestModel::intTensor(name.c_str(), dims, values);
  return name;
}

void ProgramWriter::describeRows(ValueInfoProto &value, const std::string &name) {
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
}

void ProgramWriter::describeScalar(ValueInfoProto &value, const std::string &name, int32_t type) {
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  value.mutable_type()->mutable_tensor_type()->mutable_shape();
}

void ProgramWriter::describeList(ValueInfoProto &value, const std::string &name) {
  value.set_name(name);
  value.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      TensorProto::FLOAT);
}

void ProgramWriter::describeOptional(ValueInfoProto &value, const std::string &name) {
  value.set_name(name);
  value.mutable_type()->mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      TensorProto::FLOAT);
}

void ProgramWriter::setRow(ValueInfoProto &value) {
  auto *shape = value.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->add_dim()->set_dim_value(1);
  shape->add_dim()->set_dim_value(4);
}

} // namespace lathe
