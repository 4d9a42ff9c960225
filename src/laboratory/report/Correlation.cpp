#include "report/Correlation.h"

#include "schedule/Algorithms.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

namespace lathe::report {

std::optional<double> pearson(std::span<const double> x, std::span<const double> y) {
  require(x.size() == y.size(), "correlation: {} values against {}", x.size(), y.size());
  auto varies = [](std::span<const double> values) {
    return std::any_of(values.begin(), values.end(), [&](double value) { return value != values[0]; });
  };
  if (x.size() < 3 || !varies(x) || !varies(y))
    return std::nullopt;
  auto n = double(x.size());
  double meanX = std::accumulate(x.begin(), x.end(), 0.0) / n, meanY = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - meanX) * (x[i] - meanX);
    yy += (y[i] - meanY) * (y[i] - meanY);
    xy += (x[i] - meanX) * (y[i] - meanY);
  }
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

std::vector<double> ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    for (size_t i = begin; i < end; ++i)
      result[order[i]] = double(begin + 1 + end) / 2; // the mean of begin + 1 ... end
    begin = end;
  }
  return result;
}

std::optional<double> spearman(std::span<const double> x, std::span<const double> y) {
  return pearson(ranks(x), ranks(y));
}

/// The schedule in the text of an implementation, which may be followed by the layout; nothing for other texts.
static std::optional<Schedule> scheduleIn(const std::string &implementation) {
  std::istringstream stream(implementation);
  std::string text, word;
  stream >> text;
  while (stream >> word)
    if (word.find('=') != word.npos)
      text += " " + word;
  try {
    return Schedule::parse(text);
  } catch (const Error &) { // a text of another library
    return std::nullopt;
  }
}

std::map<std::string, double> featuresOf(const Row &row) {
  std::map<std::string, double> features = {{"threads", row.setting.threads}};
  if (row.flops > 0)
    features["flops"] = row.flops;
  if (row.bytes > 0)
    features["bytes"] = row.bytes;
  if (row.flops > 0 && row.bytes > 0)
    features["flops_per_byte"] = row.flops / row.bytes;
  if (row.shape) {
    const lab::Problem &problem = *row.shape;
    double inputs = 0, outputs = 0;
    for (auto &operand : problem.operands)
      if (!operand.constant)
        inputs += double(operand.elements());
    for (auto &result : problem.results())
      outputs += double(result.elements());
    features["input_elements"] = inputs;
    features["output_elements"] = outputs;
    auto *x = problem.operand("x"), *w = problem.operand("w");
    if (x && x->dims.size() > 2)
      features["in_channels"] = double(x->dims[1]);
    if (problem.op == "conv" && w) {
      features["out_channels"] = double(w->dims[0]);
      double area = 1;
      for (size_t axis = 2; axis < w->dims.size(); ++axis)
        area *= double(w->dims[axis]);
      features["kernel_area"] = area;
    }
  }
  if (auto schedule = scheduleIn(scheduleOf(row))) {
    auto nameOf = [&](const std::string &parameter) { // a name may have different meanings in different algorithms
      return schedule->algorithm + " " + parameter;
    };
    for (auto &[parameter, value] : schedule->numbers)
      features[nameOf(parameter)] = double(value);
    if (const Algorithm *algorithm = findAlgorithm(schedule->algorithm, schedule->version))
      for (const Parameter &parameter : algorithm->parameters)
        if (parameter.defaultNumber) // canonical texts omit defaults
          features.try_emplace(nameOf(parameter.name), double(*parameter.defaultNumber));
  }
  return features;
}

std::vector<Correlation> correlations(const std::vector<Row> &rows) {
  std::map<std::string, std::vector<const Row *>> groups;
  for (const Row &row : rows) {
    if (!row.counts())
      continue;
    std::string context = fmt::format("{}, {} by {}", name(row.kind), row.op, columnOf(row));
    if (row.setting.cache == store::CacheState::cold)
      context += ", cold";
    for (const std::string &part : {row.setting.company.str(), row.platformName})
      context += part.empty() ? "" : ", " + part;
    groups[context].push_back(&row);
  }
  std::vector<Correlation> result;
  for (auto &[context, members] : groups) {
    struct Pairs {
      std::vector<double> values, seconds;
    };
    std::map<std::string, Pairs> features;
    for (const Row *row : members)
      for (auto &[feature, value] : featuresOf(*row)) {
        features[feature].values.push_back(value);
        features[feature].seconds.push_back(row->median);
      }
    for (auto &[feature, pairs] : features) {
      Correlation correlation{context, feature, pairs.values.size(), {}, spearman(pairs.values, pairs.seconds)};
      if (!correlation.spearman)
        continue;
      std::vector<double> logValues, logSeconds;
      for (size_t i = 0; i < pairs.values.size(); ++i)
        if (pairs.values[i] > 0) {
          logValues.push_back(std::log(pairs.values[i]));
          logSeconds.push_back(std::log(pairs.seconds[i]));
        }
      correlation.pearson = pearson(logValues, logSeconds);
      result.push_back(std::move(correlation));
    }
  }
  return result;
}

nlohmann::json toJson(const Correlation &correlation) {
  nlohmann::json document = {{"context", correlation.context},
                             {"feature", correlation.feature},
                             {"points", correlation.points},
                             {"spearman", *correlation.spearman}};
  if (correlation.pearson)
    document["pearson_log"] = *correlation.pearson;
  return document;
}

} // namespace lathe::report
