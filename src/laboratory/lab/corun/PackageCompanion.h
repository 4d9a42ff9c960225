// A package that runs without end beside measurements, in a process of its own, which is stopped otherwise.
#pragma once

#include "lab/corun/CorunProcess.h"
#include "lab/ops/SharedRuns.h"
#include "process/TemporaryDirectory.h"

#include <optional>

namespace lathe::lab {

/// The functions throw Error that names the package if its process fails, or its outputs are not those of the package
/// alone. The process starts with the first measurement.
class PackageCompanion {
public:
  /// `leastRuns`: runs that must end within the timed runs of a measurement; with fewer the measurement is mistrusted.
  PackageCompanion(CorunMember member, int leastRuns) : member(std::move(member)), least(leastRuns) {}

  /// Measures with `work` while the companion runs: from its first complete run on until `work` has ended.
  template <class Work> auto during(Work work) {
    enter();
    std::optional<decltype(work())> result;
    try {
      result.emplace(work());
    } catch (...) {
      quit();
      throw;
    }
    leave();
    return std::move(*result);
  }

  int leastRuns() const { return least; }
  /// Path of the shared memory in which the companion counts its runs.
  std::string path() const { return shared.path(); }
  /// Complete runs in the last `during`; the first one ended before the work began.
  uint64_t runs() const { return shared.runs(); }
  /// Seconds of a run, over all measurements so far; of a run alone before the first.
  double secondsPerRun();

private:
  CorunMember member;
  int least;
  process::TemporaryDirectory directory{"beside"};
  std::optional<CorunProcess> process;
  SharedRuns shared;
  double entered = 0;                 // time of lab::steadySeconds
  double allSeconds = 0, allRuns = 0; // of all measurements

  void start();
  void enter();
  void leave();
  void quit();
  [[noreturn]] void failed(const std::string &why);
};

} // namespace lathe::lab
