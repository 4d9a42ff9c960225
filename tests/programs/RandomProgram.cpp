#include "tests/programs/RandomProgram.h"

#include "import/onnx/TestModel.h"

#include <fmt/format.h>

#include <random>

namespace lathe {
namespace {

using namespace onnx;

/// Values of a graph that later statements may read.
struct Visible {
  std::vector<std::string> rows;  // f32, any number of rows by 4
  std::vector<std::string> steps; // f32, scanned: steps x rows x 4
  std::vector<std::string> lists; // sequences of f32, any number of rows by 4; never empty
};

/// What a body gives and how many of its outputs are carried values whose rows may change.
class Generator {
public:
  Generator(uint64_t seed, const ProgramOptions &options) : random(seed), options(options) {}

  std::string run() {
    TestModel m(17);
    m.input("x", {"N", 4}).input("count", {}, TensorProto::INT64).input("flag", {}, TensorProto::BOOL);
    m.graph->mutable_input(1)->mutable_type()->mutable_tensor_type()->mutable_shape();
    m.graph->mutable_input(2)->mutable_type()->mutable_tensor_type()->mutable_shape();
    Visible visible{{"x"}, {}, {}};
    for (int i = 0; i < options.statements; ++i)
      statement(*m.graph, visible, 0);
    std::vector<std::string> outputs(visible.rows.end() - std::min<int64_t>(2, int64_t(visible.rows.size())),
                                     visible.rows.end());
    if (!visible.steps.empty())
      outputs.push_back(visible.steps.back());
    for (size_t i = 0; i < outputs.size(); ++i) {
      node(*m.graph, "Identity", {outputs[i]}, fmt::format("y{}", i));
      m.graph->add_output()->set_name(fmt::format("y{}", i));
      m.graph->mutable_output(int(i))->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
    }
    return m.model.SerializeAsString();
  }

private:
  std::mt19937_64 random;
  const ProgramOptions &options;
  int names = 0;

  int64_t below(int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); }
  bool chance(int percent) { return below(100) < percent; }
  std::string fresh(const char *what) { return fmt::format("{}{}", what, names++); }
  const std::string &pick(const std::vector<std::string> &list) {
    return list[static_cast<size_t>(below(int64_t(list.size())))];
  }

  static NodeProto &node(GraphProto &graph, const char *op, const std::vector<std::string> &inputs,
                         const std::string &output) {
    NodeProto &made = *graph.add_node();
    made.set_op_type(op);
    made.set_name(fmt::format("{}_{}", op, output));
    for (const std::string &input : inputs)
      made.add_input(input);
    if (!output.empty())
      made.add_output(output);
    return made;
  }
  static GraphProto &subgraph(NodeProto &made, const char *name) {
    AttributeProto *attr = made.add_attribute();
    attr->set_name(name);
    attr->set_type(AttributeProto::GRAPH);
    attr->mutable_g()->set_name(fmt::format("{}_{}", made.name(), name));
    return *attr->mutable_g();
  }
  static void describe(ValueInfoProto &value, const std::string &name, int32_t type, bool scalar) {
    value.set_name(name);
    value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    if (scalar)
      value.mutable_type()->mutable_tensor_type()->mutable_shape();
  }

  /// States that the value has one row.
  static void setRow(ValueInfoProto &value) {
    auto *shape = value.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->add_dim()->set_dim_value(1);
    shape->add_dim()->set_dim_value(4);
  }

  std::string floats(GraphProto &graph, const std::vector<int64_t> &dims) {
    TensorProto tensor;
    std::string name = fresh("w");
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::FLOAT);
    int64_t count = 1;
    for (int64_t dim : dims) {
      tensor.add_dims(dim);
      count *= dim;
    }
    for (int64_t i = 0; i < count; ++i)
      tensor.add_float_data(static_cast<float>(below(2001) - 1000) / 2000);
    *graph.add_initializer() = tensor;
    return name;
  }
  std::string ints(GraphProto &graph, const std::vector<int64_t> &dims, const std::vector<int64_t> &values) {
    std::string name = fresh("i");
    *graph.add_initializer() = TestModel::intTensor(name.c_str(), dims, values);
    return name;
  }

  /// Arithmetic that keeps the rows of `a` and stays bounded.
  std::string arithmetic(GraphProto &graph, const std::string &a) {
    std::string made = fresh("v");
    switch (below(5)) {
    case 0:
      node(graph, "Tanh", {a}, made);
      break;
    case 1: {
      std::string product = fresh("v");
      node(graph, "MatMul", {a, floats(graph, {4, 4})}, product);
      node(graph, "Tanh", {product}, made);
      break;
    }
    case 2:
      node(graph, "Mul", {a, floats(graph, {4})}, made);
      break;
    case 3: {
      std::string sum = fresh("v");
      node(graph, "Add", {a, floats(graph, {1, 4})}, sum);
      node(graph, "Sigmoid", {sum}, made);
      break;
    }
    default: {
      node(graph, "Softmax", {a}, made).add_attribute()->set_name("axis");
      AttributeProto &axis = *graph.mutable_node(graph.node_size() - 1)->mutable_attribute(0);
      axis.set_type(AttributeProto::INT);
      axis.set_i(1);
    }
    }
    return made;
  }
  /// One row that depends on all rows of `a`: rows of different values fit by broadcasting.
  std::string row(GraphProto &graph, const std::string &a) {
    std::string made = fresh("v");
    NodeProto &mean = node(graph, "ReduceMean", {a}, made);
    AttributeProto *axes = mean.add_attribute();
    axes->set_name("axes");
    axes->set_type(AttributeProto::INTS);
    axes->add_ints(0);
    return made;
  }
  std::string combined(GraphProto &graph, const std::string &a, const std::string &b) {
    std::string made = fresh("v");
    node(graph, chance(50) ? "Add" : "Sub", {a, row(graph, b)}, made);
    return arithmetic(graph, made);
  }
  std::string grown(GraphProto &graph, const std::string &a, const std::string &b) {
    std::string made = fresh("v");
    NodeProto &concat = node(graph, "Concat", {a, row(graph, b)}, made);
    AttributeProto *axis = concat.add_attribute();
    axis->set_name("axis");
    axis->set_type(AttributeProto::INT);
    axis->set_i(0);
    return made;
  }

  std::string condition(GraphProto &graph, const Visible &visible) {
    if (chance(30))
      return "flag";
    std::string sum = fresh("s"), made = fresh("c");
    NodeProto &reduce = node(graph, "ReduceSum", {pick(visible.rows)}, sum);
    AttributeProto *keep = reduce.add_attribute();
    keep->set_name("keepdims");
    keep->set_type(AttributeProto::INT);
    keep->set_i(0);
    std::string limit = floats(graph, {});
    node(graph, "Greater", {sum, limit}, made);
    return made;
  }

  void statement(GraphProto &graph, Visible &visible, int depth) {
    int64_t kind = depth < options.depth ? below(13) : chance(20) ? 12 : 0;
    if (kind >= 12)
      list(graph, visible);
    else if (kind >= 10)
      chance(60) ? listLoop(graph, visible, depth) : listBranch(graph, visible, depth);
    else if (kind < 4)
      visible.rows.push_back(chance(50) ? arithmetic(graph, pick(visible.rows))
                                        : combined(graph, pick(visible.rows), pick(visible.rows)));
    else if (kind < 6)
      branch(graph, visible, depth);
    else if (kind < 9)
      loop(graph, visible, depth);
    else
      scan(graph, visible, depth);
  }

  void statements(GraphProto &graph, Visible &visible, int depth) {
    for (int64_t i = 1 + below(3); i > 0; --i)
      statement(graph, visible, depth);
  }

  void branch(GraphProto &graph, Visible &visible, int depth) {
    std::string chosen = condition(graph, visible), made = fresh("b");
    std::string base = pick(visible.rows);
    bool differ = chance(30);
    NodeProto &choice = node(graph, "If", {chosen}, made);
    for (const char *name : {"then_branch", "else_branch"}) {
      GraphProto &body = subgraph(choice, name);
      Visible inner = visible;
      statements(body, inner, depth + 1);
      bool grows = differ && name[0] == 't';
      std::string result = grows ? grown(body, base, pick(inner.rows)) : combined(body, base, pick(inner.rows));
      describe(*body.add_output(), result, TensorProto::FLOAT, false);
    }
    visible.rows.push_back(made);
  }

  void loop(GraphProto &graph, Visible &visible, int depth) {
    int64_t carriedCount = 1 + below(2);
    bool counts = chance(80), asks = !counts || chance(40), grows = chance(30), scans = chance(40) && !grows;
    std::string trips = !counts ? "" : chance(60) ? "count" : ints(graph, {}, {below(5)});
    std::string asked = asks ? condition(graph, visible) : "";
    std::vector<std::string> inputs{trips, asked};
    for (int64_t i = 0; i < carriedCount; ++i)
      inputs.push_back(pick(visible.rows));
    std::string made = fresh("l");
    NodeProto &loop = node(graph, "Loop", inputs, "");
    loop.set_name("Loop_" + made);
    GraphProto &body = subgraph(loop, "body");
    std::string iteration = fresh("t"), running = fresh("r");
    describe(*body.add_input(), iteration, TensorProto::INT64, true);
    describe(*body.add_input(), running, TensorProto::BOOL, true);
    Visible inner{visible.rows, {}, visible.lists};
    std::vector<std::string> carried;
    for (int64_t i = 0; i < carriedCount; ++i) {
      carried.push_back(fresh("k"));
      describe(*body.add_input(), carried.back(), TensorProto::FLOAT, false);
      inner.rows.push_back(carried.back());
    }
    statements(body, inner, depth + 1);
    // A loop that only its condition ends has few iterations.
    std::string goesOn = fresh("g"), limit = ints(body, {}, {1 + below(4)}), early = fresh("e");
    node(body, "Less", {iteration, limit}, early);
    if (counts && chance(50))
      node(body, "Identity", {running}, goesOn);
    else if (counts && chance(50))
      node(body, "And", {early, running}, goesOn);
    else
      node(body, "Identity", {early}, goesOn);
    describe(*body.add_output(), goesOn, TensorProto::BOOL, true);
    for (int64_t i = 0; i < carriedCount; ++i) {
      const std::string &old = carried[size_t(i)];
      std::string next = grows && i == 0                            ? grown(body, old, pick(inner.rows))
                         : chance(20) && carriedCount > 1 && !grows ? combined(body, old, carried[size_t(1 - i)])
                                                                    : combined(body, old, pick(inner.rows));
      describe(*body.add_output(), next, TensorProto::FLOAT, false);
      loop.add_output(fmt::format("{}_{}", made, i));
      visible.rows.push_back(loop.output(int(i)));
    }
    if (scans) {
      std::string step = combined(body, carried[0], pick(inner.rows));
      describe(*body.add_output(), step, TensorProto::FLOAT, false);
      loop.add_output(made + "_steps");
      visible.steps.push_back(made + "_steps");
    }
  }

  static void describeList(ValueInfoProto &value, const std::string &name) {
    value.set_name(name);
    value.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
        TensorProto::FLOAT);
  }

  /// A sequence made, changed, or turned into rows.
  void list(GraphProto &graph, Visible &visible) {
    std::string made = fresh("q");
    if (visible.lists.empty() || chance(25)) {
      node(graph, "SequenceConstruct", {pick(visible.rows), row(graph, pick(visible.rows))}, made);
      visible.lists.push_back(made);
    } else if (chance(40)) {
      std::string position = chance(50) ? ints(graph, {}, {chance(50) ? 0 : -1}) : "";
      node(graph, "SequenceInsert", {pick(visible.lists), pick(visible.rows), position}, made);
      visible.lists.push_back(made);
    } else {
      visible.rows.push_back(fromList(graph, pick(visible.lists)));
    }
  }

  /// Rows of a sequence: one tensor of it, or all of them.
  std::string fromList(GraphProto &graph, const std::string &list) {
    std::string made = fresh("v");
    if (chance(50)) {
      node(graph, "SequenceAt", {list, ints(graph, {}, {chance(50) ? 0 : -1})}, made);
      return made;
    }
    AttributeProto *axis = node(graph, "ConcatFromSequence", {list}, made).add_attribute();
    axis->set_name("axis");
    axis->set_type(AttributeProto::INT);
    axis->set_i(0);
    std::string mean = row(graph, made); // stays small, however often it is put into a list again
    return chance(50) ? mean : arithmetic(graph, made);
  }

  /// A sequence that a branch may have made longer.
  void listBranch(GraphProto &graph, Visible &visible, int depth) {
    if (visible.lists.empty())
      list(graph, visible);
    std::string chosen = condition(graph, visible), made = fresh("b"), base = pick(visible.lists);
    NodeProto &choice = node(graph, "If", {chosen}, made);
    for (const char *name : {"then_branch", "else_branch"}) {
      GraphProto &body = subgraph(choice, name);
      Visible inner = visible;
      statements(body, inner, depth + 1);
      std::string result = fresh("q");
      if (chance(60))
        node(body, "SequenceInsert", {base, row(body, pick(inner.rows))}, result);
      else
        node(body, "SequenceConstruct", {pick(inner.rows)}, result);
      describeList(*body.add_output(), result);
    }
    visible.lists.push_back(made);
    visible.rows.push_back(fromList(graph, made));
  }

  /// A loop that carries a sequence, which grows or keeps its length, and perhaps rows.
  void listLoop(GraphProto &graph, Visible &visible, int depth) {
    if (visible.lists.empty())
      list(graph, visible);
    std::string made = fresh("l"), start = pick(visible.lists);
    NodeProto &loop = node(graph, "Loop", {chance(60) ? "count" : ints(graph, {}, {below(4)}), "", start}, made);
    GraphProto &body = subgraph(loop, "body");
    std::string iteration = fresh("t"), running = fresh("r"), carried = fresh("k"), goesOn = fresh("g");
    describe(*body.add_input(), iteration, TensorProto::INT64, true);
    describe(*body.add_input(), running, TensorProto::BOOL, true);
    describeList(*body.add_input(), carried);
    Visible inner = visible;
    inner.steps.clear();
    inner.lists.push_back(carried);
    inner.rows.push_back(fromList(body, carried));
    statements(body, inner, depth + 1);
    node(body, "Identity", {running}, goesOn);
    describe(*body.add_output(), goesOn, TensorProto::BOOL, true);
    std::string next = fresh("q");
    node(body, "SequenceInsert", {carried, row(body, pick(inner.rows))}, next);
    if (chance(40)) { // the first tensor goes, so the length stays
      std::string shorter = fresh("q");
      node(body, "SequenceErase", {next, ints(body, {}, {0})}, shorter);
      next = shorter;
    }
    describeList(*body.add_output(), next);
    visible.lists.push_back(made);
    visible.rows.push_back(fromList(graph, made));
  }

  void scan(GraphProto &graph, Visible &visible, int depth) {
    std::string state = row(graph, pick(visible.rows)), made = fresh("n");
    NodeProto &scan = node(graph, "Scan", {state, pick(visible.rows)}, "");
    scan.set_name("Scan_" + made);
    AttributeProto *count = scan.add_attribute();
    count->set_name("num_scan_inputs");
    count->set_type(AttributeProto::INT);
    count->set_i(1);
    if (chance(40)) {
      AttributeProto *directions = scan.add_attribute();
      directions->set_name(chance(50) ? "scan_input_directions" : "scan_output_directions");
      directions->set_type(AttributeProto::INTS);
      directions->add_ints(1);
    }
    GraphProto &body = subgraph(scan, "body");
    std::string carried = fresh("k"), element = fresh("m"), elementRow = fresh("v");
    describe(*body.add_input(), carried, TensorProto::FLOAT, false);
    describe(*body.add_input(), element, TensorProto::FLOAT, false);
    node(body, "Reshape", {element, ints(body, {2}, {1, 4})}, elementRow);
    Visible inner{visible.rows, {}, visible.lists};
    inner.rows.push_back(elementRow);
    statements(body, inner, depth + 1);
    std::string next = combined(body, carried, elementRow);
    describe(*body.add_output(), next, TensorProto::FLOAT, false);
    setRow(*body.mutable_output(0)); // ONNX Runtime wants the extents that a Scan collects
    std::string step = combined(body, next, pick(inner.rows));
    describe(*body.add_output(), step, TensorProto::FLOAT, false);
    setRow(*body.mutable_output(1));
    scan.add_output(made + "_state");
    scan.add_output(made + "_steps");
    visible.rows.push_back(made + "_state");
    visible.steps.push_back(made + "_steps");
  }
};

} // namespace

std::string randomProgram(uint64_t seed, const ProgramOptions &options) { return Generator(seed, options).run(); }

} // namespace lathe
