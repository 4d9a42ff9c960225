// Building blocks of a page's document: lists of distinct values, and columns of numbers.
#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lathe::report {

/// Hash of a key: a text, or an array of numbers, whose bytes are hashed.
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

/// A list of distinct values that gives each value an index. A key identifies a value.
template <class Value = std::string> class Dictionary {
public:
  template <class Make> uint32_t index(std::string_view key, Make &&make) {
    if (auto place = places.find(key); place != places.end())
      return place->second;
    values.push_back(make());
    return places.emplace(std::string(key), uint32_t(values.size() - 1)).first->second;
  }
  /// The index of a value that is its own key; a new value is appended to the list.
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

/// Columns by name. Rows fill them in the same order, so the next column is usually the one after the last.
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

/// Columns of one kind of row, with one number for each row.
class NumberColumns {
public:
  explicit NumberColumns(Dictionary<> &texts) : texts(texts) {}
  void integer(std::string_view name, uint32_t value) { integers[name].push_back(value); }
  void number(std::string_view name, std::optional<double> value); // an unknown value is written as NaN
  /// Adds the index of the text in the dictionary to the column, and returns it.
  uint32_t text(std::string_view name, std::string_view value);

  NamedColumns<uint32_t> integers;
  /// All columns as JSON; number columns without any value are left out.
  nlohmann::json document() const;

private:
  Dictionary<> &texts;
  NamedColumns<double> numbers;
};

/// A typed array of the page as JSON: {"type", "data"}.
nlohmann::json packed(const std::vector<uint32_t> &values);
nlohmann::json packed(const std::vector<double> &values);
/// Times in ns as a typed array, in 32 bits if this is enough for all (up to 4.29 s).
nlohmann::json packedTimes(const std::vector<int64_t> &nanoseconds);

} // namespace lathe::report
