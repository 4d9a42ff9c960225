#include "tune/measure/runner/InjectedFault.h"

#include "support/Error.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

namespace lathe::tune {

static Fault faultNamed(const std::string &name) {
  static constexpr std::array<std::pair<const char *, Fault>, 4> names{
      {{"crash", Fault::crash}, {"hang", Fault::hang}, {"allocate", Fault::allocate}, {"wrong", Fault::wrong}}};
  for (auto &[known, fault] : names)
    if (name == known)
      return fault;
  fail("LATHE_INJECT_FAULTS: '{}', expected crash, hang, allocate or wrong", name);
}

Fault injectedFault(const std::string &schedule) {
  const char *given = std::getenv("LATHE_INJECT_FAULTS");
  std::istringstream entries(given ? given : "");
  Fault fault = Fault::none;
  for (std::string entry; std::getline(entries, entry, ';');) {
    std::istringstream words(entry);
    std::string kind, rest;
    words >> kind >> std::ws;
    std::getline(words, rest);
    if (Fault named = faultNamed(kind); rest == schedule)
      fault = named;
  }
  return fault;
}

static void allocateWithoutEnd() {
  constexpr size_t piece = size_t(1) << 20;
  std::vector<std::vector<char>> held;
  while (true) {
    held.emplace_back(piece, char(1));
    *const_cast<volatile char *>(held.back().data()) = 2; // volatile: the compiler must not remove it
  }
}

void inject(Fault fault, std::span<char> result) {
  constexpr size_t changed = 8;      // bytes: an element of the largest type
  constexpr char exponentBit = 0x40; // an exponent bit of any float type, in one of these bytes
  switch (fault) {
  case Fault::none:
    return;
  case Fault::crash:
    std::raise(SIGSEGV);
    return;
  case Fault::hang:
    for (volatile bool forEver = true; forEver;)
      ;
    return;
  case Fault::allocate:
    allocateWithoutEnd();
    return;
  case Fault::wrong:
    for (char &byte : result.first(std::min(changed, result.size())))
      byte ^= exponentBit;
    return;
  }
}

} // namespace lathe::tune
