// The tools with which random programs are written: names, nodes, constants, subgraphs and descriptions of values.
#pragma once

#include "import/onnx/TestModel.h"

#include <fmt/format.h>

#include <random>
#include <string>
#include <variant>
#include <vector>

namespace lathe {

class ProgramWriter {
public:
  explicit ProgramWriter(uint64_t seed) : random(seed) {}

protected:
  using Graph = onnx::GraphProto;
  using Names = std::vector<std::string>;

  // ---- Random choices.
  int64_t below(int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); }
  bool chance(int percent) { return below(100) < percent; }
  const std::string &pick(const Names &list) { return list[static_cast<size_t>(below(int64_t(list.size())))]; }

  // ---- Nodes of a graph. Names are unique in the whole program.
  struct Attribute {
    const char *name;
    std::variant<int64_t, std::vector<int64_t>, std::string> value;
  };
  std::string fresh(const char *what) { return fmt::format("{}{}", what, names++); }
  /// Adds a node without outputs to a graph; `name` is part of the node's name.
  static onnx::NodeProto &node(Graph &graph, const std::string &op, const Names &inputs, const std::string &name,
                               const std::vector<Attribute> &attributes = {});
  /// Adds a node to a graph and returns the name of its only output, which begins with `what`.
  std::string emit(Graph &graph, const std::string &op, const Names &inputs,
                   const std::vector<Attribute> &attributes = {}, const char *what = "v");
  static Graph &subgraph(onnx::NodeProto &made, const char *name);

  // ---- Constants of a graph.
  /// Adds a constant of random numbers from -0.5 to 0.5 and returns its name.
  std::string floats(Graph &graph, const std::vector<int64_t> &dims);
  std::string real(Graph &graph, float value);
  std::string ints(Graph &graph, const std::vector<int64_t> &dims, const std::vector<int64_t> &values);
  std::string integer(Graph &graph, int64_t value) { return ints(graph, {}, {value}); }

  // ---- Descriptions of inputs and outputs of subgraphs.
  static void describeRows(onnx::ValueInfoProto &value, const std::string &name);
  static void describeScalar(onnx::ValueInfoProto &value, const std::string &name, int32_t type);
  static void describeList(onnx::ValueInfoProto &value, const std::string &name);
  static void describeOptional(onnx::ValueInfoProto &value, const std::string &name);
  /// Declares in the description of a value that it has one row.
  static void setRow(onnx::ValueInfoProto &value);

private:
  std::mt19937_64 random;
  int names = 0;
};

} // namespace lathe
