#include "lab/foreign/Gathered.h"
#include "lab/foreign/JsonParts.h"
#include "lab/problems/Problem.h"
#include "support/Error.h"

#include <array>

namespace lathe::lab {

using nlohmann::json;

namespace {

/// Names of element types in profiles.
constexpr std::pair<const char *, ElementType> types[] = {
    {"float", ElementType::f32},  {"float16", ElementType::f16}, {"bfloat16", ElementType::bf16},
    {"double", ElementType::f64}, {"int8", ElementType::i8},     {"uint8", ElementType::u8},
    {"int16", ElementType::i16},  {"uint16", ElementType::u16},  {"int32", ElementType::i32},
    {"uint32", ElementType::u32}, {"int64", ElementType::i64},   {"uint64", ElementType::u64}};

/// An operand or a result.
struct Shaped {
  std::string type; // of ONNX Runtime: "float"
  std::vector<int64_t> dims;

  std::string extents() const { return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x")); }
  /// Lathe's name of the type, otherwise the profile's.
  std::string typeName() const {
    for (auto &[name, type] : types)
      if (this->type == name)
        return std::string(lathe::name(type));
    return this->type;
  }
};

/// Reads [{"float":[1,3,224,224]},{"float":[64,3,7,7]}].
std::vector<Shaped> shapesOf(const json &args, const char *key) {
  std::vector<Shaped> shapes;
  auto list = args.find(key);
  if (list == args.end())
    return shapes;
  require(list->is_array(), "'{}' is {}, expected a list", key, list->type_name());
  for (const json &entry : *list) {
    require(entry.is_object() && entry.size() <= 1, "'{}' has {}, expected {{type: extents}}", key,
            entry.dump().substr(0, 100));
    for (auto &[type, dims] : entry.items()) {
      Shaped &shape = shapes.emplace_back();
      shape.type = foreignText(type, key);
      require(dims.is_array(), "'{}' has {}, expected a list of extents", key, dims.dump().substr(0, 100));
      for (const json &extent : dims) {
        require(extent.is_number_integer() && (extent.is_number_unsigned() || extent.get<int64_t>() >= 0) &&
                    extent.get<uint64_t>() < uint64_t(1) << 40,
                "'{}' has the extent {}, expected 0 to 2^40", key, extent.dump().substr(0, 100));
        shape.dims.push_back(extent.get<int64_t>());
      }
    }
  }
  return shapes;
}

std::string listText(const std::vector<Shaped> &shapes) {
  std::vector<std::string> texts;
  for (const Shaped &shape : shapes)
    texts.push_back(shape.typeName() + " " + shape.extents());
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// The problem of Lathe for an operator without attributes, if its results have these extents.
std::optional<Problem> problemOf(const std::string &op, const std::vector<Shaped> &inputs,
                                 const std::vector<Shaped> &outputs) {
  static const std::vector<MappedOp> known = mappings("onnx");
  constexpr int64_t newest = 1000; // the profile does not state the version of the operator set
  const OpRecord *record = findMapping(known, op, newest).record;
  if (!record || !record->attrs.empty() || record->operands.size() != inputs.size() || outputs.size() != 1)
    return std::nullopt;
  std::string text = record->name;
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format(" {}={}:{}", record->operands[i].name, inputs[i].extents(), inputs[i].typeName());
  try {
    Problem problem = Problem::parse(text);
    auto results = problem.results();
    bool equal = results.size() == 1 && results[0].dims == outputs[0].dims;
    return equal ? std::optional(std::move(problem)) : std::nullopt;
  } catch (const Error &) { // the operator does not support these types or ranks here
    return std::nullopt;
  }
}

store::Point nodePoint(const json &args, const std::string &node, const std::string &op, const std::string &provider) {
  auto inputs = shapesOf(args, "input_type_shape"), outputs = shapesOf(args, "output_type_shape");
  store::Point point;
  if (auto problem = problemOf(op, inputs, outputs))
    point.problem = {problem->op, problem->str(), toJson(*problem)};
  else
    point.problem = {op, fmt::format("{} -> {}", listText(inputs), listText(outputs)), json::object()};
  point.provider = "onnxruntime";
  point.variant = provider;
  point.setting = unstatedThreads();
  point.setting.type = inputs.empty() ? "" : inputs[0].typeName();
  point.setting.extra["node"] = node;
  return point;
}

class Profile {
public:
  explicit Profile(ForeignPoints &points) : points(points) {}

  void add(const json &event) {
    require(event.is_object(), "an event is {}, expected an object", event.type_name());
    std::string category = event.contains("cat") ? foreignText(event, "cat") : "";
    std::string name = event.contains("name") ? foreignText(event, "name") : "";
    constexpr std::string_view kernel = "_kernel_time";
    if (category == "Node" && name.ends_with(kernel))
      addNode(event, name.substr(0, name.size() - kernel.size()));
    else if (category == "Session" && name == "model_run")
      addRun(event);
    else
      points.identify(event); // the time of loading distinguishes profiles
  }

private:
  static int64_t durationOf(const json &event) { return foreignNanoseconds(event, "dur", 1e3); } // of us

  void addNode(const json &event, const std::string &node) {
    auto args = event.find("args");
    require(args != event.end() && args->is_object(), "'args' is missing");
    std::string op = foreignText(*args, "op_name");
    require(!op.empty(), "'op_name' is empty");
    std::string provider = args->contains("provider") ? foreignText(*args, "provider") : "";
    int64_t duration = durationOf(event);
    points.identify(event);
    std::string key = fmt::format("{}\n{}\n{}\n", node, op, provider);
    for (const char *shapes : {"input_type_shape", "output_type_shape"})
      if (auto found = args->find(shapes); found != args->end())
        key += found->dump() + "\n";
    points.addSample(points.at(key, [&] { return nodePoint(*args, node, op, provider); }), duration, run);
  }
  void addRun(const json &event) {
    int64_t duration = durationOf(event);
    points.identify(event);
    Gathered &whole = points.at("model_run", [] {
      store::Point point;
      point.problem = {"model", "unnamed model of a profile", json::object()};
      point.provider = "onnxruntime";
      point.setting = unstatedThreads();
      point.setting.type = "";
      return point;
    });
    points.addSample(whole, duration, run++);
  }

  ForeignPoints &points;
  uint32_t run = 0; // the event of a run follows the events of its nodes
};

} // namespace

void readOnnxRuntimeProfile(const std::string &path, const RecordVisitor &visit, std::vector<std::string> &notes) {
  ForeignPoints points(path, "onnxruntime");
  Profile profile(points);
  CutLine cut =
      readJsonParts(path, {.list = "", .element = [&](const json &event) { profile.add(event); }, .member = {}});
  if (cut)
    notes.push_back(fmt::format("{}:{}: the file ends in the middle of the list, what is whole is taken", path, cut));
  points.emit(visit, notes);
}

} // namespace lathe::lab
