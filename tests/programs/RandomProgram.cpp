#include "tests/programs/RandomProgram.h"

#include "tests/programs/ProgramValues.h"

namespace lathe {
namespace {

using namespace onnx;

/// What a branch gives or a loop carries.
enum class Kind { rows, maybe, number, list, optional };

class Generator : ProgramValues {
public:
  Generator(uint64_t seed, const ProgramOptions &options) : ProgramValues(seed), options(options) {}

  std::string run() {
    TestModel m(17);
    m.input("x", {"N", 4}).input("count", {}, TensorProto::INT64).input("flag", {}, TensorProto::BOOL);
    Visible visible;
    visible.rows = {"x"};
    visible.numbers = {modulo("count", *m.graph)};
    for (int i = 0; i < options.statements; ++i)
      statement(*m.graph, visible, 0);
    Names outputs(visible.rows.end() - std::min<int64_t>(2, int64_t(visible.rows.size())), visible.rows.end());
    for (const Names *more : {&visible.steps, &visible.maybe})
      if (!more->empty())
        outputs.push_back(more->back());
    for (const std::string &output : outputs)
      addOutput(m, output, TensorProto::FLOAT);
    addOutput(m, visible.numbers.back(), TensorProto::INT64);
    return m.model.SerializeAsString();
  }

private:
  const ProgramOptions &options;

  std::string modulo(const std::string &number, Graph &graph) {
    return emit(graph, "Mod", {number, integer(graph, 5)}, {}, "n");
  }
  static void addOutput(TestModel &m, const std::string &value, int32_t type) {
    std::string name = fmt::format("y{}", m.graph->output_size());
    node(*m.graph, "Identity", {value}, name).add_output(name);
    m.output(name.c_str(), type);
  }

  void statement(Graph &graph, Visible &visible, int depth) {
    bool nests = depth < options.depth;
    int64_t kind = below(nests ? 20 : 10);
    if (kind < 3)
      visible.rows.push_back(chance(50) ? arithmetic(graph, pick(visible.rows))
                                        : combined(graph, pick(visible.rows), pick(visible.rows)));
    else if (kind < 5)
      visible.rows.push_back(mixed(graph, visible));
    else if (kind == 5)
      visible.maybe.push_back(selected(graph, visible));
    else if (kind == 6 && !visible.maybe.empty())
      visible.maybe.push_back(arithmetic(graph, pick(visible.maybe)));
    else if (kind == 6 || kind == 7)
      visible.numbers.push_back(number(graph, visible));
    else if (kind == 8 && options.optionals)
      optionalStatement(graph, visible, depth);
    else if (kind < 10)
      list(graph, visible);
    else if (kind < 13)
      branch(graph, visible, depth);
    else if (kind < 18)
      loop(graph, visible, depth);
    else
      scan(graph, visible, depth);
  }

  void statements(Graph &graph, Visible &visible, int depth) {
    for (int64_t i = 1 + below(3); i > 0; --i)
      statement(graph, visible, depth);
  }

  // ---- What bodies give ----

  static void describe(ValueInfoProto &value, const std::string &name, Kind kind) {
    if (kind == Kind::list)
      describeList(value, name);
    else if (kind == Kind::optional)
      describeOptional(value, name);
    else if (kind == Kind::number)
      describeScalar(value, name, TensorProto::INT64);
    else
      describeRows(value, name);
  }
  static Names &namesOf(Visible &visible, Kind kind) {
    switch (kind) {
    case Kind::rows:
      return visible.rows;
    case Kind::maybe:
      return visible.maybe;
    case Kind::number:
      return visible.numbers;
    case Kind::list:
      return visible.lists;
    case Kind::optional:
      return visible.optionals;
    }
    return visible.rows;
  }
  Kind someKind() {
    int64_t kind = below(10);
    if (kind < 5)
      return Kind::rows;
    if (kind == 9 && options.optionals)
      return Kind::optional;
    return kind < 7 ? Kind::maybe : kind == 7 ? Kind::number : Kind::list;
  }

  /// A value of a kind that the visible ones give; `base` is one of the kind or "".
  std::string made(Graph &graph, const Visible &visible, Kind kind, const std::string &base) {
    switch (kind) {
    case Kind::rows:
      return combined(graph, base.empty() ? pick(visible.rows) : base, pick(visible.rows));
    case Kind::maybe:
      return chance(70) ? selected(graph, visible) : row(graph, pick(visible.rows));
    case Kind::number:
      return number(graph, visible);
    case Kind::list:
      return base.empty() ? emit(graph, "SequenceConstruct", {row(graph, pick(visible.rows))}, {}, "q")
                          : emit(graph, "SequenceInsert", {base, row(graph, pick(visible.rows))}, {}, "q");
    case Kind::optional:
      return optional(graph, visible);
    }
    return "";
  }

  std::string nothing(Graph &graph) {
    std::string output = fresh("o");
    NodeProto &empty = node(graph, "Optional", {}, output);
    empty.add_output(output);
    AttributeProto *type = empty.add_attribute();
    type->set_name("type");
    type->set_type(AttributeProto::TYPE_PROTO);
    type->mutable_tp()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
    return output;
  }

  /// An optional, or what is in one if there is something.
  void optionalStatement(Graph &graph, Visible &visible, int depth) {
    if (visible.optionals.empty() || depth >= options.depth) {
      visible.optionals.push_back(optional(graph, visible));
      return;
    }
    std::string from = pick(visible.optionals), has = emit(graph, "OptionalHasElement", {from}, {}, "c"),
                output = fresh("b");
    NodeProto &choice = node(graph, "If", {has}, output);
    choice.add_output(output);
    Graph &then = subgraph(choice, "then_branch");
    describeRows(*then.add_output(), arithmetic(then, emit(then, "OptionalGetElement", {from})));
    Graph &otherwise = subgraph(choice, "else_branch");
    describeRows(*otherwise.add_output(), row(otherwise, pick(visible.rows)));
    visible.rows.push_back(output);
  }

  // ---- Branches ----

  void branch(Graph &graph, Visible &visible, int depth) {
    std::string chosen = condition(graph, visible);
    std::vector<Kind> kinds{someKind()};
    if (chance(30))
      kinds.push_back(someKind());
    Names bases;
    for (Kind kind : kinds) {
      const Names &all = namesOf(visible, kind);
      bases.push_back(all.empty() ? "" : pick(all));
    }
    bool differ = chance(30);
    std::string name = fresh("b");
    NodeProto &choice = node(graph, "If", {chosen}, name);
    for (const char *which : {"then_branch", "else_branch"}) {
      Graph &body = subgraph(choice, which);
      Visible inner = visible;
      statements(body, inner, depth + 1);
      for (size_t i = 0; i < kinds.size(); ++i) {
        bool other = differ && *which == 't';
        std::string result = other && kinds[i] == Kind::rows       ? grown(body, bases[i], pick(inner.rows))
                             : other && kinds[i] == Kind::optional ? nothing(body)
                             : other && kinds[i] == Kind::list     ? made(body, inner, kinds[i], "")
                                                                   : made(body, inner, kinds[i], bases[i]);
        describe(*body.add_output(), result, kinds[i]);
      }
    }
    for (size_t i = 0; i < kinds.size(); ++i) {
      choice.add_output(fmt::format("{}_{}", name, i));
      keep(graph, visible, kinds[i], choice.output(int(i)));
    }
  }

  /// Makes a result visible; sequences become rows sooner or later.
  void keep(Graph &graph, Visible &visible, Kind kind, const std::string &name) {
    namesOf(visible, kind).push_back(name);
    if (kind == Kind::list)
      visible.rows.push_back(fromList(graph, name));
  }

  // ---- Loops ----

  /// A value that a loop carries.
  struct Carried {
    Kind kind;
    std::string start, inside; // before the loop and in the body
    bool grows = false;
  };

  void loop(Graph &graph, Visible &visible, int depth) {
    bool counts = chance(80), asks = !counts || chance(40), scans = chance(40);
    std::string trips = !counts      ? ""
                        : chance(40) ? "count"
                        : chance(50) ? number(graph, visible)
                                     : integer(graph, below(5));
    std::vector<Carried> carried = carriedValues(graph, visible);
    Names inputs{trips, asks ? condition(graph, visible) : ""};
    for (const Carried &value : carried)
      inputs.push_back(value.start);
    std::string name = fresh("l");
    NodeProto &loop = node(graph, "Loop", inputs, name);
    Graph &body = subgraph(loop, "body");
    const Names around = visible.rows;
    std::string iteration = fresh("t"), running = fresh("r");
    describeScalar(*body.add_input(), iteration, TensorProto::INT64);
    describeScalar(*body.add_input(), running, TensorProto::BOOL);
    Visible inner = visible;
    inner.steps.clear();
    for (Carried &value : carried) {
      value.inside = fresh("k");
      describe(*body.add_input(), value.inside, value.kind);
      namesOf(inner, value.kind).push_back(value.inside);
    }
    inner.numbers.push_back(emit(body, "Mod", {iteration, integer(body, 7)}, {}, "n"));
    statements(body, inner, depth + 1);
    describeScalar(*body.add_output(), goesOn(body, inner, iteration, running, counts), TensorProto::BOOL);
    for (const Carried &value : carried) {
      describe(*body.add_output(), next(body, inner, value), value.kind);
      loop.add_output(fmt::format("{}_{}", name, loop.output_size()));
      namesOf(visible, value.kind).push_back(loop.output(loop.output_size() - 1));
    }
    if (!scans)
      return;
    // Every step has the same rows: those of a value around the loop, or one.
    std::string step = chance(50) ? combined(body, pick(around), pick(inner.rows)) : row(body, pick(inner.rows));
    describeRows(*body.add_output(), step);
    loop.add_output(name + "_steps");
    visible.steps.push_back(name + "_steps");
  }

  std::vector<Carried> carriedValues(Graph &graph, Visible &visible) {
    std::vector<Carried> carried;
    for (int64_t count = 1 + below(3), i = 0; i < count; ++i) {
      Kind kind = i == 0 && chance(60) ? Kind::rows : someKind();
      if (namesOf(visible, kind).empty())
        namesOf(visible, kind).push_back(made(graph, visible, kind, ""));
      carried.push_back({kind, pick(namesOf(visible, kind)), "", chance(30)});
    }
    return carried;
  }

  /// Whether there is another iteration. A loop that only its condition ends has few.
  std::string goesOn(Graph &body, const Visible &inner, const std::string &iteration, const std::string &running,
                     bool counts) {
    std::string early = emit(body, "Less", {iteration, integer(body, 1 + below(4))}, {}, "c");
    if (counts && chance(50))
      return emit(body, "Identity", {running}, {}, "c");
    if (counts && chance(50))
      return emit(body, "And", {early, running}, {}, "c");
    if (chance(30))
      return emit(body, "And", {early, condition(body, inner)}, {}, "c");
    return emit(body, "Identity", {early}, {}, "c");
  }

  std::string next(Graph &body, const Visible &inner, const Carried &value) {
    switch (value.kind) {
    case Kind::rows:
      if (chance(15)) // others take its place: so many that they cannot become more and more
        return emit(body, "Slice",
                    {pick(inner.rows), ints(body, {1}, {0}), ints(body, {1}, {12}), ints(body, {1}, {0})});
      return value.grows ? grown(body, value.inside, pick(inner.rows)) : combined(body, value.inside, pick(inner.rows));
    case Kind::list: {
      std::string longer = made(body, inner, Kind::list, value.inside);
      return value.grows ? longer : emit(body, "SequenceErase", {longer, integer(body, 0)}, {}, "q");
    }
    case Kind::optional:
      return chance(40) ? emit(body, "Identity", {value.inside}, {}, "o") : optional(body, inner);
    default:
      return made(body, inner, value.kind, value.inside);
    }
  }

  // ---- Scans ----

  void scan(Graph &graph, Visible &visible, int depth) {
    bool columns = chance(30); // along the four columns instead of the rows
    int64_t count = 1 + below(2);
    std::string state = row(graph, pick(visible.rows)), name = fresh("n"), first = pick(visible.rows);
    Names inputs{state, first};
    if (count == 2)
      inputs.push_back(columns ? pick(visible.rows) : arithmetic(graph, first));
    std::vector<int64_t> axes, reversed;
    for (int64_t i = 0; i < count; ++i) {
      axes.push_back(columns ? (chance(50) ? 1 : -1) : 0);
      reversed.push_back(below(2));
    }
    NodeProto &scan = node(graph, "Scan", inputs, name, {{"num_scan_inputs", count}});
    TestNode test(&scan);
    if (columns || chance(30))
      test.attr("scan_input_axes", axes);
    if (chance(60))
      test.attr("scan_input_directions", reversed);
    int64_t axis = chance(70) ? 0 : below(2) - 1 + (chance(50) ? 2 : 0); // -1, 0, 1 or 2
    if (axis != 0)
      test.attr("scan_output_axes", std::vector<int64_t>{axis});
    if (chance(40))
      test.attr("scan_output_directions", std::vector<int64_t>{1});
    Graph &body = subgraph(scan, "body");
    std::string carried = fresh("k");
    describeRows(*body.add_input(), carried);
    Visible inner = visible;
    inner.steps.clear();
    for (int64_t i = 0; i < count; ++i) {
      std::string element = fresh("m");
      describeRows(*body.add_input(), element);
      inner.rows.push_back(columns ? widened(body, element)
                                   : emit(body, "Reshape", {element, ints(body, {2}, {1, 4})}));
    }
    std::string last = inner.rows.back();
    statements(body, inner, depth + 1);
    std::string next = combined(body, carried, last);
    describeRows(*body.add_output(), next);
    setRow(*body.mutable_output(0)); // ONNX Runtime wants the extents that a Scan collects
    describeRows(*body.add_output(), combined(body, next, pick(inner.rows)));
    setRow(*body.mutable_output(1));
    scan.add_output(name + "_state");
    scan.add_output(name + "_steps");
    visible.rows.push_back(name + "_state");
    visible.steps.push_back(name + "_steps");
  }

  /// A column of rows as one row of four numbers.
  std::string widened(Graph &body, const std::string &column) {
    std::string sum = emit(body, "ReduceMean", {column}, {{"keepdims", 1}});
    return emit(body, "Mul", {sum, floats(body, {1, 4})});
  }
};

static_assert(std::string_view(programMargin) == "margin");

} // namespace

std::string randomProgram(uint64_t seed, const ProgramOptions &options) { return Generator(seed, options).run(); }

} // namespace lathe
