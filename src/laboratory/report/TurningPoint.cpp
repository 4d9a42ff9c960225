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
using Points = std::map<double, const Row *>;

Curve curveOf(std::string resource, const std::string &column, const std::string &rest, const Points &points) {
  Curve curve{std::move(resource), fmt::format("{}, {}", column, rest), {}, {}, {}, column, rest};
  for (const auto &[x, row] : points) {
    curve.x.push_back(x);
    curve.seconds.push_back(row->median);
    if (row->predictedCycles > 0)
      curve.cycles.push_back(row->predictedCycles);
  }
  if (curve.cycles.size() < curve.x.size())
    curve.cycles.clear();
  return curve;
}

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

/// `context`: the setting of the rows, as text.
void addSizeCurves(const std::vector<const Row *> &rows, const std::string &column, const std::string &context,
                   std::vector<Curve> &curves) {
  std::map<std::string, std::vector<std::pair<Extents, const Row *>>> families;
  for (const Row *row : rows) {
    Extents extents = row->shape ? extentsOf(*row->shape) : *extentsOfModel(row->problem);
    families[extents.rest].push_back({std::move(extents), row});
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
    for (auto &[key, points] : found)
      curves.push_back(curveOf(resources[key], column,
                               fmt::format("{} {} ({})", op, key.substr(key.find('|') + 1), context), points));
  }
}

} // namespace

std::vector<Curve> curves(const std::vector<Row> &rows) {
  std::map<std::tuple<std::string, std::string, std::string>, Points> bySetting;    // resource, column, rest
  std::map<std::pair<std::string, std::string>, std::vector<const Row *>> byColumn; // by column and setting
  for (const Row &row : rows) {
    if (!row.counts())
      continue;
    std::string column = columnOf(row) + (row.setting.schedule.empty() ? "" : " " + row.setting.schedule);
    auto add = [&](const char *resource, double x, auto &&forget) {
      Row rest = row;
      forget(rest.setting);
      std::string circumstances = contextText(rest);
      bySetting[{resource, column, fmt::format("{} {} ({})", row.op, row.problem, circumstances)}].emplace(x, &row);
    };
    add("threads", row.setting.threads, [](store::Setting &setting) { setting.threads = 0; });
    if (row.setting.batch > 0)
      add("batch", double(row.setting.batch), [](store::Setting &setting) { setting.batch = 0; });
    if (row.shape) {
      byColumn[{column, contextText(row)}].push_back(&row);
    } else if (row.op == "model" && extentsOfModel(row.problem)) {
      Row rest = row;
      rest.setting.batch = 0; // the inputs state it
      byColumn[{column, contextText(rest)}].push_back(&row);
    }
  }
  std::vector<Curve> result;
  for (auto &[what, points] : bySetting)
    result.push_back(curveOf(std::get<0>(what), std::get<1>(what), std::get<2>(what), points));
  for (auto &[column, members] : byColumn)
    addSizeCurves(members, column.first, column.second, result);
  std::erase_if(result, [](const Curve &curve) { return curve.x.size() < (curve.resource == "threads" ? 2 : 3); });
  return result;
}

namespace {

Turn turnOf(const Curve &curve, std::span<const double> values) {
  std::vector<double> x, y;
  for (size_t i = 0; i < curve.x.size(); ++i) {
    x.push_back(std::log(curve.x[i]));
    y.push_back(std::log(values[i]));
  }
  Turn turn{fitTwoSegments(x, y), {}};
  if (curve.resource == "threads")
    turn.threads = lastWorthwhile(curve.x, values);
  return turn;
}

nlohmann::json turnJson(const Turn &turn) {
  nlohmann::json document = nlohmann::json::object();
  if (turn.fit) {
    document["turns"] = turn.fit->breaks;
    document["turns_at"] = std::exp(turn.fit->at);
    document["slope_before"] = turn.fit->before;
    document["slope_after"] = turn.fit->after;
    document["slope_of_one_line"] = turn.fit->lineSlope;
  }
  if (turn.threads)
    document["gains_below_10_percent_beyond"] = *turn.threads;
  return document;
}

nlohmann::json crossingsJson(const std::vector<Crossing> &crossings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Crossing &one : crossings)
    list.push_back({{"resource", one.resource},
                    {"context", one.rest},
                    {"before", one.before},
                    {"after", one.after},
                    {"from", one.from},
                    {"to", one.to}});
  return list;
}

} // namespace

std::vector<Crossing> crossings(const std::vector<Curve> &curves, bool predicted) {
  struct Fastest {
    double value;
    const std::string *column;
    size_t count = 1; // columns that have a value here
  };
  std::map<std::pair<std::string, std::string>, std::map<double, Fastest>> groups; // by resource and rest
  for (const Curve &curve : curves) {
    const std::vector<double> &values = predicted ? curve.cycles : curve.seconds;
    for (size_t i = 0; i < values.size(); ++i) {
      auto [at, isNew] =
          groups[{curve.resource, curve.rest}].try_emplace(curve.x[i], Fastest{values[i], &curve.column});
      if (isNew)
        continue;
      ++at->second.count;
      if (values[i] < at->second.value) {
        at->second.value = values[i];
        at->second.column = &curve.column;
      }
    }
  }
  std::vector<Crossing> result;
  for (auto &[group, points] : groups) {
    std::erase_if(points, [](const auto &point) { return point.second.count < 2; });
    for (auto at = points.begin(); at != points.end() && std::next(at) != points.end(); ++at)
      if (auto next = std::next(at); *at->second.column != *next->second.column)
        result.push_back({group.first, group.second, at->first, next->first, *at->second.column, *next->second.column});
  }
  return result;
}

TurningPoints turningPoints(const std::vector<Row> &rows) {
  std::vector<Curve> all = curves(rows);
  TurningPoints result{{}, crossings(all, false), crossings(all, true)};
  for (Curve &curve : all) {
    Turning &turning = result.curves.emplace_back();
    turning.measured = turnOf(curve, curve.seconds);
    if (!curve.cycles.empty())
      turning.predicted = turnOf(curve, curve.cycles);
    turning.curve = std::move(curve);
  }
  return result;
}

nlohmann::json toJson(const TurningPoints &points) {
  nlohmann::json list = nlohmann::json::array();
  for (const Turning &turning : points.curves) {
    const Curve &curve = turning.curve;
    nlohmann::json document = {{"resource", curve.resource}, {"context", curve.context}, {"x", curve.x}};
    for (double seconds : curve.seconds)
      document["median_ms"].push_back(seconds * 1e3);
    document.update(turnJson(turning.measured));
    if (turning.predicted) {
      document["predicted"] = turnJson(*turning.predicted);
      document["predicted"]["cycles"] = curve.cycles;
    }
    list.push_back(std::move(document));
  }
  return {{"curves", list},
          {"fastest_changes", crossingsJson(points.measured)},
          {"predicted_fastest_changes", crossingsJson(points.predicted)}};
}

} // namespace lathe::report
