#include "lab/judging/Counts.h"

namespace lathe::lab {

using nlohmann::json;

using Field = std::optional<int64_t> Counts::*;
static constexpr std::pair<const char *, Field> fields[] = {{"cpu_ns", &Counts::cpuNs},
                                                            {"cycles", &Counts::cycles},
                                                            {"instructions", &Counts::instructions},
                                                            {"cache_misses", &Counts::cacheMisses}};

Counts &Counts::operator+=(const Counts &other) {
  for (auto &[key, field] : fields) {
    auto &ours = this->*field;
    auto &theirs = other.*field;
    ours = ours && theirs ? std::optional(*ours + *theirs) : std::nullopt;
  }
  multiplexed |= other.multiplexed;
  return *this;
}

json toJson(const Counts &counts) {
  json document = json::object();
  for (auto &[key, field] : fields)
    if (counts.*field)
      document[key] = *(counts.*field);
  if (counts.multiplexed)
    document["multiplexed"] = true;
  return document;
}

Counts countsFromJson(const json &document) {
  Counts counts;
  for (auto &[key, field] : fields)
    if (auto found = document.find(key); found != document.end())
      counts.*field = int64_t(found->get<uint64_t>());
  counts.multiplexed = document.value("multiplexed", false);
  return counts;
}

} // namespace lathe::lab
