// include/lathe/builder.h over stage/GraphBuilder.h. No exception leaves this file.
#include "compile/CApiParts.h"
#include "ir/ModelText.h"
#include "lathe/builder.h"
#include "stage/GraphBuilder.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include <deque>

using namespace lathe;
using namespace lathe::capi;

struct lathe_graph {
  std::unique_ptr<GraphBuilder> own; // null for a body
  GraphBuilder *builder = nullptr;
  std::deque<lathe_graph> bodies;
  std::string name, type, extents; // texts that were returned to the caller
  bool compiled = false;
};

namespace {

std::string textOf(const char *text) { return text ? text : ""; }

/// Throws Error for a graph that has been compiled.
GraphBuilder &builderOf(lathe_graph *graph) {
  require(!graph->compiled, "{}: the graph has been compiled and cannot be used any more", graph->name);
  return *graph->builder;
}

/// Closes a graph and its bodies, whose operators the passes rewrite.
void closeGraph(lathe_graph &graph) {
  graph.compiled = true;
  for (lathe_graph &body : graph.bodies)
    closeGraph(body);
}

OperatorNote noteOf(const lathe_node_note *note) {
  if (!note)
    return {};
  require(note->struct_size == sizeof *note, "lathe_node_note.struct_size is {}, expected {}", note->struct_size,
          sizeof *note);
  OperatorNote result{textOf(note->name), {}, {}};
  auto copy = [&](const char *const *texts, size_t count, std::vector<std::string> &to) {
    for (size_t i = 0; i < count; ++i) {
      require(texts && texts[i], "node '{}': a text of its note is null", printable(result.name));
      to.push_back(texts[i]);
    }
  };
  copy(note->types, note->type_count, result.types);
  copy(note->extents, note->extent_count, result.extents);
  return result;
}

BuilderAttribute attributeOf(const lathe_attribute &given) {
  require(given.name != nullptr, "an attribute has no name");
  require((given.integers != nullptr) + (given.reals != nullptr) + (given.text != nullptr) == 1,
          "attribute '{}': expected one of integers, reals and text", printable(given.name));
  if (given.integers)
    return {given.name, std::vector<int64_t>(given.integers, given.integers + given.count)};
  if (given.reals)
    return {given.name, std::vector<double>(given.reals, given.reals + given.count)};
  return {given.name, std::string(given.text, given.count)};
}

std::vector<GraphBuilder::Value> valuesOf(const lathe_value *values, size_t count) {
  require(values || count == 0, "the operands are null");
  return {values, values + count};
}

lathe_status giveOut(const std::vector<GraphBuilder::Value> &values, lathe_value *results, size_t capacity,
                     size_t *count) {
  *count = values.size();
  if (values.size() > capacity)
    return failed(LATHE_INVALID_ARGUMENT,
                  fmt::format("the operator has {} results, there is room for {}", values.size(), capacity));
  std::copy(values.begin(), values.end(), results);
  return LATHE_OK;
}

lathe_status nullPointer(const char *function) {
  return failed(LATHE_INVALID_ARGUMENT, fmt::format("{}: a pointer is null", function));
}

} // namespace

lathe_status lathe_graph_create(const char *name, lathe_graph **graph) {
  return guarded([&] {
    if (!name || !graph)
      return nullPointer("lathe_graph_create");
    auto made = std::make_unique<lathe_graph>();
    made->own = std::make_unique<GraphBuilder>(name);
    made->builder = made->own.get();
    made->name = printable(name);
    *graph = made.release();
    return LATHE_OK;
  });
}

void lathe_graph_free(lathe_graph *graph) {
  if (graph && graph->own) // the graph of a body owns it
    delete graph;
}

lathe_status lathe_graph_input(lathe_graph *graph, const char *name, const char *type, const char *const *dims,
                               size_t rank, const char *quantization, lathe_value *value) {
  return guarded([&] {
    if (!graph || !name || !type || (rank && !dims) || !value)
      return nullPointer("lathe_graph_input");
    std::vector<std::string> extents;
    for (size_t i = 0; i < rank; ++i)
      extents.push_back(textOf(dims[i]));
    *value = builderOf(graph).input(name, type, extents, textOf(quantization));
    return LATHE_OK;
  });
}

lathe_status lathe_graph_open_weights(lathe_graph *graph, const char *path) {
  return guarded([&] {
    if (!graph || !path)
      return nullPointer("lathe_graph_open_weights");
    builderOf(graph).openWeights(path);
    protectInput(path);
    return LATHE_OK;
  });
}

lathe_status lathe_graph_weight(lathe_graph *graph, const char *name, const char *type, const int64_t *dims,
                                size_t rank, lathe_value *value) {
  return guarded([&] {
    if (!graph || !name || (rank && !dims) || !value)
      return nullPointer("lathe_graph_weight");
    *value = builderOf(graph).weight(name, textOf(type), std::vector<int64_t>(dims, dims + rank));
    return LATHE_OK;
  });
}

lathe_status lathe_graph_constant(lathe_graph *graph, const char *name, const char *type, const int64_t *dims,
                                  size_t rank, const void *data, size_t bytes, lathe_value *value) {
  return guarded([&] {
    if (!graph || !type || (rank && !dims) || (bytes && !data) || !value)
      return nullPointer("lathe_graph_constant");
    std::optional<ElementType> element = elementTypeFromName(type);
    require(element.has_value(), "constant '{}': '{}' is no element type", printable(textOf(name)), printable(type));
    *value = builderOf(graph).constant(textOf(name), *element, std::vector<int64_t>(dims, dims + rank),
                                       {static_cast<const char *>(data), bytes});
    return LATHE_OK;
  });
}

lathe_status lathe_graph_operator(lathe_graph *graph, const char *op, const lathe_value *operands, size_t operand_count,
                                  const lathe_attribute *attributes, size_t attribute_count,
                                  const lathe_node_note *note, lathe_value *results, size_t capacity,
                                  size_t *result_count) {
  return guarded([&] {
    if (!graph || !op || (attribute_count && !attributes) || (capacity && !results) || !result_count)
      return nullPointer("lathe_graph_operator");
    std::vector<BuilderAttribute> given;
    for (size_t i = 0; i < attribute_count; ++i)
      given.push_back(attributeOf(attributes[i]));
    return giveOut(builderOf(graph).add(op, valuesOf(operands, operand_count), given, noteOf(note)), results, capacity,
                   result_count);
  });
}

lathe_status lathe_graph_body(lathe_graph *graph, const char *name, lathe_graph **body) {
  return guarded([&] {
    if (!graph || !name || !body)
      return nullPointer("lathe_graph_body");
    GraphBuilder &made = builderOf(graph).body(name);
    lathe_graph &entry = graph->bodies.emplace_back();
    entry.builder = &made;
    entry.name = printable(name);
    *body = &entry;
    return LATHE_OK;
  });
}

lathe_status lathe_graph_if(lathe_graph *graph, lathe_value condition, const lathe_value *captured,
                            size_t captured_count, lathe_graph *then_body, lathe_graph *else_body,
                            const lathe_node_note *note, lathe_value *results, size_t capacity, size_t *result_count) {
  return guarded([&] {
    if (!graph || !then_body || !else_body || (capacity && !results) || !result_count)
      return nullPointer("lathe_graph_if");
    return giveOut(builderOf(graph).branch(condition, valuesOf(captured, captured_count), builderOf(then_body),
                                           builderOf(else_body), noteOf(note)),
                   results, capacity, result_count);
  });
}

lathe_status lathe_graph_loop(lathe_graph *graph, lathe_value trip_count, lathe_value condition,
                              const lathe_value *values, size_t value_count, size_t carried, lathe_graph *body,
                              const lathe_node_note *note, lathe_value *results, size_t capacity,
                              size_t *result_count) {
  return guarded([&] {
    if (!graph || !body || (capacity && !results) || !result_count)
      return nullPointer("lathe_graph_loop");
    return giveOut(builderOf(graph).loop(trip_count, condition, valuesOf(values, value_count),
                                         static_cast<int64_t>(carried), builderOf(body), noteOf(note)),
                   results, capacity, result_count);
  });
}

lathe_status lathe_graph_output(lathe_graph *graph, const char *name, lathe_value value, const char *quantization) {
  return guarded([&] {
    if (!graph || !name)
      return nullPointer("lathe_graph_output");
    builderOf(graph).output(name, value, textOf(quantization));
    return LATHE_OK;
  });
}

lathe_status lathe_graph_value_type(lathe_graph *graph, lathe_value value, const char **type, const char **extents) {
  return guarded([&] {
    if (!graph || !type || !extents)
      return nullPointer("lathe_graph_value_type");
    graph->type = builderOf(graph).typeOf(value);
    graph->extents = fmt::format("{}", fmt::join(builderOf(graph).dimsOf(value), "x"));
    *type = graph->type.c_str();
    *extents = graph->extents.c_str();
    return LATHE_OK;
  });
}

lathe_status lathe_graph_write(lathe_graph *graph, const char *path) {
  return guarded([&] {
    if (!graph || !path)
      return nullPointer("lathe_graph_write");
    require(graph->own != nullptr, "{}: is a body; write the graph that it belongs to", graph->name);
    nn::writeModelText(builderOf(graph).finish(), path);
    return LATHE_OK;
  });
}

lathe_status lathe_graph_compile(lathe_graph *graph, const char *package_path, const lathe_compile_options *options) {
  return guarded([&] {
    if (!graph || !package_path)
      return nullPointer("lathe_graph_compile");
    if (std::string mistake = mistakeIn(options); !mistake.empty())
      return failed(LATHE_INVALID_ARGUMENT, "lathe_graph_compile: " + mistake);
    require(graph->own != nullptr, "{}: is a body; compile the graph that it belongs to", graph->name);
    Parsed parsed = parse(options);
    require(parsed.import.shapes.empty() && parsed.import.signature.empty() &&
                parsed.import.requantizeRounding == RequantizeRounding::reference,
            "{}: shapes, a rounding and a signature are options of files, not of graphs", graph->name);
    mlir::ModuleOp module = builderOf(graph).finish();
    closeGraph(*graph);
    compile(module, parsed.compile, package_path);
    return LATHE_OK;
  });
}
