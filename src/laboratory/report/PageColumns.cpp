#include "report/PageColumns.h"

#include "support/Base64.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lathe::report {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "typed arrays of the page are little endian");

template <class T> static json packedAs(const std::vector<T> &values, const char *type) {
  auto bytes = std::span(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
  return {{"type", type}, {"data", toBase64(bytes)}};
}
json packed(const std::vector<uint8_t> &values) { return packedAs(values, "u8"); }
json packed(const std::vector<uint16_t> &values) { return packedAs(values, "u16"); }
json packed(const std::vector<uint32_t> &values) { return packedAs(values, "u32"); }
json packed(const std::vector<double> &values) { return packedAs(values, "f64"); }

json packedTimes(const std::vector<int64_t> &nanoseconds) {
  constexpr int64_t most = std::numeric_limits<uint32_t>::max();
  if (std::all_of(nanoseconds.begin(), nanoseconds.end(), [](int64_t value) { return value <= most; }))
    return packed(std::vector<uint32_t>(nanoseconds.begin(), nanoseconds.end()));
  return packed(std::vector<double>(nanoseconds.begin(), nanoseconds.end()));
}

void NumberColumns::number(std::string_view name, std::optional<double> value) {
  numbers[name].push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
}

uint32_t NumberColumns::text(std::string_view name, std::string_view value) {
  uint32_t index = texts.index(value);
  integer(name, index);
  return index;
}

json NumberColumns::document() const {
  json document = json::object();
  for (auto &[name, values] : integers)
    document[name] = packed(values);
  for (auto &[name, values] : numbers)
    if (std::any_of(values.begin(), values.end(), [](double value) { return !std::isnan(value); }))
      document[name] = packed(values);
  return document;
}

} // namespace lathe::report
