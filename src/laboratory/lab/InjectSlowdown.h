// Slows down measured runs by a known share, for tests of the laboratory: bench/measuring.py checks whether
// measurements find the slowdown.
#pragma once

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>

namespace lathe::lab {

/// Returns the share by which every run of `name` is slowed down. The environment variable LATHE_INJECT_SLOWDOWN has
/// one share for all names ("0.05") or a list ("slow2.lathe=0.02,slow5.lathe=0.05"). Returns 0 if `name` is not listed
/// or the share is not between 0 and 10.
inline double injectedSlowdown(const std::string &name) {
  const char *given = std::getenv("LATHE_INJECT_SLOWDOWN");
  std::istringstream entries(given ? given : "");
  for (std::string entry; std::getline(entries, entry, ',');) {
    size_t sign = entry.find('=');
    if (sign != std::string::npos && entry.substr(0, sign) != name)
      continue;
    std::string text = sign == std::string::npos ? entry : entry.substr(sign + 1);
    char *end = nullptr;
    double share = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == 0 && share > 0 && share < 10 ? share : 0;
  }
  return 0;
}

/// Makes a run slower: waits in a loop until the time since `begin` has grown by the share `share`.
inline void prolong(std::chrono::steady_clock::time_point begin, double share) {
  using Clock = std::chrono::steady_clock;
  if (share <= 0)
    return;
  auto until = begin + std::chrono::duration_cast<Clock::duration>((Clock::now() - begin) * (1 + share));
  while (Clock::now() < until)
    ;
}

} // namespace lathe::lab
