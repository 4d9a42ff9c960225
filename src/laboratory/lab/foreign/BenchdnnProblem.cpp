#include "lab/foreign/BenchdnnProblem.h"

#include "lab/problems/ProblemSyntax.h"
#include "support/Error.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

namespace lathe::lab {

namespace {

// Options that say how to measure, not what.
constexpr std::array measuring = {"mode",      "engine", "fix-times-per-prb",   "max-ms-per-prb", "repeats-per-prb",
                                  "skip-impl", "impl",   "attr-scratchpad",     "mem-check",      "fast-ref",
                                  "match",     "reset",  "allow-enum-tags-only"};
constexpr std::array tags = {"tag", "stag", "wtag", "dtag"};

bool isIn(const auto &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The words of a problem.
struct Words {
  std::string driver;                         // "conv"
  std::map<std::string, std::string> options; // by name, without the options in `measuring` and `tags`
  std::string layout;
  std::string descriptor; // without its name
  std::string kept;       // all words that are kept

  explicit Words(const std::string &text) {
    std::istringstream stream(text);
    for (std::string word; stream >> word;)
      add(word);
    if (size_t name = descriptor.find("n\""); name != descriptor.npos)
      descriptor.resize(name);
    if (descriptor.ends_with('_'))
      descriptor.pop_back();
  }
  /// Removes and returns an option; `otherwise` if it is missing.
  std::string take(const std::string &name, const std::string &otherwise) {
    auto found = options.find(name);
    if (found == options.end())
      return otherwise;
    std::string value = found->second;
    options.erase(found);
    return value;
  }

private:
  void add(const std::string &word) {
    size_t equals = word.find('=');
    bool isOption = word.starts_with("--");
    std::string name = isOption ? word.substr(2, equals == word.npos ? equals : equals - 2) : "";
    if (isOption && isIn(measuring, name))
      return;
    if (isOption && isIn(tags, name))
      layout += (layout.empty() ? "" : " ") + word.substr(2);
    else if (isOption && equals == word.npos)
      driver = name;
    else if (isOption)
      options[name] = word.substr(equals + 1);
    else
      descriptor += (descriptor.empty() ? "" : " ") + word;
    kept += (kept.empty() ? "" : " ") + word;
  }
};

/// A single type for three equal ones: "f32" for "f32:f32:f32"; other texts unchanged.
std::string oneType(const std::string &text) {
  auto types = split(text, ':');
  bool equal = std::all_of(types.begin(), types.end(), [&](auto &type) { return type == types[0]; });
  return equal && types[0] != "s8" && types[0] != "u8" ? types[0] : text;
}

/// The epilogue of --attr-post-ops. Throws Error for operators with parameters.
std::vector<std::string> postOps(const std::string &text) {
  std::vector<std::string> epilogue;
  if (!text.empty())
    for (const std::string &word : split(text, '+')) {
      require(word == "sum" || word == "relu" || word == "tanh", "post-operator '{}'", word);
      epilogue.push_back(word == "sum" ? "add" : word);
    }
  return epilogue;
}

std::string lowercase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

/// Takes the options of a driver, and returns the descriptor in the form of ProblemSyntax.h. Missing options have
/// benchdnn's default values. Throws Error for a value without a counterpart.
std::string descriptorOf(Words &words, SyntaxOptions &syntax) {
  const std::string &driver = words.driver;
  syntax.bias = false;
  syntax.epilogue.clear();
  if (driver == "conv" || driver == "ip") {
    std::string dir = words.take("dir", "FWD_B");
    require(dir.starts_with("FWD_"), "direction {}", dir);
    syntax.bias = dir == "FWD_B";
    syntax.epilogue = postOps(words.take("attr-post-ops", ""));
    return words.descriptor;
  }
  if (driver == "pool" || driver == "softmax" || driver == "eltwise" || driver == "resampling") {
    std::string dir = words.take("dir", "FWD_D");
    require(dir.starts_with("FWD_"), "direction {}", dir);
  }
  if (driver == "pool")
    return words.descriptor + ":" + lowercase(words.take("alg", "max"));
  if (driver == "resampling")
    return words.descriptor + ":" + lowercase(words.take("alg", "nearest"));
  if (driver == "eltwise" || driver == "binary")
    return words.descriptor + ":" + lowercase(words.take("alg", driver == "binary" ? "add" : "relu"));
  if (driver == "softmax") {
    std::string algorithm = lowercase(words.take("alg", "softmax"));
    require(algorithm == "softmax" || algorithm == "softmax_accurate", "algorithm {}", algorithm);
    return words.descriptor + ":axis" + words.take("axis", "1");
  }
  require(driver == "matmul", "driver {}", driver); // its batches and products have our form
  return words.descriptor;
}

} // namespace

BenchdnnProblem benchdnnProblem(const std::string &text) {
  Words words(text);
  BenchdnnProblem result;
  result.layout = words.layout;
  bool typed = words.options.count("dt") != 0;
  std::string type = oneType(words.take("dt", "f32"));
  result.type = type;
  try {
    SyntaxOptions syntax;
    std::string descriptor = descriptorOf(words, syntax);
    require(words.options.empty(), "option {}", words.options.begin()->first);
    if (typed)
      setTypes(syntax, type);
    Problem problem = parseProblem(words.driver, descriptor, syntax);
    result.problem = {problem.op, problem.str(), toJson(problem)};
    if (!problem.operands.empty())
      result.type = name(problem.operands.front().type);
  } catch (const Error &) { // problems without an operator of Lathe keep benchdnn's text
    result.problem = {words.driver.empty() ? "benchdnn" : words.driver, words.kept, nlohmann::json::object()};
  }
  return result;
}

} // namespace lathe::lab
