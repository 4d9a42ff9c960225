#include "report/TurningPoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace lathe::report {

namespace {

struct Line {
  double meanX = 0, meanY = 0, slope = 0, squares = 0;
  double at(double x) const { return meanY + slope * (x - meanX); }
};

Line fitLine(std::span<const double> x, std::span<const double> y) {
  auto n = double(x.size());
  Line line;
  for (size_t i = 0; i < x.size(); ++i) {
    line.meanX += x[i] / n;
    line.meanY += y[i] / n;
  }
  double xx = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - line.meanX) * (x[i] - line.meanX);
    xy += (x[i] - line.meanX) * (y[i] - line.meanY);
  }
  line.slope = xx > 0 ? xy / xx : 0;
  for (size_t i = 0; i < x.size(); ++i)
    line.squares += (y[i] - line.at(x[i])) * (y[i] - line.at(x[i]));
  return line;
}

/// The best two segments that meet at `at`: linear least squares for the height and both slopes.
TwoSegments fitMeetingAt(std::span<const double> x, std::span<const double> y, double at) {
  // The slopes do not depend on each other, only on the height: eliminating them leaves one equation.
  double n = double(x.size()), sumY = 0;
  double left = 0, leftSquares = 0, leftY = 0, right = 0, rightSquares = 0, rightY = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double away = x[i] - at;
    sumY += y[i];
    (away < 0 ? left : right) += away;
    (away < 0 ? leftSquares : rightSquares) += away * away;
    (away < 0 ? leftY : rightY) += away * y[i];
  }
  TwoSegments fit;
  fit.at = at;
  double weight = n - left * left / leftSquares - right * right / rightSquares;
  fit.height = (sumY - left * leftY / leftSquares - right * rightY / rightSquares) / weight;
  fit.before = (leftY - fit.height * left) / leftSquares;
  fit.after = (rightY - fit.height * right) / rightSquares;
  for (size_t i = 0; i < x.size(); ++i) {
    double away = x[i] - at, off = y[i] - fit.height - (away < 0 ? fit.before : fit.after) * away;
    fit.squares += off * off;
  }
  return fit;
}

} // namespace

std::optional<TwoSegments> fitTwoSegments(std::span<const double> x, std::span<const double> y) {
  size_t n = x.size();
  if (n < 5)
    return std::nullopt;
  std::optional<TwoSegments> best;
  auto offer = [&](const TwoSegments &fit) {
    if (!best || fit.squares < best->squares)
      best = fit;
  };
  for (size_t i = 1; i + 1 < n; ++i)
    offer(fitMeetingAt(x, y, x[i]));
  // Independent lines left and right of a gap fit even better if they meet inside the gap.
  for (size_t i = 2; i + 2 <= n; ++i) {
    Line left = fitLine(x.first(i), y.first(i)), right = fitLine(x.subspan(i), y.subspan(i));
    if (left.slope == right.slope)
      continue;
    double at = (right.at(0) - left.at(0)) / (left.slope - right.slope);
    if (at > x[i - 1] && at < x[i])
      offer({at, left.at(at), left.slope, right.slope, left.squares + right.squares});
  }
  Line line = fitLine(x, y);
  best->lineSquares = line.squares;
  best->lineSlope = line.slope;
  auto criterion = [&](double squares, double parameters) {
    constexpr double leastDistance = 1e-3;
    double mean = std::max(squares / double(n), leastDistance * leastDistance);
    return double(n) * std::log(mean) + parameters * std::log(double(n));
  };
  best->breaks = criterion(best->squares, 4) < criterion(line.squares, 2);
  return best;
}

std::optional<double> lastWorthwhile(std::span<const double> x, std::span<const double> seconds, double gain) {
  for (size_t i = 0; i + 1 < x.size(); ++i)
    if (std::pow(seconds[i] / seconds[i + 1], 1 / (x[i + 1] - x[i])) - 1 < gain)
      return x[i];
  return std::nullopt;
}

namespace {

/// Points of a curve by x; of equal x (two layouts, for example) the first stays.
using Points = std::map<double, double>;

/// Extents of the operands in a row, with their positions.
struct Extents {
  std::vector<int64_t> values;
  std::vector<std::string> names; // "x[1]"
  std::string rest;               // the problem without extents: equal if problems differ only in extents
};

Extents extentsOf(const lab::Problem &problem) {
  Extents extents;
  lab::Problem bare = problem;
  for (auto &operand : bare.operands) {
    for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
      extents.values.push_back(operand.dims[axis]);
      extents.names.push_back(fmt::format("{}[{}]", operand.name, axis));
    }
    operand.dims.assign(operand.dims.size(), 1);
  }
  extents.rest = bare.str();
  return extents;
}

/// The extents in a text such as "8x3x224x224"; nothing for another text.
std::optional<std::vector<int64_t>> dimsOf(const std::string &text) {
  std::vector<int64_t> dims;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    int64_t extent = 0;
    auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || (next != end && (*next != 'x' || next + 1 == end)))
      return std::nullopt;
    dims.push_back(extent);
    at = next == end ? end : next + 1;
  }
  return dims.empty() ? std::nullopt : std::optional(dims);
}

/// For a whole model, whose text ends with its inputs: "m.onnx@0123456789abcdef data 8x3x224x224, mask 8x128". Nothing
/// for another text.
std::optional<Extents> extentsOfModel(const std::string &text) {
  constexpr size_t hashDigits = 16;
  size_t hash = text.find('@');
  while (hash != std::string::npos && (hash + 1 + hashDigits >= text.size() || text[hash + 1 + hashDigits] != ' '))
    hash = text.find('@', hash + 1);
  if (hash == std::string::npos)
    return std::nullopt;
  size_t at = hash + 1 + hashDigits + 1;
  Extents extents;
  extents.rest = text.substr(0, at);
  while (at < text.size()) {
    size_t end = std::min(text.find(", ", at), text.size());
    std::string input = text.substr(at, end - at);
    size_t space = input.rfind(' ');
    if (space == std::string::npos)
      return std::nullopt;
    auto dims = dimsOf(input.substr(space + 1));
    if (!dims && input.substr(space + 1) != "scalar")
      return std::nullopt;
    std::string name = input.substr(0, space);
    for (size_t axis = 0; dims && axis < dims->size(); ++axis) {
      extents.values.push_back((*dims)[axis]);
      extents.names.push_back(fmt::format("{}[{}]", name, axis));
    }
    extents.rest += fmt::format("{} {}, ", name, dims ? dims->size() : 0);
    at = end + 2;
  }
  return extents;
}

/// The axes along which two problems differ, if they share one extent: these axes have the same value in each problem.
std::vector<size_t> oneExtent(const Extents &a, const Extents &b) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < a.values.size(); ++i)
    if (a.values[i] != b.values[i]) {
      if (!axes.empty() && (a.values[i] != a.values[axes[0]] || b.values[i] != b.values[axes[0]]))
        return {};
      axes.push_back(i);
    }
  return axes;
}

void addSizeCurves(const std::vector<const Row *> &rows, const std::string &column, std::vector<Curve> &curves) {
  std::map<std::string, std::vector<std::pair<Extents, double>>> families;
  for (const Row *row : rows) {
    Extents extents = row->shape ? extentsOf(*row->shape) : *extentsOfModel(row->problem);
    families[extents.rest].push_back({std::move(extents), row->median});
  }
  for (auto &[rest, members] : families) {
    std::map<std::string, Points> found; // by the problem with this extent open
    std::map<std::string, std::string> resources;
    for (size_t i = 0; i < members.size(); ++i)
      for (size_t j = i + 1; j < members.size(); ++j) {
        std::vector<size_t> axes = oneExtent(members[i].first, members[j].first);
        if (axes.empty())
          continue;
        std::vector<std::string> names, fixed;
        const Extents &extents = members[i].first;
        for (size_t axis = 0, next = 0; axis < extents.values.size(); ++axis)
          if (next < axes.size() && axes[next] == axis) {
            names.push_back(extents.names[axis]);
            ++next;
          } else {
            fixed.push_back(fmt::format("{}={}", extents.names[axis], extents.values[axis]));
          }
        std::string resource = fmt::format("{}", fmt::join(names, "="));
        std::string key = resource + "|" + fmt::format("{}", fmt::join(fixed, " "));
        resources[key] = resource;
        for (size_t member : {i, j})
          found[key].emplace(double(members[member].first.values[axes[0]]), members[member].second);
      }
    std::string op = rest.substr(0, rest.find(' '));
    for (auto &[key, points] : found) {
      Curve curve{resources[key], fmt::format("{}, {} {}", column, op, key.substr(key.find('|') + 1)), {}, {}};
      for (auto &[x, seconds] : points) {
        curve.x.push_back(x);
        curve.seconds.push_back(seconds);
      }
      curves.push_back(std::move(curve));
    }
  }
}

} // namespace

std::vector<Curve> curves(const std::vector<Row> &rows) {
  std::map<std::pair<std::string, std::string>, Points> bySetting; // resource, context
  std::map<std::string, std::vector<const Row *>> byColumn;
  for (const Row &row : rows) {
    if (!row.counts())
      continue;
    std::string column = columnOf(row) + (row.setting.schedule.empty() ? "" : " " + row.setting.schedule);
    auto add = [&](const char *resource, double x, auto &&forget) {
      Row rest = row;
      forget(rest.setting);
      std::string circumstances = contextText(rest);
      bySetting[{resource, fmt::format("{}, {} {} ({})", column, row.op, row.problem, circumstances)}].emplace(
          x, row.median);
    };
    add("threads", row.setting.threads, [](store::Setting &setting) { setting.threads = 0; });
    if (row.setting.batch > 0)
      add("batch", double(row.setting.batch), [](store::Setting &setting) { setting.batch = 0; });
    if (row.shape) {
      byColumn[fmt::format("{} ({})", column, contextText(row))].push_back(&row);
    } else if (row.op == "model" && extentsOfModel(row.problem)) {
      Row rest = row;
      rest.setting.batch = 0; // the inputs state it
      byColumn[fmt::format("{} ({})", column, contextText(rest))].push_back(&row);
    }
  }
  std::vector<Curve> result;
  for (auto &[what, points] : bySetting) {
    Curve curve{what.first, what.second, {}, {}};
    for (auto &[x, seconds] : points) {
      curve.x.push_back(x);
      curve.seconds.push_back(seconds);
    }
    result.push_back(std::move(curve));
  }
  for (auto &[column, members] : byColumn)
    addSizeCurves(members, column, result);
  std::erase_if(result, [](const Curve &curve) { return curve.x.size() < (curve.resource == "threads" ? 2 : 3); });
  return result;
}

std::vector<Turning> turningPoints(const std::vector<Row> &rows) {
  std::vector<Turning> result;
  for (Curve &curve : curves(rows)) {
    std::vector<double> x, y;
    for (size_t i = 0; i < curve.x.size(); ++i) {
      x.push_back(std::log(curve.x[i]));
      y.push_back(std::log(curve.seconds[i]));
    }
    Turning &turning = result.emplace_back();
    turning.fit = fitTwoSegments(x, y);
    if (curve.resource == "threads")
      turning.threads = lastWorthwhile(curve.x, curve.seconds);
    turning.curve = std::move(curve);
  }
  return result;
}

nlohmann::json toJson(const Turning &turning) {
  const Curve &curve = turning.curve;
  nlohmann::json document = {{"resource", curve.resource}, {"context", curve.context}, {"x", curve.x}};
  for (double seconds : curve.seconds)
    document["median_ms"].push_back(seconds * 1e3);
  if (turning.fit) {
    document["turns"] = turning.fit->breaks;
    document["turns_at"] = std::exp(turning.fit->at);
    document["slope_before"] = turning.fit->before;
    document["slope_after"] = turning.fit->after;
    document["slope_of_one_line"] = turning.fit->lineSlope;
  }
  if (turning.threads)
    document["gains_below_10_percent_beyond"] = *turning.threads;
  return document;
}

} // namespace lathe::report
