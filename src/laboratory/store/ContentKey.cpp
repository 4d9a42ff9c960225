#include "store/ContentKey.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>

namespace lathe::store {

using nlohmann::json;

std::string documentKey(const json &document) {
  return contentKey(std::string_view(document.dump(-1, ' ', false, json::error_handler_t::replace)));
}

std::string newUuid() {
  std::random_device random; // the system's generator: forked and restarted processes get different numbers
  std::array<uint32_t, 4> words{};
  for (uint32_t &word : words)
    word = random();
  words[1] = (words[1] & 0xffff0fffU) | 0x4000U;     // version 4
  words[2] = (words[2] & 0x3fffffffU) | 0x80000000U; // variant of RFC 4122
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16, words[1] & 0xffffU,
                     words[2] >> 16, words[2] & 0xffffU, words[3]);
}

std::string timeText(int64_t microseconds) {
  int64_t fraction = (microseconds % 1000000 + 1000000) % 1000000;
  time_t seconds = (microseconds - fraction) / 1000000;
  std::tm fields{};
  gmtime_r(&seconds, &fields);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", fields.tm_year + 1900, fields.tm_mon + 1,
                     fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec, fraction);
}

std::string timeNow() {
  static std::atomic<int64_t> last = 0;
  timespec clock{};
  clock_gettime(CLOCK_REALTIME, &clock);
  int64_t now = int64_t(clock.tv_sec) * 1000000 + clock.tv_nsec / 1000, before = last.load(), given = 0;
  do // several calls may fit into a microsecond; if the clock was set back, the times follow it
    given = before >= now && before < now + 1000 ? before + 1 : now;
  while (!last.compare_exchange_weak(before, given));
  return timeText(given);
}

bool isTime(std::string_view text) {
  static constexpr std::string_view form = "0000-00-00T00:00:00.000000Z";
  if (text.size() != form.size())
    return false;
  for (size_t i = 0; i < form.size(); ++i)
    if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
      return false;
  auto number = [&](size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  return number(5) >= 1 && number(5) <= 12 && number(8) >= 1 && number(8) <= 31 && number(11) < 24 && number(14) < 60 &&
         number(17) <= 60; // a leap second
}

std::string validUtf8(const std::string &text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

} // namespace lathe::store
