// A package that runs without end beside what is tuned: --beside of `lathe tune` and `lathe compile`.
#pragma once

#include "jobs/corun/Models.h"
#include "lab/corun/PackageCompanion.h"
#include "lab/machine/CpusOfBoth.h"

namespace lathe::jobs {

struct BesideOptions {
  std::string package; // "": nothing runs beside
  int threads = 1;
  std::string place = "any"; // as in lab::cpusOfBoth
  int leastRuns = 10;        // lab::PackageCompanion::leastRuns
};

class Beside {
public:
  /// Loads the package and runs it once, to know its outputs. Throws Error if it cannot run, if its outputs are
  /// mistrusted, and if there are too few CPUs for `measuredThreads` threads beside it.
  Beside(const BesideOptions &options, int measuredThreads);

  /// The company of what is measured, as `lathe corun` names it.
  const store::Company &company() const { return named; }
  const NumberList &measuredCpus() const { return cpus.measured; }
  const std::shared_ptr<lab::PackageCompanion> &companion() const { return running; }

private:
  CorunModels models;
  lab::CpusOfBoth cpus;
  store::Company named;
  std::shared_ptr<lab::PackageCompanion> running;
};

/// The company of what is measured beside `beside`, as store::Company::str; null: "".
inline std::string companyOf(const Beside *beside) { return beside ? beside->company().str() : ""; }

} // namespace lathe::jobs
