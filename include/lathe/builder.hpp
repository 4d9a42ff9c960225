// Builds graphs in C++, on the C functions of lathe/builder.h, with one typed function for each operator.
//
//   lathe::builder::Graph net("small");
//   net.weights("small.safetensors");
//   auto x = net.input("x", "f32", {"N", 3, 32, 32});
//   auto conv1 = net.conv(x, "conv1.weight", {.b = "conv1.bias", .pads = {1, 1, 1, 1}, .name = "conv1"});
//   net.output("y", net.relu(conv1));
//   net.write("small.mlir");
//
// An operand is a value, or the name of a weight. Errors are exceptions of type Error. A Graph is a handle: a copy is a
// handle of the same graph, which is freed with its last handle. docs/staging.md is the introduction.
#pragma once

#include "lathe/builder.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lathe::builder {

/// An error of the library. Its text is one line with the place, what was expected and what was found.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(lathe_status status) {
  if (status != LATHE_OK)
    throw Error(lathe_compiler_last_error());
}

/// A value of a graph.
struct Value {
  lathe_value number = LATHE_NO_VALUE;
};

/// The results of an operator that has several results, or whose number of results varies.
struct Values : std::vector<Value> {
  Value only() const { return at(0); }
  /// The values as an array, for `auto [a, b] = net.top_k(...).as<2>()`.
  template <size_t count> std::array<Value, count> as() const {
    if (size() != count)
      throw Error("the operator has " + std::to_string(size()) + " results, expected " + std::to_string(count));
    std::array<Value, count> all;
    for (size_t i = 0; i < count; ++i)
      all[i] = (*this)[i];
    return all;
  }
};

/// An operand: a value, the name of a weight, or nothing.
struct Operand {
  Value value;
  std::string weight;
  Operand() = default;
  Operand(Value value) : value(value) {}
  Operand(const char *weight) : weight(weight) {}
  Operand(std::string weight) : weight(std::move(weight)) {}
};
using Operands = std::vector<Operand>;
using Texts = std::vector<std::string>;

/// An extent: a number or a text ("N", "?").
struct Extent {
  std::string text;
  Extent(const char *text) : text(text) {}
  Extent(std::string text) : text(std::move(text)) {}
  Extent(int64_t extent) : text(std::to_string(extent)) {}
  Extent(int extent) : text(std::to_string(extent)) {}
};

/// Facts about a node beside its operator (lathe_node_note).
struct Note {
  std::string name = {};
  Texts types = {}, extents = {};
};

namespace detail {

/// An attribute of any kind. An element type may be left out if it `mayLack`; its text is then "".
struct Attribute {
  const char *name;
  bool mayLack = false;
  std::variant<std::vector<int64_t>, std::vector<double>, std::string> value;
  Attribute(const char *name, std::vector<int64_t> value) : name(name), value(std::move(value)) {}
  Attribute(const char *name, std::vector<double> value) : name(name), value(std::move(value)) {}
  Attribute(const char *name, std::string value, bool mayLack = false)
      : name(name), mayLack(mayLack), value(std::move(value)) {}
  Attribute(const char *name, int64_t value) : name(name), value(std::vector<int64_t>{value}) {}
  Attribute(const char *name, bool value) : name(name), value(std::vector<int64_t>{value}) {}
  Attribute(const char *name, double value) : name(name), value(std::vector<double>{value}) {}

  lathe_attribute raw() const {
    static const int64_t noInteger = 0;
    static const double noReal = 0;
    lathe_attribute result{name, nullptr, nullptr, nullptr, 0};
    if (auto *integers = std::get_if<0>(&value)) {
      result.integers = integers->empty() ? &noInteger : integers->data();
      result.count = integers->size();
    } else if (auto *reals = std::get_if<1>(&value)) {
      result.reals = reals->empty() ? &noReal : reals->data();
      result.count = reals->size();
    } else {
      result.text = std::get<2>(value).data();
      result.count = std::get<2>(value).size();
    }
    return result;
  }
};

/// A note in the form of the C interface. It points into `given`, which must outlive it, and into itself.
struct RawNote {
  std::string name;
  std::vector<const char *> types, extents;
  lathe_node_note note;
  RawNote(const RawNote &) = delete;
  RawNote &operator=(const RawNote &) = delete;
  RawNote(std::string whole, const Note &given) : name(std::move(whole)) {
    for (const std::string &type : given.types)
      types.push_back(type.c_str());
    for (const std::string &extent : given.extents)
      extents.push_back(extent.c_str());
    note = {sizeof note, name.c_str(), types.data(), types.size(), extents.data(), extents.size()};
  }
};

inline size_t sizeOf(const std::string &type) {
  if (type == "f64" || type == "i64" || type == "u64")
    return 8;
  if (type == "f32" || type == "i32" || type == "u32")
    return 4;
  return type == "i16" || type == "u16" ? 2 : 1;
}

/// Returns the elements as bytes of `type`.
template <class T> std::vector<char> packed(const std::vector<T> &elements, const std::string &type) {
  std::vector<char> bytes;
  auto put = [&](auto element) {
    const char *at = reinterpret_cast<const char *>(&element);
    bytes.insert(bytes.end(), at, at + sizeof element);
  };
  for (T element : elements)
    if (type == "f64")
      put(static_cast<double>(element));
    else if (type == "f32")
      put(static_cast<float>(element));
    else if (sizeOf(type) == 8)
      put(static_cast<int64_t>(element));
    else if (sizeOf(type) == 4)
      put(static_cast<int32_t>(static_cast<int64_t>(element)));
    else if (sizeOf(type) == 2)
      put(static_cast<int16_t>(static_cast<int64_t>(element)));
    else if (type == "i8" || type == "u8" || type == "bool")
      put(static_cast<int8_t>(static_cast<int64_t>(element)));
    else
      throw Error("a constant of type " + type + ": expected f32, f64, an integer type of 8 bits or more, or bool");
  return bytes;
}

} // namespace detail

/// The functions of a graph that add no operator. The class `Graph` of lathe/operators.hpp adds one function for each
/// operator.
template <class Graph> class GraphBase {
public:
  explicit GraphBase(const std::string &name) {
    lathe_graph *made = nullptr;
    check(lathe_graph_create(name.c_str(), &made));
    graph = std::shared_ptr<lathe_graph>(made, lathe_graph_free);
  }

  /// Returns a handle of the same graph that adds `prefix` to names of nodes and weights, behind the prefix of this
  /// handle.
  Graph at(const std::string &prefix) const {
    Graph inner = static_cast<const Graph &>(*this);
    inner.prefix += prefix;
    return inner;
  }

  /// The beginning of all names of nodes and weights.
  std::string prefix;

  Value input(const std::string &name, const std::string &type, const std::vector<Extent> &dims,
              const std::string &quantization = "") const {
    std::vector<const char *> texts;
    for (const Extent &extent : dims)
      texts.push_back(extent.text.c_str());
    Value value;
    check(lathe_graph_input(graph.get(), name.c_str(), type.c_str(), texts.data(), texts.size(),
                            quantization.empty() ? nullptr : quantization.c_str(), &value.number));
    return value;
  }
  void output(const std::string &name, const Operand &value, const std::string &quantization = "") const {
    check(lathe_graph_output(graph.get(), name.c_str(), resolved(value),
                             quantization.empty() ? nullptr : quantization.c_str()));
  }

  /// Opens the safetensors file that has the weights.
  void weights(const std::string &path) const { check(lathe_graph_open_weights(graph.get(), path.c_str())); }
  /// Returns a weight of the file. `type` and `dims` are needed only if the file format lacks the type.
  Value weight(const std::string &name, const std::string &type = "", const std::vector<int64_t> &dims = {}) const {
    Value value;
    check(lathe_graph_weight(graph.get(), (prefix + name).c_str(), type.empty() ? nullptr : type.c_str(), dims.data(),
                             dims.size(), &value.number));
    return value;
  }
  /// Return a constant of integers or booleans, or of reals. A single element fills all extents.
  Value integers(const std::vector<int64_t> &elements, const std::string &type,
                 const std::vector<int64_t> &dims) const {
    return constant(detail::packed(elements, type), elements.size(), type, dims);
  }
  Value reals(const std::vector<double> &elements, const std::string &type, const std::vector<int64_t> &dims) const {
    return constant(detail::packed(elements, type), elements.size(), type, dims);
  }

  /// A function that builds a body: it gets the body as a graph and gives it inputs and outputs.
  using Body = std::function<void(Graph)>;
  Values branch(const Operand &condition, const Operands &captured, const Body &thenBody, const Body &elseBody,
                const Note &note = {}) const {
    std::vector<lathe_value> values = resolved(captured);
    lathe_value chosen = resolved(condition);
    lathe_graph *first = body("then_body", thenBody), *second = body("else_body", elseBody);
    detail::RawNote raw(nameOf(note.name), note);
    return collect([&](lathe_value *results, size_t capacity, size_t *count) {
      return lathe_graph_if(graph.get(), chosen, values.data(), values.size(), first, second, &raw.note, results,
                            capacity, count);
    });
  }
  /// The loop passes the first `carried` values on from iteration to iteration (lathe_graph_loop).
  Values loop(const Operand &tripCount, const Operand &condition, const Operands &values, size_t carried,
              const Body &function, const Note &note = {}) const {
    lathe_value trips = resolved(tripCount), goesOn = resolved(condition);
    std::vector<lathe_value> all = resolved(values);
    lathe_graph *made = body("body", function);
    detail::RawNote raw(nameOf(note.name), note);
    return collect([&](lathe_value *results, size_t capacity, size_t *count) {
      return lathe_graph_loop(graph.get(), trips, goesOn, all.data(), all.size(), carried, made, &raw.note, results,
                              capacity, count);
    });
  }

  /// Writes the graph as textual IR, with the weights in a file beside it.
  void write(const std::string &path) const { check(lathe_graph_write(graph.get(), path.c_str())); }
  /// Compiles the graph to a package. The graph cannot be used afterwards.
  void compile(const std::string &path, const lathe_compile_options *options = nullptr) const {
    check(lathe_graph_compile(graph.get(), path.c_str(), options));
  }

  /// Returns `x` in another layout (nn.convert_layout); `note` states the type of the result.
  Value convert_layout(const Operand &x, const Note &note) const {
    return operate("convert_layout", {x}, {}, note).only();
  }

protected:
  Values operate(const char *op, const Operands &operands, const std::vector<detail::Attribute> &attributes,
                 const Note &note) const {
    std::vector<lathe_value> values = resolved(operands);
    std::vector<lathe_attribute> given;
    for (const detail::Attribute &attribute : attributes)
      if (!attribute.mayLack || !std::get<2>(attribute.value).empty())
        given.push_back(attribute.raw());
    detail::RawNote raw(nameOf(note.name), note);
    return collect([&](lathe_value *results, size_t capacity, size_t *count) {
      return lathe_graph_operator(graph.get(), op, values.data(), values.size(), given.data(), given.size(), &raw.note,
                                  results, capacity, count);
    });
  }

  static Operands joined(Operands first, const Operands &rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  }

private:
  std::shared_ptr<lathe_graph> graph;

  std::string nameOf(const std::string &name) const { return name.empty() ? name : prefix + name; }

  lathe_value resolved(const Operand &operand) const {
    return operand.weight.empty() ? operand.value.number : weight(operand.weight).number;
  }
  std::vector<lathe_value> resolved(const Operands &operands) const {
    std::vector<lathe_value> values;
    for (const Operand &operand : operands)
      values.push_back(resolved(operand));
    return values;
  }

  Value constant(std::vector<char> bytes, size_t elements, const std::string &type,
                 const std::vector<int64_t> &dims) const {
    int64_t count = 1;
    for (int64_t extent : dims)
      count *= extent;
    std::vector<char> element = bytes;
    for (int64_t i = 1; elements == 1 && i < count; ++i)
      bytes.insert(bytes.end(), element.begin(), element.end());
    Value value;
    check(lathe_graph_constant(graph.get(), (prefix + "constant").c_str(), type.c_str(), dims.data(), dims.size(),
                               bytes.data(), bytes.size(), &value.number));
    return value;
  }

  lathe_graph *body(const char *name, const Body &function) const {
    lathe_graph *made = nullptr;
    check(lathe_graph_body(graph.get(), name, &made));
    Graph inner = static_cast<const Graph &>(*this);
    inner.graph = std::shared_ptr<lathe_graph>(graph, made); // lives as long as this graph
    inner.prefix.clear();
    function(inner);
    return made;
  }

  template <class Call> Values collect(Call call) const {
    std::vector<lathe_value> numbers(4096);
    size_t count = 0;
    check(call(numbers.data(), numbers.size(), &count));
    Values values;
    for (size_t i = 0; i < count; ++i)
      values.push_back({numbers[i]});
    return values;
  }
};

} // namespace lathe::builder

#include "lathe/operators.hpp"

namespace lathe::builder {

/// The main function of a program that builds one model: `net OUT.mlir` writes the graph that `build` makes, `net
/// OUT.lathe` compiles it. The file of weights ("": none) lies beside `source`, or where the second argument says.
inline int run(const char *name, void (*build)(Graph), int argc, char **argv, const std::string &source,
               const std::string &weights) {
  std::string output = argc > 1 ? argv[1] : "";
  auto endsWith = [&](const std::string &end) {
    return output.size() > end.size() && output.compare(output.size() - end.size(), end.size(), end) == 0;
  };
  if (argc < 2 || argc > 3 || !(endsWith(".mlir") || endsWith(".lathe"))) {
    std::fprintf(stderr, "usage: %s OUT.mlir|OUT.lathe [WEIGHTS.safetensors]\n", argv[0]);
    return 2;
  }
  try {
    Graph net(name);
    size_t slash = source.rfind('/');
    std::string folder = slash == std::string::npos ? "" : source.substr(0, slash + 1);
    if (argc > 2)
      net.weights(argv[2]);
    else if (!weights.empty())
      net.weights(folder + weights);
    build(net);
    endsWith(".mlir") ? net.write(output) : net.compile(output);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}

} // namespace lathe::builder
