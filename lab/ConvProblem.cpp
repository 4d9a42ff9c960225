#include "lab/ConvProblem.h"

#include "support/Error.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace lathe::lab {

namespace {

/// Extents of one axis: what is known decides the output's.
int64_t outputExtent(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  int64_t window = (kernel - 1) * dilation + 1;
  return in + 2 * pad < window ? 0 : (in + 2 * pad - window) / stride + 1;
}

int64_t padAfter(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  return std::max<int64_t>(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - in - pad);
}

struct Field {
  const char *name;
  int64_t ConvProblem::*member;
};
const Field jsonFields[] = {{"batch", &ConvProblem::batch},
                            {"groups", &ConvProblem::groups},
                            {"in_channels", &ConvProblem::inChannels},
                            {"in_height", &ConvProblem::inHeight},
                            {"in_width", &ConvProblem::inWidth},
                            {"out_channels", &ConvProblem::outChannels},
                            {"out_height", &ConvProblem::outHeight},
                            {"out_width", &ConvProblem::outWidth},
                            {"kernel_height", &ConvProblem::kernelHeight},
                            {"kernel_width", &ConvProblem::kernelWidth},
                            {"stride_height", &ConvProblem::strideHeight},
                            {"stride_width", &ConvProblem::strideWidth},
                            {"pad_top", &ConvProblem::padTop},
                            {"pad_left", &ConvProblem::padLeft},
                            {"dilation_height", &ConvProblem::dilationHeight},
                            {"dilation_width", &ConvProblem::dilationWidth}};

} // namespace

ConvProblem ConvProblem::parse(const std::string &text) {
  std::map<std::string, int64_t> given;
  const std::set<std::string> known = {"g",  "mb", "ic", "ih", "iw", "oc", "oh", "ow",
                                       "kh", "kw", "sh", "sw", "ph", "pw", "dh", "dw"};
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '_') {
      ++at;
      continue;
    }
    if (text.compare(at, 2, "n\"") == 0) {
      size_t end = text.find('"', at + 2);
      require(end != std::string::npos, "problem '{}': the name is not closed", text);
      at = end + 1;
      continue;
    }
    size_t letters = at, digits;
    while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])))
      ++at;
    std::string key = text.substr(letters, at - letters);
    for (digits = at; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]));)
      ++at;
    require(known.count(key), "problem '{}': expected one of {} at '{}'", text, fmt::join(known, ", "),
            text.substr(letters, 12));
    require(at > digits && at - digits <= 9, "problem '{}': '{}' needs a number of at most nine digits", text, key);
    require(given.emplace(key, std::stoll(text.substr(digits, at - digits))).second, "problem '{}': '{}' twice", text,
            key);
  }
  auto get = [&](const char *key, int64_t fallback) { return given.count(key) ? given[key] : fallback; };
  for (const char *key : {"ic", "ih", "oc"})
    require(given.count(key), "problem '{}': '{}' is missing", text, key);
  ConvProblem p;
  p.batch = get("mb", 1);
  p.groups = get("g", 1);
  p.inChannels = get("ic", 1);
  p.outChannels = get("oc", 1);
  p.inHeight = get("ih", 1);
  p.inWidth = get("iw", p.inHeight);
  p.kernelHeight = get("kh", 1);
  p.kernelWidth = get("kw", p.kernelHeight);
  p.strideHeight = get("sh", 1);
  p.strideWidth = get("sw", p.strideHeight);
  p.padTop = get("ph", 0);
  p.padLeft = get("pw", p.padTop);
  p.dilationHeight = get("dh", 0) + 1;
  p.dilationWidth = get("dw", p.dilationHeight - 1) + 1;
  require(p.strideHeight > 0 && p.strideWidth > 0, "problem '{}': a stride is 0", text);
  require(given.count("oh") || !given.count("ow"), "problem '{}': 'ow' without 'oh'", text);
  p.outHeight = outputExtent(p.inHeight, p.kernelHeight, p.strideHeight, p.padTop, p.dilationHeight);
  p.outWidth = outputExtent(p.inWidth, p.kernelWidth, p.strideWidth, p.padLeft, p.dilationWidth);
  if (given.count("oh")) {
    p.outHeight = given["oh"];
    p.outWidth = get("ow", p.outHeight);
  }
  p.check("problem '" + text + "'");
  return p;
}

std::string ConvProblem::str() const {
  std::string text;
  auto put = [&](const char *key, int64_t value, int64_t usual) {
    if (value != usual)
      text += fmt::format("{}{}", key, value);
  };
  put("g", groups, 1);
  put("mb", batch, 1);
  put("ic", inChannels, -1);
  put("ih", inHeight, -1);
  put("iw", inWidth, inHeight);
  put("oc", outChannels, -1);
  put("oh", outHeight, -1);
  put("ow", outWidth, outHeight);
  put("kh", kernelHeight, -1);
  put("kw", kernelWidth, kernelHeight);
  put("sh", strideHeight, 1);
  put("sw", strideWidth, strideHeight);
  put("ph", padTop, 0);
  put("pw", padLeft, padTop);
  put("dh", dilationHeight - 1, 0);
  put("dw", dilationWidth - 1, dilationHeight - 1);
  return text;
}

int64_t ConvProblem::padBottom() const {
  return padAfter(inHeight, outHeight, kernelHeight, strideHeight, padTop, dilationHeight);
}

int64_t ConvProblem::padRight() const {
  return padAfter(inWidth, outWidth, kernelWidth, strideWidth, padLeft, dilationWidth);
}

double ConvProblem::flops() const {
  return 2.0 * double(batch * outChannels) * double(outHeight * outWidth) * double(inChannels / groups) *
         double(kernelHeight * kernelWidth);
}

std::string ConvProblem::kind() const {
  if (groups > 1 && groups == inChannels)
    return "depthwise";
  if (strideHeight > 1 || strideWidth > 1)
    return "strided";
  if (groups == 1 && dilationHeight == 1 && dilationWidth == 1 && kernelHeight == kernelWidth) {
    if (kernelHeight == 3)
      return "3x3";
    if (kernelHeight == 1)
      return "1x1";
  }
  return "other";
}

void ConvProblem::check(const std::string &where) const {
  for (const Field &field : jsonFields) {
    bool padding = field.member == &ConvProblem::padTop || field.member == &ConvProblem::padLeft;
    require(this->*field.member >= (padding ? 0 : 1) && this->*field.member < int64_t(1) << 24,
            "{}: {} is {}, expected {} to {}", where, field.name, this->*field.member, padding ? 0 : 1, (1 << 24) - 1);
  }
  require(inChannels % groups == 0 && outChannels % groups == 0, "{}: {} and {} channels are not divided by {} groups",
          where, inChannels, outChannels, groups);
  auto axis = [&](const char *name, int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                  int64_t dilation) {
    int64_t window = (kernel - 1) * dilation + 1, after = padAfter(in, out, kernel, stride, pad, dilation);
    int64_t made = in + pad + after < window ? 0 : (in + pad + after - window) / stride + 1;
    // Padding behind may exceed that before by what a stride of the even form needs, not by whole windows.
    require(made == out && after <= pad + window + stride,
            "{}: output {} {} does not follow from input {}, kernel {}, stride {}, padding {}, dilation {}", where,
            name, out, in, kernel, stride, pad, dilation);
  };
  axis("height", inHeight, outHeight, kernelHeight, strideHeight, padTop, dilationHeight);
  axis("width", inWidth, outWidth, kernelWidth, strideWidth, padLeft, dilationWidth);
  double most = double(int64_t(1) << 32); // 16 GiB of one tensor
  for (auto &dims : {inputDims(), weightDims(), outputDims()}) {
    double elements = 1;
    for (int64_t extent : dims)
      elements *= double(extent);
    require(elements <= most, "{}: a tensor of {:.3g} elements is too large", where, elements);
  }
}

nlohmann::json toJson(const ConvProblem &problem) {
  nlohmann::json document;
  for (const Field &field : jsonFields)
    document[field.name] = problem.*field.member;
  document["pad_bottom"] = problem.padBottom();
  document["pad_right"] = problem.padRight();
  document["bias"] = problem.bias;
  document["relu"] = problem.relu;
  return document;
}

ConvProblem convProblemFromJson(const nlohmann::json &document) {
  ConvProblem problem;
  for (const Field &field : jsonFields)
    document.at(field.name).get_to(problem.*field.member);
  document.at("bias").get_to(problem.bias);
  document.at("relu").get_to(problem.relu);
  problem.check("problem");
  return problem;
}

std::vector<ListedProblem> readConvProblems(const std::string &path, const std::vector<std::string> &suites) {
  std::ifstream file(path);
  require(file.good(), "{}: cannot be read", path);
  auto cells = [](const std::string &line) {
    std::vector<std::string> result;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) {
      cell.erase(std::remove(cell.begin(), cell.end(), '\r'), cell.end());
      result.push_back(cell);
    }
    return result;
  };
  std::string line;
  std::getline(file, line);
  std::map<std::string, size_t> columns;
  for (auto &title : cells(line))
    columns.emplace(title, columns.size());
  for (const char *title : {"suite", "name", "batch", "in_channels", "in_height", "in_width", "out_channels",
                            "kernel_height", "kernel_width", "stride_height", "stride_width", "pad_height", "pad_width",
                            "dilation_height", "dilation_width", "groups", "count"})
    require(columns.count(title), "{}: no column '{}'", path, title);
  std::vector<ListedProblem> problems;
  std::map<std::string, size_t> places; // by text
  std::set<std::string> seen, used;
  for (int number = 2; std::getline(file, line); ++number) {
    auto row = cells(line);
    if (row.empty())
      continue;
    std::string where = fmt::format("{}:{}", path, number);
    require(row.size() == columns.size(), "{}: {} columns, expected {}", where, row.size(), columns.size());
    auto get = [&](const char *title) {
      const std::string &cell = row[columns[title]];
      char *end = nullptr;
      int64_t value = std::strtoll(cell.c_str(), &end, 10);
      require(!cell.empty() && *end == 0, "{}: {} is '{}', expected a number", where, title, cell);
      return value;
    };
    std::string suite = row[columns["suite"]];
    seen.insert(suite);
    auto wanted = std::find_if(suites.begin(), suites.end(), [&](const std::string &pattern) {
      return pattern == suite || (!pattern.empty() && pattern.back() == '*' &&
                                  suite.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0);
    });
    if (wanted == suites.end())
      continue;
    used.insert(*wanted);
    ConvProblem p;
    p.batch = get("batch");
    p.groups = get("groups");
    p.inChannels = get("in_channels");
    p.inHeight = get("in_height");
    p.inWidth = get("in_width");
    p.outChannels = get("out_channels");
    p.kernelHeight = get("kernel_height");
    p.kernelWidth = get("kernel_width");
    p.strideHeight = get("stride_height");
    p.strideWidth = get("stride_width");
    p.padTop = get("pad_height");
    p.padLeft = get("pad_width");
    p.dilationHeight = get("dilation_height");
    p.dilationWidth = get("dilation_width");
    require(p.strideHeight > 0 && p.strideWidth > 0, "{}: a stride is 0", where);
    p.outHeight = outputExtent(p.inHeight, p.kernelHeight, p.strideHeight, p.padTop, p.dilationHeight);
    p.outWidth = outputExtent(p.inWidth, p.kernelWidth, p.strideWidth, p.padLeft, p.dilationWidth);
    p.check(where);
    auto [place, isNew] = places.emplace(p.str(), problems.size());
    if (isNew)
      problems.push_back({p, row[columns["name"]], {}, 0});
    ListedProblem &listed = problems[place->second];
    if (std::find(listed.suites.begin(), listed.suites.end(), suite) == listed.suites.end())
      listed.suites.push_back(suite);
    listed.count += get("count");
  }
  for (auto &pattern : suites)
    require(used.count(pattern), "{}: no suite '{}'; there are {}", path, pattern, fmt::join(seen, ", "));
  return problems;
}

} // namespace lathe::lab
