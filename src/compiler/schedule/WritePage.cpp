// usage: schedules_page > docs/generated/schedules.md
#include "schedule/Algorithms.h"

#include <cstdio>

int main() {
  std::string page = lathe::schedulesPage();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() && std::fflush(stdout) == 0 ? 0 : 2;
}
