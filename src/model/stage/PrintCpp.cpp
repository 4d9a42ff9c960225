// Writes a program in C++, for include/lathe/builder.hpp.
#include "stage/FunctionNames.h"
#include "stage/SourceText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace lathe::staging {
namespace {

/// A literal of the text; bytes beyond printable ASCII have three octal digits.
std::string quoted(const std::string &text) {
  std::string result;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (c == '\n')
      result += "\\n";
    else if (byte >= 32 && byte < 127 && c != '?') // two question marks could begin a trigraph
      result += c;
    else if (c == '?')
      result += result.ends_with("?") ? "\\?" : "?";
    else
      result += fmt::format("\\{:03o}", byte);
  }
  return text.find('\0') == std::string::npos ? fmt::format("\"{}\"", result)
                                              : fmt::format("std::string(\"{}\", {})", result, text.size());
}

std::string integerOf(int64_t value) {
  if (value == INT64_MIN)
    return "INT64_MIN";
  return value == INT64_MAX ? "INT64_MAX" : std::to_string(value);
}

std::string realOf(double value) {
  if (std::isnan(value))
    return "NAN";
  return std::isinf(value) ? (value < 0 ? "-HUGE_VAL" : "HUGE_VAL") : realText(value);
}

template <class T, class Text> std::string listOf(const std::vector<T> &values, Text text) {
  std::vector<std::string> parts;
  for (const T &value : values)
    parts.push_back(text(value));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

struct LiteralText {
  std::string operator()(int64_t value) const { return integerOf(value); }
  std::string operator()(double value) const { return realOf(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string &value) const { return quoted(value); }
  std::string operator()(ElementType value) const {
    return value == ElementType::invalid ? "\"\"" : quoted(std::string(name(value)));
  }
  std::string operator()(const std::vector<int64_t> &values) const { return listOf(values, integerOf); }
  std::string operator()(const std::vector<double> &values) const { return listOf(values, realOf); }
};

struct TypeText {
  std::string operator()(int64_t) const { return "int64_t"; }
  std::string operator()(double) const { return "double"; }
  std::string operator()(bool) const { return "bool"; }
  std::string operator()(const std::string &) const { return "const std::string &"; }
  std::string operator()(ElementType) const { return "const std::string &"; }
  std::string operator()(const std::vector<int64_t> &) const { return "const std::vector<int64_t> &"; }
  std::string operator()(const std::vector<double> &) const { return "const std::vector<double> &"; }
};

std::string textOf(const Literal &literal) { return std::visit(LiteralText(), literal); }

std::string constantText(const ConstantLiteral &constant, const std::string &parameter) {
  std::string elements = !parameter.empty()       ? (constant.dims.empty() ? "{" + parameter + "}" : parameter)
                         : constant.reals.empty() ? listOf(constant.integers, integerOf)
                                                  : listOf(constant.reals, realOf);
  return fmt::format("net.{}({}, {}, {})", constant.reals.empty() ? "integers" : "reals", elements,
                     quoted(std::string(name(constant.type))), listOf(constant.dims, integerOf));
}

/// `byName`: the called function takes the name of a weight.
std::string textOf(const Expression &expression, bool byName = true) {
  switch (expression.kind) {
  case Expression::Kind::absent:
    return "{}";
  case Expression::Kind::variable:
    return expression.text;
  case Expression::Kind::weight: {
    std::string name = quoted(expression.text);
    if (expression.constant.type != ElementType::invalid)
      return fmt::format("net.weight({}, {}, {})", name, quoted(std::string(lathe::name(expression.constant.type))),
                         listOf(expression.constant.dims, integerOf));
    return byName ? name : fmt::format("net.weight({})", name);
  }
  case Expression::Kind::constant:
    return constantText(expression.constant, expression.text);
  case Expression::Kind::list:
    break;
  }
  return listOf(expression.items, [&](const Expression &item) { return textOf(item, byName); });
}

std::string declared(const std::vector<std::string> &results, bool one) {
  if (results.empty())
    return "";
  return one && results.size() == 1 ? fmt::format("Value {} = ", results[0])
                                    : fmt::format("auto [{}] = ", fmt::join(results, ", "));
}

/// Options of an operator or of control flow, "{.strides = {1, 1}, .name = "conv1"}", as the last argument.
void addOptions(std::vector<std::string> options, const Statement &s, std::vector<std::string> &arguments) {
  if (!s.name.empty())
    options.push_back(".name = " + quoted(s.name));
  if (!s.types.empty())
    options.push_back(".types = " + listOf(s.types, quoted));
  if (!s.extents.empty())
    options.push_back(".extents = " + listOf(s.extents, quoted));
  if (options.empty())
    return;
  options.front() = "{" + options.front();
  options.back() += "}";
  arguments.insert(arguments.end(), options.begin(), options.end());
}

std::string inputText(const Statement &s) {
  auto dim = [](const std::string &text) {
    return text.find_first_not_of("0123456789") == std::string::npos ? text : quoted(text);
  };
  std::vector<std::string> arguments{quoted(s.name), quoted(s.type), listOf(s.dims, dim)};
  if (!s.quantization.empty())
    arguments.push_back(quoted(s.quantization));
  return wrapped("  ", fmt::format("Value {} = net.input(", s.results[0]), arguments, ");");
}

std::string outputText(const Statement &s) {
  std::vector<std::string> arguments{quoted(s.name), textOf(s.operands[0])};
  if (!s.quantization.empty())
    arguments.push_back(quoted(s.quantization));
  return wrapped("  ", "net.output(", arguments, ");");
}

std::string operationText(const Statement &s) {
  std::vector<std::string> arguments, options;
  for (const NamedOperand &operand : namedOperands(s))
    if (!operand.optional)
      arguments.push_back(textOf(*operand.expression));
    else if (operand.expression->kind != Expression::Kind::absent)
      options.push_back(fmt::format(".{} = {}", spelled(operand.name), textOf(*operand.expression)));
  for (const Argument &attribute : s.arguments)
    options.push_back(fmt::format(".{} = {}", spelled(attribute.name),
                                  attribute.parameter.empty() ? textOf(attribute.value) : attribute.parameter));
  addOptions(options, s, arguments);
  bool one = hasOneResult(s.callee);
  return wrapped("  ", fmt::format("{}net.{}(", declared(s.results, one), spelled(s.callee)), arguments,
                 one || s.results.empty() ? ");" : fmt::format(").as<{}>();", s.results.size()));
}

std::string callText(const Statement &s) {
  std::string prefix = quoted(s.name), indent = "  ", text, result = declared(s.results, true);
  if (s.repeated()) {
    prefix = fmt::format("{} + std::to_string(i){}", prefix, s.nameEnd.empty() ? "" : " + " + quoted(s.nameEnd));
    text = fmt::format("  for (int i = {}; i < {}; ++i)\n", s.first, s.end);
    indent += "  ";
    result = s.results[0] + " = ";
  }
  std::vector<std::string> arguments{fmt::format("net.at({})", prefix)};
  for (const Expression &operand : s.operands)
    arguments.push_back(textOf(operand, /*byName=*/false));
  for (const Argument &argument : s.arguments)
    arguments.push_back(textOf(argument.value));
  return text + wrapped(indent, fmt::format("{}{}(", result, s.callee), arguments, ");");
}

std::string controlFlowText(const Statement &s) {
  bool loop = s.kind == Statement::Kind::loop;
  size_t header = loop ? 2 : 1;
  std::vector<std::string> arguments, values;
  for (size_t i = 0; i < s.operands.size(); ++i)
    (i < header ? arguments : values).push_back(textOf(s.operands[i]));
  arguments.push_back(fmt::format("{{{}}}", fmt::join(values, ", ")));
  if (loop)
    arguments.push_back(std::to_string(s.carried));
  for (const std::string &body : s.bodies)
    arguments.push_back(body);
  addOptions({}, s, arguments);
  return wrapped("  ", fmt::format("{}net.{}(", declared(s.results, false), loop ? "loop" : "branch"), arguments,
                 s.results.empty() ? ");" : fmt::format(").as<{}>();", s.results.size()));
}

std::string statementText(const Statement &s) {
  switch (s.kind) {
  case Statement::Kind::input:
    return inputText(s);
  case Statement::Kind::output:
    return outputText(s);
  case Statement::Kind::operation:
    return operationText(s);
  case Statement::Kind::call:
    return callText(s);
  default:
    return controlFlowText(s);
  }
}

std::string functionText(const Function &f) {
  std::vector<std::string> parameters{"Graph net"};
  for (const std::string &input : f.inputs)
    parameters.push_back("const Operand &" + input);
  for (const Argument &parameter : f.parameters) {
    std::string type = std::visit(TypeText(), parameter.value);
    parameters.push_back(type + (type.back() == '&' ? "" : " ") + parameter.name);
  }
  std::string result = f.isGraph || f.returned.empty() ? "void"
                       : f.returned.size() == 1        ? "Value"
                                                       : fmt::format("std::array<Value, {}>", f.returned.size());
  std::string text = fmt::format("// {}\n", commentText(f.comment)) +
                     wrapped("", fmt::format("{} {}(", result, f.name), parameters, ") {");
  for (const Statement &each : f.statements)
    text += statementText(each);
  if (!f.isGraph && !f.returned.empty())
    text += f.returned.size() == 1 ? fmt::format("  return {};\n", f.returned[0])
                                   : fmt::format("  return {{{}}};\n", fmt::join(f.returned, ", "));
  return text + "}\n";
}

} // namespace

std::string cppText(const Program &program, const std::string &file, const std::string &weights) {
  std::string text =
      fmt::format("// {} as source, written by `lathe stage` ({}). The program writes the graph again: net OUT.mlir\n"
                  "#include <lathe/builder.hpp>\n\nusing namespace lathe::builder;\n",
                  commentText(program.name), commentText(file));
  for (const Function &function : program.functions)
    text += "\n" + functionText(function);
  return text +
         fmt::format("\nint main(int argc, char **argv) {{\n  return run({}, build, argc, argv, __FILE__, {});\n}}\n",
                     quoted(program.name), quoted(weights));
}

} // namespace lathe::staging
