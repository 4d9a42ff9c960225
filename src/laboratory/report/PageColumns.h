// What the document of a report page is made of: lists of distinct values, columns of numbers, and judged pairs of
// points.
#pragma once

#include "report/Rows.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lathe::report {

/// Hash function for keys: a text, or an array of numbers, whose bytes are hashed.
struct KeyHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  template <class Number, size_t size> size_t operator()(const std::array<Number, size> &key) const {
    return (*this)(std::string_view(reinterpret_cast<const char *>(key.data()), sizeof key));
  }
};
struct KeyEqual {
  using is_transparent = void;
  bool operator()(const auto &a, const auto &b) const { return a == b; }
};
template <class Key, class Value> using KeyMap = std::unordered_map<Key, Value, KeyHash, KeyEqual>;

/// A list of distinct values that gives each value an index. A key (text) identifies a value.
template <class Value = std::string> class Dictionary {
public:
  template <class Make> uint32_t index(std::string_view key, Make &&make) {
    if (auto place = places.find(key); place != places.end())
      return place->second;
    values.push_back(make());
    return places.emplace(std::string(key), uint32_t(values.size() - 1)).first->second;
  }
  /// Returns the index of the value that equals `key`. If the list lacks it, it is appended.
  uint32_t index(std::string_view key) {
    return index(key, [&] { return Value(key); });
  }
  std::optional<uint32_t> find(std::string_view key) const {
    auto place = places.find(key);
    return place == places.end() ? std::nullopt : std::optional(place->second);
  }
  std::vector<Value> values;

private:
  KeyMap<std::string, uint32_t> places;
};

/// Columns of values by column name. All rows fill the columns in the same order, so the search for a column starts
/// after the last one found.
template <class T> class NamedColumns {
public:
  std::vector<T> &operator[](std::string_view name) {
    for (size_t tried = 0; tried < columns.size(); ++tried) {
      if (next == columns.size())
        next = 0;
      if (auto &[known, values] = columns[next++]; known == name)
        return values;
    }
    columns.emplace_back(name, std::vector<T>());
    next = columns.size();
    return columns.back().second;
  }
  auto begin() const { return columns.begin(); }
  auto end() const { return columns.end(); }

private:
  std::vector<std::pair<std::string, std::vector<T>>> columns;
  size_t next = 0;
};

/// Columns of one kind of row (points, samples, ...), with one number for each row.
class NumberColumns {
public:
  explicit NumberColumns(Dictionary<> &texts) : texts(texts) {}
  void integer(std::string_view name, uint32_t value) { integers[name].push_back(value); }
  void number(std::string_view name, std::optional<double> value); // NaN stands for an unknown value
  /// Appends the index of the text `value` in the dictionary to the column `name`, and returns the index.
  uint32_t text(std::string_view name, std::string_view value);

  /// All columns as JSON; columns of numbers in which no row has a value are left out.
  nlohmann::json document() const;

private:
  Dictionary<> &texts;
  NamedColumns<uint32_t> integers;
  NamedColumns<double> numbers;
};

/// Functions that return a typed array of the page as JSON: {"type", "data"}.
nlohmann::json packed(const std::vector<uint8_t> &values);
nlohmann::json packed(const std::vector<uint16_t> &values);
nlohmann::json packed(const std::vector<uint32_t> &values);
nlohmann::json packed(const std::vector<double> &values);
/// Times in ns as a typed array of the page, with 32 bits per time if this is enough for all (up to 4.29 s).
nlohmann::json packedTimes(const std::vector<int64_t> &nanoseconds);

/// What decides with which other points a point of the page is compared.
struct PagePoint {
  Timing timing;
  // kind, problem and setting without schedule: points with equal group are compared on all platforms
  std::array<uint32_t, 3> group;
  std::array<uint32_t, 3> column; // platform, provider and variant of the point
  uint32_t setting = 0;           // index of the point's setting with its schedule
  std::string scheduledColumn;    // the point's column with its schedule (scheduledColumnOf)
  std::string sameAs;             // the scheduled column whose time stands for this point's time; "": none
  bool counts = false;            // Row::counts
  bool isCurrent = true;          // false: the point was measured again later, so the page hides it at first
  bool inSweep = false;           // the point is from `lathe sweep`, whose points are compared with the first point
  bool inCompany = false;         // something ran beside the point, which is compared with the same point alone
  std::array<uint32_t, 3> alone;  // experiment, problem and setting without company
};

class PagePairs {
public:
  std::vector<PagePoint> points;
  std::string baseline; // PageHeader::baseline

  /// Judges all pairs of a group of few points, and in a larger one each pair of a point and a point that may be its
  /// baseline: the fastest one of a column, and of a column with a schedule where the group has few of them. The points
  /// of a sweep are compared with the first one, too, and points in company with the same point alone in their
  /// experiment. `startsOf` returns the times of a point.
  ///
  /// {"partners": for each point the number of its pairs with later points, "others": these later points, "judged": by
  /// statistic the columns verdicts, ratios, lows and highs with a row for each pair (Judgement in PagePairs.cpp)}
  nlohmann::json document(const std::function<lab::Starts(size_t)> &startsOf) const;

private:
  using Pairs = std::set<std::pair<uint32_t, uint32_t>>;  // pairs of indices of points, the smaller index first
  using Sides = std::vector<std::vector<lab::SideTimes>>; // times of points, by member of a group and by statistic
  Pairs pairsOf(const std::vector<uint32_t> &members, const std::set<std::string> &named, const Sides &sides) const;
};

} // namespace lathe::report
