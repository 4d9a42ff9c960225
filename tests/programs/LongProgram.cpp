// A program whose loop may run a million times: every iteration branches, runs a loop whose number of iterations only its
// condition tells and collects what that gives, selects rows, and makes a sequence longer, and shorter again.
#include "tests/programs/ProgramValues.h"
#include "tests/programs/RandomProgram.h"

namespace lathe {
namespace {

using namespace onnx;

class LongProgram : ProgramValues {
public:
  LongProgram() : ProgramValues(1) {}

  std::string run() {
    TestModel m(17);
    m.input("x", {1, 4}).input("count", {}, TensorProto::INT64).input("flag", {}, TensorProto::BOOL);
    std::string list = emit(*m.graph, "SequenceConstruct", {"x"}, {}, "q");
    NodeProto &loop = node(*m.graph, "Loop", {"count", "", "x", list}, "long");
    Graph &body = subgraph(loop, "body");
    describeScalar(*body.add_input(), "t", TensorProto::INT64);
    describeScalar(*body.add_input(), "r", TensorProto::BOOL);
    describeRows(*body.add_input(), "v");
    describeList(*body.add_input(), "q");
    iteration(body);
    loop.add_output("last");
    loop.add_output("lists");
    node(*m.graph, "Identity", {"last"}, "y0").add_output("y0");
    m.output("y0");
    std::string length = emit(*m.graph, "SequenceLength", {"lists"}, {}, "n");
    node(*m.graph, "Identity", {length}, "y1").add_output("y1");
    m.output("y1", TensorProto::INT64);
    return m.model.SerializeAsString();
  }

private:
  void iteration(Graph &body) {
    std::string third = emit(body, "Mod", {"t", integer(body, 3)}, {}, "n");
    std::string chosen = emit(body, "Equal", {third, integer(body, 0)}, {}, "c"), branch = fresh("b");
    NodeProto &choice = node(body, "If", {chosen}, branch);
    choice.add_output(branch);
    for (const char *which : {"then_branch", "else_branch"}) {
      Graph &graph = subgraph(choice, which);
      describeRows(*graph.add_output(), emit(graph, *which == 't' ? "Tanh" : "Sigmoid", {"v"}));
    }
    std::string steps = collected(body, branch);
    std::string mean = emit(body, "ReduceMean", {steps}, {{"axes", std::vector<int64_t>{0}}, {"keepdims", 0}});
    std::string greater = emit(body, "Greater", {mean, floats(body, {1, 4})}, {}, "c");
    std::string kept = emit(body, "Compress", {mean, emit(body, "Reshape", {greater, ints(body, {1}, {-1})}, {}, "c")});
    std::string sum = emit(body, "ReduceSum", {kept, ints(body, {1}, {0})}, {{"keepdims", 1}});
    describeScalar(*body.add_output(), emit(body, "Identity", {"r"}, {}, "c"), TensorProto::BOOL);
    std::string lists = shortened(body, emit(body, "SequenceInsert", {"q", mean}, {}, "q"));
    std::string first = emit(body, "SequenceAt", {lists, integer(body, 0)});
    std::string next = emit(body, "Add", {emit(body, "Mul", {mean, floats(body, {1, 4})}), first});
    describeRows(*body.add_output(), emit(body, "Tanh", {emit(body, "Add", {next, sum})}));
    describeList(*body.add_output(), lists);
  }

  /// One to three iterations on `rows`, and what they give.
  std::string collected(Graph &body, const std::string &rows) {
    std::string limit = emit(body, "Mod", {"t", integer(body, 3)}, {}, "n"), name = fresh("l");
    NodeProto &loop = node(body, "Loop", {"", emit(body, "Identity", {"r"}, {}, "c"), rows}, name);
    Graph &inner = subgraph(loop, "body");
    std::string iteration = fresh("t"), running = fresh("r"), carried = fresh("k");
    describeScalar(*inner.add_input(), iteration, TensorProto::INT64);
    describeScalar(*inner.add_input(), running, TensorProto::BOOL);
    describeRows(*inner.add_input(), carried);
    describeScalar(*inner.add_output(), emit(inner, "Less", {iteration, limit}, {}, "c"), TensorProto::BOOL);
    std::string next = emit(inner, "Sin", {emit(inner, "Add", {carried, floats(inner, {1, 4})})});
    describeRows(*inner.add_output(), next);
    describeRows(*inner.add_output(), emit(inner, "Mul", {next, floats(inner, {4})}));
    loop.add_output(name + "_last");
    loop.add_output(name + "_steps");
    return name + "_steps";
  }

  /// A sequence of more than five loses its first tensor.
  std::string shortened(Graph &body, const std::string &list) {
    std::string length = emit(body, "SequenceLength", {list}, {}, "n"), name = fresh("b");
    NodeProto &choice = node(body, "If", {emit(body, "Greater", {length, integer(body, 5)}, {}, "c")}, name);
    choice.add_output(name);
    Graph &then = subgraph(choice, "then_branch");
    describeList(*then.add_output(), emit(then, "SequenceErase", {list, integer(then, 0)}, {}, "q"));
    Graph &otherwise = subgraph(choice, "else_branch");
    describeList(*otherwise.add_output(), emit(otherwise, "Identity", {list}, {}, "q"));
    return name;
  }
};

} // namespace

std::string longProgram() { return LongProgram().run(); }

} // namespace lathe
