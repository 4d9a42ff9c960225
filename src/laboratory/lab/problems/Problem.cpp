#include "lab/problems/Problem.h"

#include "lab/problems/ConvProblem.h"
#include "support/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

namespace lathe::lab {

using nlohmann::json;

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

// Attributes.

namespace {

class AttrsWriter : public AttrVisitor {
public:
  json document = json::object();
  void field(const char *name, int64_t &value) override { document[name] = value; }
  void field(const char *name, double &value) override { put(name, value); }
  void field(const char *name, bool &value) override { document[name] = value; }
  void field(const char *name, std::string &value) override { document[name] = value; }
  void field(const char *name, ElementType &value) override { document[name] = std::string(lathe::name(value)); }
  void field(const char *name, std::vector<int64_t> &value) override { document[name] = value; }
  void field(const char *name, std::vector<double> &value) override { document[name] = value; }

private:
  // JSON has no infinity.
  void put(const char *name, double value) {
    if (std::isfinite(value))
      document[name] = value;
    else
      document[name] = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
};

/// Reads the existing members; `left` contains the members that no field has read.
class AttrsReader : public AttrVisitor {
public:
  explicit AttrsReader(json document) : left(std::move(document)) {}
  json left;
  void field(const char *name, int64_t &value) override { take(name, value); }
  void field(const char *name, double &value) override {
    if (auto found = left.find(name); found != left.end() && found->is_string()) {
      std::string text = *found;
      require(text == "inf" || text == "-inf" || text == "nan", "attribute '{}' is '{}', expected a number", name,
              text);
      value = text == "nan" ? std::nan("") : text == "inf" ? INFINITY : -INFINITY;
      left.erase(found);
    }
    take(name, value);
  }
  void field(const char *name, bool &value) override { take(name, value); }
  void field(const char *name, std::string &value) override { take(name, value); }
  void field(const char *name, ElementType &value) override {
    std::string text;
    take(name, text);
    if (text.empty())
      return;
    auto type = elementTypeFromName(text);
    require(type || text == "invalid", "attribute '{}': unknown element type '{}'", name, text);
    value = type.value_or(ElementType::invalid);
  }
  void field(const char *name, std::vector<int64_t> &value) override { takeList(name, value); }
  void field(const char *name, std::vector<double> &value) override { takeList(name, value); }

private:
  template <class T> void take(const char *name, T &value) {
    auto found = left.find(name);
    if (found == left.end())
      return;
    try {
      found->get_to(value);
    } catch (const json::exception &) {
      fail("attribute '{}' is {}, expected {}", name, found->dump(),
           std::is_same_v<T, bool>          ? "true or false"
           : std::is_same_v<T, std::string> ? "a word"
                                            : "a number");
    }
    left.erase(found);
  }
  template <class T> void takeList(const char *name, std::vector<T> &value) {
    auto found = left.find(name);
    if (found == left.end())
      return;
    json list = found->is_array() ? *found : json::array({*found});
    for (auto &entry : list)
      require(entry.is_number(), "attribute '{}' is {}, expected numbers", name, list.dump());
    value = list.get<std::vector<T>>();
    left.erase(found);
  }
};

/// Attributes of `record` from a JSON object; missing ones keep their default.
std::shared_ptr<const Attrs> attrsFromJson(const OpRecord &record, const json &document) {
  std::shared_ptr<Attrs> attrs = record.makeAttrs();
  AttrsReader reader(document);
  attrs->visit(reader);
  std::vector<std::string> names;
  for (auto &attr : record.attrs)
    names.emplace_back(attr.name);
  require(reader.left.empty(), "operator {} has no attribute '{}'; it has {}", record.name, reader.left.begin().key(),
          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  return attrs;
}

std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value) ? std::optional(value)
                                                                                          : std::nullopt;
}

/// "1,1" -> [1, 1]; "true" -> true; "half_pixel" stays a string.
json valueOfText(const std::string &text) {
  auto scalar = [](const std::string &word) -> json {
    if (auto whole = wholeNumber(word))
      return *whole;
    if (auto real = number(word))
      return *real;
    if (word == "true" || word == "false")
      return word == "true";
    return word;
  };
  if (text.find(',') == std::string::npos)
    return scalar(text);
  json list = json::array();
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');)
    if (!word.empty())
      list.push_back(scalar(word));
  return list;
}

std::string textOfValue(const json &value) {
  if (value.is_string())
    return value;
  if (!value.is_array())
    return value.dump();
  std::string text;
  for (auto &entry : value)
    text += (text.empty() ? "" : ",") + entry.dump();
  return value.size() == 1 ? text + "," : text; // a comma distinguishes a list of one element from a number
}

// Operands.

ProblemOperand operandOfText(const std::string &name, const std::string &text) {
  ProblemOperand operand;
  operand.name = name;
  auto parts = split(text, ':');
  if (parts[0] != "scalar")
    for (auto &word : split(parts[0], 'x')) {
      auto extent = wholeNumber(word);
      require(extent && *extent >= 0, "operand '{}': '{}' is not a list of extents such as 1x64x56x56 or scalar", name,
              parts[0]);
      operand.dims.push_back(*extent);
    }
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string &word = parts[i];
    if (word == "const") {
      operand.constant = true;
    } else if (auto type = elementTypeFromName(word)) {
      operand.type = *type;
    } else if (size_t dots = word.find(".."); dots != std::string::npos) {
      auto low = number(std::string_view(word).substr(0, dots)), high = number(std::string_view(word).substr(dots + 2));
      require(low && high && *low < *high, "operand '{}': '{}' is not a range of values, expected LOW..HIGH", name,
              word);
      operand.low = *low;
      operand.high = *high;
    } else {
      fail("operand '{}': '{}' is neither an element type nor 'const' nor LOW..HIGH", name, word);
    }
  }
  return operand;
}

std::string textOfOperand(const ProblemOperand &operand) {
  std::string text = operand.name + "=" +
                     (operand.dims.empty() ? std::string("scalar") : fmt::format("{}", fmt::join(operand.dims, "x")));
  if (operand.type != ElementType::f32)
    text += fmt::format(":{}", lathe::name(operand.type));
  if (operand.constant)
    text += ":const";
  if (operand.low != operand.high)
    text += fmt::format(":{}..{}", operand.low, operand.high);
  return text;
}

TensorInfo infoOf(const ProblemOperand &operand) {
  TensorInfo info;
  info.type = operand.type;
  for (int64_t extent : operand.dims)
    info.dims.emplace_back(extent);
  return info;
}

const OpRecord &recordNamed(const std::string &op) {
  const OpRecord *record = findOp(op);
  require(record != nullptr, "unknown operator '{}' (docs/generated/operators.md lists them)", op);
  return *record;
}

/// Runs `use` on the infos of a problem's operands and results.
template <class Use> auto withInfos(const Problem &problem, Use use) {
  std::vector<TensorInfo> infos;
  infos.reserve(problem.operands.size());
  InferInputs in, out;
  for (const ProblemOperand *operand : problem.byRecord()) {
    in.push_back(nullptr);
    if (operand)
      in.back() = &infos.emplace_back(infoOf(*operand));
  }
  InferResult results = problem.record().infer(*problem.attrs, in);
  for (auto &result : results)
    out.push_back(&result);
  return use(in, out);
}

} // namespace

json toJson(const Attrs &attrs) {
  AttrsWriter writer;
  attrs.clone()->visit(writer);
  return writer.document;
}

// Problems.

bool takesSecondOperand(std::string_view epilogueOperator) {
  return epilogueOperator == "add" || epilogueOperator == "sub" || epilogueOperator == "mul";
}

int64_t ProblemOperand::elements() const {
  int64_t count = 1;
  for (int64_t extent : dims)
    count *= extent;
  return count;
}

const OpRecord &Problem::record() const { return recordNamed(op); }

const ProblemOperand *Problem::operand(std::string_view name) const {
  auto found = std::find_if(operands.begin(), operands.end(), [&](auto &operand) { return operand.name == name; });
  return found == operands.end() ? nullptr : &*found;
}

std::vector<const ProblemOperand *> Problem::byRecord() const {
  std::vector<const ProblemOperand *> result;
  for (const OperandRecord &wanted : record().operands) {
    if (!wanted.variadic) {
      result.push_back(operand(wanted.name));
      continue;
    }
    for (auto &candidate : operands)
      if (candidate.name == wanted.name)
        result.push_back(&candidate);
  }
  while (!result.empty() && !result.back())
    result.pop_back();
  return result;
}

std::vector<ProblemOperand> Problem::results() const {
  return withInfos(*this, [&](const InferInputs &, const InferInputs &out) {
    std::vector<ProblemOperand> results;
    for (size_t i = 0; i < out.size(); ++i) {
      ProblemOperand result;
      auto names = record().results;
      result.name = record().variadicResult ? fmt::format("{}{}", names[0], i) : names[i];
      result.type = out[i]->type;
      for (const Dim &extent : out[i]->dims)
        result.dims.push_back(extent.constantOr(0)); // 0: depends on the operands' values
      results.push_back(std::move(result));
    }
    return results;
  });
}

double Problem::flops() const {
  return withInfos(*this, [&](const InferInputs &in, const InferInputs &out) {
    Dim count = record().flops(*attrs, in, out);
    return count.isConstant() ? double(count.constant()) : 0.0;
  });
}

std::vector<std::optional<ProblemOperand>> Problem::inputs() const {
  std::vector<std::optional<ProblemOperand>> result;
  std::map<std::string, int> counts; // of a variadic operand
  for (const ProblemOperand *operand : byRecord()) {
    auto &input = result.emplace_back();
    if (!operand)
      continue;
    input = *operand;
    if (int number = counts[operand->name]++)
      input->name += fmt::format(".{}", number);
  }
  for (size_t i = 0; i < epilogue.size(); ++i)
    if (takesSecondOperand(epilogue[i])) {
      auto &input = result.emplace_back(results().at(0));
      input->name = fmt::format("epilogue.{}", i);
    }
  return result;
}

static double bytesOf(const ProblemOperand &tensor) { return double(byteSize(tensor.type, tensor.elements())); }

double Problem::bytes() const {
  double total = 0;
  for (auto &input : inputs())
    total += input ? bytesOf(*input) : 0;
  for (auto &result : results())
    total += bytesOf(result);
  return total;
}

double Problem::constantBytes() const {
  double total = 0;
  for (auto &operand : operands)
    total += operand.constant ? bytesOf(operand) : 0;
  return total;
}

std::string Problem::kind() const {
  Problem bare = *this;
  bare.epilogue.clear();
  auto conv = convOf(bare);
  return conv ? conv->kind() : op;
}

void Problem::check(const std::string &where) const {
  try {
    auto &record = this->record();
    require(attrs != nullptr, "no attributes");
    std::vector<std::string> names;
    for (const OperandRecord &known : record.operands) {
      names.emplace_back(known.name);
      auto count =
          std::count_if(operands.begin(), operands.end(), [&](auto &operand) { return operand.name == known.name; });
      require(count > 0 || known.optional || known.variadic, "{} needs operand '{}'", op, known.name);
      require(count <= 1 || known.variadic, "operand '{}' is given twice", known.name);
    }
    double most = double(int64_t(1) << 32); // 16 GiB of one f32 tensor
    auto checkSize = [&](const ProblemOperand &tensor) {
      double elements = 1;
      for (int64_t extent : tensor.dims)
        elements *= double(extent);
      require(elements <= most, "'{}': a tensor of {:.3g} elements is too large", tensor.name, elements);
    };
    for (auto &operand : operands) {
      require(std::find(names.begin(), names.end(), operand.name) != names.end(), "{} has no operand '{}'; it has {}",
              op, operand.name, fmt::join(names, ", "));
      require(operand.type != ElementType::invalid && operand.type != ElementType::string,
              "operand '{}': values of type {} cannot be generated", operand.name, lathe::name(operand.type));
      checkSize(operand);
    }
    for (auto &result : results())
      checkSize(result);
    for (auto &name : epilogue) {
      if (takesSecondOperand(name)) {
        auto type = results().at(0).type;
        require(type != ElementType::boolean && type != ElementType::string, "'+{}' has no meaning for {}", name,
                lathe::name(type));
        continue;
      }
      const OpRecord *applied = findOp(name);
      require(applied && applied->operands.size() >= 1 && !applied->operands[0].variadic &&
                  std::string_view(applied->lowering) == "elementwise" &&
                  std::all_of(applied->operands.begin() + 1, applied->operands.end(),
                              [](auto &operand) { return operand.optional; }),
              "'+{}' is no element-wise operator of one operand, and neither add, sub nor mul", name);
    }
  } catch (const Error &error) {
    fail("{}: {}", where, error.what());
  }
}

Problem Problem::parse(const std::string &text) {
  Problem problem;
  try {
    std::istringstream words(text);
    require(bool(words >> problem.op), "no operator");
    const OpRecord &record = recordNamed(problem.op);
    json attrs = json::object();
    for (std::string word; words >> word;) {
      if (word[0] == '+') {
        std::string applied = word.substr(1);
        // benchdnn's names: sum accumulates into the result, binary_add adds an operand.
        if (applied == "sum")
          applied = "add";
        else if (applied.starts_with("binary_") && takesSecondOperand(applied.substr(7)))
          applied.erase(0, 7);
        problem.epilogue.push_back(std::move(applied));
        continue;
      }
      size_t equals = word.find('=');
      require(equals != std::string::npos, "'{}' is neither NAME=VALUE nor +OPERATOR", word);
      std::string name = word.substr(0, equals), value = word.substr(equals + 1);
      bool isOperand = std::any_of(record.operands.begin(), record.operands.end(),
                                   [&](const OperandRecord &known) { return name == known.name; });
      if (isOperand) {
        problem.operands.push_back(operandOfText(name, value));
        continue;
      }
      require(!attrs.contains(name), "'{}' is given twice", name);
      attrs[name] = valueOfText(value);
    }
    problem.attrs = attrsFromJson(record, attrs);
  } catch (const Error &error) {
    fail("problem '{}': {}", text, error.what());
  }
  problem.check("problem '" + text + "'");
  return problem;
}

std::string Problem::str() const {
  std::string text = op;
  for (const ProblemOperand *operand : byRecord())
    if (operand)
      text += " " + textOfOperand(*operand);
  json defaults = toJson(*attrs->defaults()), given = toJson(*attrs);
  for (auto &attr : record().attrs)
    if (given.contains(attr.name) && given[attr.name] != defaults[attr.name])
      text += fmt::format(" {}={}", attr.name, textOfValue(given[attr.name]));
  for (auto &applied : epilogue)
    text += " +" + applied;
  return text;
}

json toJson(const Problem &problem) {
  json operands = json::array();
  for (const ProblemOperand *operand : problem.byRecord())
    if (operand)
      operands.push_back({{"name", operand->name},
                          {"type", std::string(name(operand->type))},
                          {"dims", operand->dims},
                          {"constant", operand->constant},
                          {"low", operand->low},
                          {"high", operand->high}});
  return {
      {"op", problem.op}, {"attrs", toJson(*problem.attrs)}, {"operands", operands}, {"epilogue", problem.epilogue}};
}

Problem problemFromJson(const json &document) {
  Problem problem;
  document.at("op").get_to(problem.op);
  problem.attrs = attrsFromJson(recordNamed(problem.op), document.at("attrs"));
  for (auto &entry : document.at("operands")) {
    ProblemOperand operand;
    entry.at("name").get_to(operand.name);
    auto type = elementTypeFromName(entry.at("type").get<std::string>());
    require(type.has_value(), "operand '{}': unknown element type '{}'", operand.name, entry.at("type").dump());
    operand.type = *type;
    entry.at("dims").get_to(operand.dims);
    operand.constant = entry.value("constant", false);
    operand.low = entry.value("low", 0.0);
    operand.high = entry.value("high", 0.0);
    problem.operands.push_back(std::move(operand));
  }
  document.at("epilogue").get_to(problem.epilogue);
  problem.check("problem");
  return problem;
}

} // namespace lathe::lab
