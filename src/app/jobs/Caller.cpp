#include "jobs/Caller.h"

#include <cstdlib>

namespace lathe::jobs {

Caller &caller() {
  static Caller caller;
  return caller;
}

void noteOnce(const char *variable, const std::string &line) {
  if (const char *said = std::getenv(variable); said && *said)
    return;
  caller().note(line);
  ::setenv(variable, "1", 1);
}

} // namespace lathe::jobs
