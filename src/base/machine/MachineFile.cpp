// The text form of machine facts, which --machine reads.
#include "machine/MachineFacts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/ranges.h>
#include <set>

namespace lathe {

using nlohmann::json;

json toJson(const MachineFacts &machine) {
  json caches = json::array();
  for (size_t i = 0; i < machine.caches.size(); ++i) {
    const CacheFacts &cache = machine.caches[i];
    caches.push_back({{"level", i + 1},
                      {"bytes", cache.bytes},
                      {"line_bytes", cache.lineBytes},
                      {"shared_by", cache.sharedBy},
                      {"size_from", name(cache.sizeFrom)},
                      {"read_bytes_per_cycle", cache.readBytesPerCycle},
                      {"rate_from", name(cache.rateFrom)}});
  }
  return {{"cpu", machine.cpu},
          {"architecture", machine.architecture},
          {"features", machine.features},
          {"cores", machine.cores},
          {"threads_per_core", machine.threadsPerCore},
          {"caches", caches},
          {"memory_read_bytes_per_cycle", machine.memoryBytesPerCycle},
          {"shared_memory_read_bytes_per_cycle", machine.sharedMemoryBytesPerCycle},
          {"fma_per_cycle", machine.fmaPerCycle},
          {"fma_latency_cycles", machine.fmaLatency},
          {"bf16_dot_per_cycle", machine.bf16PerCycle},
          {"read_ahead_cost", machine.readAheadCost},
          {"clock_ghz", machine.clocks},
          {"sources",
           {{"cpu", name(machine.cpuFrom)},
            {"features", name(machine.featuresFrom)},
            {"cores", name(machine.coresFrom)},
            {"memory_read_bytes_per_cycle", name(machine.memoryFrom)},
            {"shared_memory_read_bytes_per_cycle", name(machine.sharedMemoryFrom)},
            {"fma", name(machine.fmaFrom)},
            {"read_ahead_cost", name(machine.readAheadFrom)},
            {"clock_ghz", name(machine.clocksFrom)}}}};
}

void to_json(json &document, const ClockFacts &clock) {
  document = {{"vector_bits", clock.vectorBits}, {"ghz", clock.ghz}};
}

void from_json(const json &document, ClockFacts &clock) {
  constexpr double least = 0.05, most = 20;
  auto possible = [](const json &ghz) { return ghz.is_number() && ghz >= least && ghz <= most; };
  const json bits = document.is_object() ? document.value("vector_bits", json()) : json();
  const json ghz = document.is_object() ? document.value("ghz", json()) : json();
  require(
      document.size() == 2 && bits.is_number_integer() && bits >= 32 && bits <= 65536 && ghz.is_array() &&
          !ghz.empty() && std::all_of(ghz.begin(), ghz.end(), possible),
      "a clock is {}, expected {{\"vector_bits\": 32 to 65536, \"ghz\": [{} to {}, one for each number of threads]}}",
      document.dump(), least, most);
  clock = {bits.get<int>(), ghz.get<std::vector<double>>()};
}

namespace {

/// Reads members of one JSON object and remembers their names, so that all other members can be reported as unknown.
class Members {
public:
  /// `place`: name of the object in messages: "spr.json" or "spr.json: caches[0]".
  Members(const json &object, std::string place) : place(std::move(place)), object(object) {
    require(object.is_object(), "{}: expected a JSON object, got {}", this->place, object.dump());
  }

  const json *find(const char *key) {
    asked.push_back(key);
    auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

  std::string text(const char *key) {
    const json *found = find(key);
    require(found, "{}: lacks '{}'", place, key);
    require(found->is_string() && !found->get_ref<const std::string &>().empty(), "{}: '{}' is {}, expected a text",
            place, key, found->dump());
    return found->get<std::string>();
  }

  /// Reads a number from `low` to `high` (whole if T is an integer). Returns false and leaves `value` alone if it is
  /// missing.
  template <class T> bool number(const char *key, T low, T high, T &value) {
    const json *found = find(key);
    if (!found)
      return false;
    constexpr bool whole = std::is_integral_v<T>;
    bool fits = whole ? found->is_number_integer() : found->is_number();
    require(fits && found->get<double>() >= double(low) && found->get<double>() <= double(high),
            "{}: '{}' is {}, expected a {} from {} to {}", place, key, found->dump(), whole ? "whole number" : "number",
            low, high);
    value = found->get<T>();
    return true;
  }

  void requireAllKnown() const {
    for (const auto &[key, value] : object.items())
      require(std::find(asked.begin(), asked.end(), key) != asked.end(), "{}: unknown key '{}'; expected {}", place,
              key, fmt::join(asked, ", "));
  }

  const std::string place;

private:
  const json &object;
  std::vector<std::string> asked;
};

constexpr int64_t mostBytes = int64_t(1) << 40;
constexpr double leastRate = 0.01, mostRate = 4096, mostSharedRate = 1e6; // bytes per cycle

void readSource(Members &members, const char *key) {
  if (const json *found = members.find(key)) {
    require(found->is_string(), "{}: '{}' is {}, expected a text", members.place, key, found->dump());
    static const std::set<std::string_view> known = {"generic", "table", "measured", "fitted", "system", "file"};
    require(known.count(found->get_ref<const std::string &>()), "{}: '{}' is {}, expected {}", members.place, key,
            found->dump(), fmt::join(known, ", "));
  }
}

/// `known`: the table's facts of this level, for missing rates.
CacheFacts readCache(const json &object, size_t index, const MachineFacts &known, const std::string &fileName) {
  Members members(object, fmt::format("{}: caches[{}]", fileName, index));
  CacheFacts cache = known.caches[std::min(index, known.caches.size() - 1)];
  cache.sharedBy = 1;
  int64_t level = 0;
  require(!members.number<int64_t>("level", 1, 8, level) || level == int64_t(index) + 1,
          "{}: 'level' is {}, expected {}: the innermost cache comes first", members.place, level, index + 1);
  require(members.number<int64_t>("bytes", 1024, mostBytes, cache.bytes), "{}: lacks 'bytes'", members.place);
  members.number("line_bytes", 16, 1024, cache.lineBytes);
  require((cache.lineBytes & (cache.lineBytes - 1)) == 0, "{}: 'line_bytes' is {}, expected a power of two",
          members.place, cache.lineBytes);
  members.number("shared_by", 1, 65536, cache.sharedBy);
  if (members.number("read_bytes_per_cycle", leastRate, mostRate, cache.readBytesPerCycle))
    cache.rateFrom = FactSource::file;
  cache.sizeFrom = FactSource::file;
  readSource(members, "size_from");
  readSource(members, "rate_from");
  members.requireAllKnown();
  return cache;
}

/// `clocks`: a list of clocks by width, or one number for all widths and numbers of threads.
std::vector<ClockFacts> readClocks(const json &clocks, const std::string &fileName) {
  const json list = clocks.is_number() ? json{{{"vector_bits", 512}, {"ghz", {clocks}}}} : clocks;
  require(list.is_array(), "{}: 'clock_ghz' is {}, expected a number or a list", fileName, list.dump());
  std::vector<ClockFacts> result;
  try {
    list.get_to(result);
  } catch (const Error &error) {
    fail("{}: 'clock_ghz': {}", fileName, error.what());
  }
  std::sort(result.begin(), result.end(),
            [](const ClockFacts &a, const ClockFacts &b) { return a.vectorBits < b.vectorBits; });
  return result;
}

std::vector<std::string> readFeatures(const json &list, const std::string &architecture, const std::string &fileName) {
  require(list.is_array(), "{}: 'features' is {}, expected a list", fileName, list.dump());
  std::vector<std::string> features;
  for (const json &entry : list) {
    require(entry.is_string(), "{}: 'features' holds {}, expected names", fileName, entry.dump());
    features.push_back(entry.get<std::string>());
    const std::vector<std::string> &known = knownFeatures(architecture);
    require(std::find(known.begin(), known.end(), features.back()) != known.end(),
            "{}: 'features' holds '{}'; expected of {}: {}", fileName, features.back(), architecture,
            fmt::join(known, ", "));
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

std::vector<CacheFacts> readCaches(const json &list, const MachineFacts &known, const std::string &fileName) {
  require(list.is_array() && !list.empty() && list.size() <= 4, "{}: 'caches' is {}, expected a list of 1 to 4 caches",
          fileName, list.dump());
  std::vector<CacheFacts> caches;
  for (size_t i = 0; i < list.size(); ++i) {
    caches.push_back(readCache(list[i], i, known, fileName));
    require(i == 0 || caches[i].bytes > caches[i - 1].bytes,
            "{}: caches[{}] has {} bytes, expected more than the {} of the cache inside it", fileName, i,
            caches[i].bytes, i ? caches[i - 1].bytes : 0);
  }
  return caches;
}

} // namespace

MachineFacts parseMachineFacts(const std::string &text, const std::string &fileName) {
  json document = json::parse(text, nullptr, false);
  require(!document.is_discarded(), "{}: is no JSON; expected what `lathe machine --json` writes", fileName);
  if (document.is_object() && document.contains("facts"))
    document = json(document["facts"]);
  Members members(document, fileName);
  std::string cpu = members.text("cpu"), architecture = members.text("architecture");
  require(!knownFeatures(architecture).empty(), "{}: 'architecture' is '{}', expected x86_64 or aarch64", fileName,
          architecture);
  const json *featureList = members.find("features");
  std::vector<std::string> features;
  if (featureList)
    features = readFeatures(*featureList, architecture, fileName);
  MachineFacts machine = machineFromTable(cpu, architecture, features);
  machine.cpuFrom = FactSource::file;
  if (featureList)
    machine.featuresFrom = FactSource::file;
  if (members.number("cores", 0, 65536, machine.cores))
    machine.coresFrom = FactSource::file;
  members.number("threads_per_core", 1, 64, machine.threadsPerCore);
  if (const json *list = members.find("caches"))
    machine.caches = readCaches(*list, machine, fileName);
  if (members.number("memory_read_bytes_per_cycle", leastRate, mostRate, machine.memoryBytesPerCycle))
    machine.memoryFrom = FactSource::file;
  if (members.number("shared_memory_read_bytes_per_cycle", 0.0, mostSharedRate, machine.sharedMemoryBytesPerCycle))
    machine.sharedMemoryFrom = FactSource::file;
  if (members.number("fma_per_cycle", 1, 16, machine.fmaPerCycle))
    machine.fmaFrom = FactSource::file;
  if (members.number("fma_latency_cycles", 1, 64, machine.fmaLatency))
    machine.fmaFrom = FactSource::file;
  if (members.number("bf16_dot_per_cycle", 0.0, 16.0, machine.bf16PerCycle))
    machine.fmaFrom = FactSource::file;
  if (members.number("read_ahead_cost", 0.0, 1.0, machine.readAheadCost))
    machine.readAheadFrom = FactSource::file;
  if (const json *clocks = members.find("clock_ghz")) {
    machine.clocks = readClocks(*clocks, fileName);
    machine.clocksFrom = FactSource::file;
  }
  if (const json *sources = members.find("sources")) {
    Members of(*sources, fileName + ": sources");
    for (const char *key : {"cpu", "features", "cores", "memory_read_bytes_per_cycle",
                            "shared_memory_read_bytes_per_cycle", "fma", "read_ahead_cost", "clock_ghz"})
      readSource(of, key);
    of.requireAllKnown();
  }
  members.requireAllKnown();
  return machine;
}

} // namespace lathe
