// Writes a program in Python, for python/lathe/builder.py.
#include "stage/FunctionNames.h"
#include "stage/SourceText.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace lathe::staging {
namespace {

/// A literal of the text: characters beyond ASCII and control characters are escaped, and text that is not UTF-8
/// becomes bytes.
std::string quoted(const std::string &text) {
  bool bytes = !llvm::json::isUTF8(text);
  std::string result = bytes ? "b\"" : "\"";
  auto at = reinterpret_cast<const llvm::UTF8 *>(text.data()), end = at + text.size();
  while (at != end) {
    llvm::UTF32 code = *at, *to = &code;
    if (bytes || code < 128) {
      ++at;
    } else {
      llvm::ConvertUTF8toUTF32(&at, at + llvm::getNumBytesForUTF8(*at), &to, &code + 1, llvm::strictConversion);
    }
    if (code == '"' || code == '\\')
      result += fmt::format("\\{}", char(code));
    else if (code == '\n')
      result += "\\n";
    else if (code >= 32 && code < 127)
      result += char(code);
    else if (code < 256)
      result += fmt::format("\\x{:02x}", code);
    else
      result += code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
  }
  return result + "\"";
}

std::string realOf(double value) {
  if (std::isnan(value))
    return "float(\"nan\")";
  return std::isinf(value) ? (value < 0 ? "float(\"-inf\")" : "float(\"inf\")") : realText(value);
}

struct LiteralText {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return realOf(value); }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(const std::string &value) const { return quoted(value); }
  std::string operator()(ElementType value) const {
    return value == ElementType::invalid ? "None" : quoted(std::string(name(value)));
  }
  std::string operator()(const std::vector<int64_t> &values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::vector<double> &values) const {
    std::vector<std::string> texts;
    for (double value : values)
      texts.push_back(realOf(value));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }
};

std::string textOf(const Literal &literal) { return std::visit(LiteralText(), literal); }

std::string textOf(const std::vector<std::string> &texts) {
  std::vector<std::string> parts;
  for (const std::string &text : texts)
    parts.push_back(quoted(text));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string constantText(const ConstantLiteral &constant, const std::string &parameter) {
  std::vector<std::string> elements;
  for (int64_t element : constant.integers)
    elements.push_back(constant.type == ElementType::boolean ? (element ? "True" : "False") : std::to_string(element));
  for (double element : constant.reals)
    elements.push_back(realText(element));
  bool flat = constant.dims == std::vector<int64_t>{static_cast<int64_t>(elements.size())};
  bool scalar = constant.dims.empty();
  std::string values = !parameter.empty()              ? parameter
                       : elements.size() == 1 && !flat ? elements[0]
                                                       : fmt::format("[{}]", fmt::join(elements, ", "));
  std::string dims = scalar || (parameter.empty() && flat) ? "" : fmt::format(", [{}]", fmt::join(constant.dims, ", "));
  return fmt::format("net.constant({}, {}{})", values, quoted(std::string(name(constant.type))), dims);
}

/// `byName`: the called function takes the name of a weight.
std::string textOf(const Expression &expression, bool byName = true) {
  switch (expression.kind) {
  case Expression::Kind::absent:
    return "None";
  case Expression::Kind::variable:
    return expression.text;
  case Expression::Kind::weight: {
    std::string name = quoted(expression.text);
    if (expression.constant.type != ElementType::invalid)
      return fmt::format("net.weight({}, {}, [{}])", name, quoted(std::string(lathe::name(expression.constant.type))),
                         fmt::join(expression.constant.dims, ", "));
    return byName ? name : fmt::format("net.weight({})", name);
  }
  case Expression::Kind::constant:
    return constantText(expression.constant, expression.text);
  case Expression::Kind::list:
    break;
  }
  std::vector<std::string> items;
  for (const Expression &item : expression.items)
    items.push_back(textOf(item, byName));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

class PythonPrinter {
public:
  explicit PythonPrinter(const Program &program) : program(program) {}

  std::string function(const Function &f) {
    std::vector<std::string> parameters{"net"};
    parameters.insert(parameters.end(), f.inputs.begin(), f.inputs.end());
    for (const Argument &parameter : f.parameters)
      parameters.push_back(fmt::format("{}={}", parameter.name, textOf(parameter.value)));
    std::string text = wrapped("", fmt::format("def {}(", f.name), parameters, "):");
    text += fmt::format("    \"\"\"{}\"\"\"\n", commentText(f.comment));
    for (const Statement &each : f.statements)
      text += statement(each);
    if (!f.isGraph)
      text += f.returned.empty() ? "    return ()\n" : fmt::format("    return {}\n", fmt::join(f.returned, ", "));
    return text;
  }

private:
  const Program &program;

  static std::string assigned(const std::vector<std::string> &results, bool one) {
    if (results.empty())
      return "";
    return fmt::format("{}{} = ", fmt::join(results, ", "), results.size() == 1 && !one ? "," : "");
  }

  static void addNote(const Statement &s, std::vector<std::string> &arguments) {
    if (!s.name.empty())
      arguments.push_back("name=" + quoted(s.name));
    if (!s.types.empty())
      arguments.push_back("types=" + textOf(s.types));
    if (!s.extents.empty())
      arguments.push_back("extents=" + textOf(s.extents));
  }

  std::string statement(const Statement &s) {
    switch (s.kind) {
    case Statement::Kind::input:
      return input(s);
    case Statement::Kind::output: {
      std::vector<std::string> arguments{quoted(s.name), textOf(s.operands[0])};
      if (!s.quantization.empty())
        arguments.push_back("quantization=" + quoted(s.quantization));
      return wrapped("    ", "net.output(", arguments, ")");
    }
    case Statement::Kind::operation:
      return operation(s);
    case Statement::Kind::call:
      return call(s);
    default:
      return controlFlow(s);
    }
  }

  std::string input(const Statement &s) {
    std::vector<std::string> dims;
    for (const std::string &dim : s.dims)
      dims.push_back(dim.find_first_not_of("0123456789") == std::string::npos ? dim : quoted(dim));
    std::vector<std::string> arguments{quoted(s.name), quoted(s.type)};
    if (s.type[0] != '!')
      arguments.push_back(fmt::format("[{}]", fmt::join(dims, ", ")));
    if (!s.quantization.empty())
      arguments.push_back("quantization=" + quoted(s.quantization));
    return wrapped("    ", s.results[0] + " = net.input(", arguments, ")");
  }

  std::string operation(const Statement &s) {
    std::vector<std::string> arguments;
    for (const NamedOperand &operand : namedOperands(s))
      if (!operand.optional)
        arguments.push_back(textOf(*operand.expression));
      else if (operand.expression->kind != Expression::Kind::absent)
        arguments.push_back(fmt::format("{}={}", spelled(operand.name), textOf(*operand.expression)));
    for (const Argument &attribute : s.arguments)
      arguments.push_back(fmt::format("{}={}", spelled(attribute.name),
                                      attribute.parameter.empty() ? textOf(attribute.value) : attribute.parameter));
    addNote(s, arguments);
    return wrapped("    ", fmt::format("{}net.{}(", assigned(s.results, hasOneResult(s.callee)), spelled(s.callee)),
                   arguments, ")");
  }

  /// Leaves out parameters that have the function's default value.
  std::string call(const Statement &s) {
    std::string prefix = quoted(s.name), indent = "    ", text;
    if (s.repeated()) {
      bool plain = (s.name + s.nameEnd).find_first_of("{}") == std::string::npos;
      if (plain)
        prefix = fmt::format("f{}{{i}}{}", prefix.substr(0, prefix.size() - 1), quoted(s.nameEnd).substr(1));
      else
        prefix = fmt::format("{} + str(i) + {}", prefix, quoted(s.nameEnd));
      text = fmt::format("    for i in range({}, {}):\n", s.first, s.end);
      indent += "    ";
    }
    std::vector<std::string> arguments{fmt::format("net.at({})", prefix)};
    for (const Expression &operand : s.operands)
      arguments.push_back(textOf(operand, /*byName=*/false));
    for (const Function &function : program.functions)
      for (size_t i = 0; function.name == s.callee && i < s.arguments.size(); ++i)
        if (!sameLiteral(s.arguments[i].value, function.parameters[i].value))
          arguments.push_back(fmt::format("{}={}", s.arguments[i].name, textOf(s.arguments[i].value)));
    return text + wrapped(indent, fmt::format("{}{}(", assigned(s.results, true), s.callee), arguments, ")");
  }

  std::string controlFlow(const Statement &s) {
    bool loop = s.kind == Statement::Kind::loop;
    size_t header = loop ? 2 : 1;
    std::vector<std::string> arguments, values;
    for (size_t i = 0; i < s.operands.size(); ++i)
      (i < header ? arguments : values).push_back(textOf(s.operands[i]));
    arguments.push_back(fmt::format("[{}]", fmt::join(values, ", ")));
    if (loop)
      arguments.push_back(std::to_string(s.carried));
    for (const std::string &body : s.bodies)
      arguments.push_back(body);
    addNote(s, arguments);
    return wrapped("    ", fmt::format("{}net.{}(", assigned(s.results, false), loop ? "loop" : "branch"), arguments,
                   ")");
  }
};

} // namespace

std::string pythonText(const Program &program, const std::string &file, const std::string &weights) {
  std::string text =
      fmt::format("#!/usr/bin/env python3\n"
                  "\"\"\"{} as source, written by `lathe stage`.  {} OUT.mlir  writes the graph again.\"\"\"\n"
                  "from lathe.builder import main\n",
                  commentText(program.name), commentText(file));
  PythonPrinter printer(program);
  for (const Function &function : program.functions)
    text += "\n\n" + printer.function(function);
  return text + fmt::format("\n\nif __name__ == \"__main__\":\n    main({}, build, __file__, {})\n",
                            quoted(program.name), weights.empty() ? "None" : quoted(weights));
}

} // namespace lathe::staging
