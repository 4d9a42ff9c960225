// A process that runs packages without end at the same time: `lathe-runner --corun` (lab/runners/lathe/Corun.h).
#pragma once

#include "lab/judging/TimingWorker.h"
#include "machine/NumberList.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::lab {

/// One of the models that run at the same time.
struct CorunMember {
  std::string package;                       // path of the package
  std::map<std::string, std::string> inputs; // path of the .npy file of each input
  std::string outputs;                       // outputsHash that every run must have
  /// Contexts that run at the same time; for each, the CPUs of its slots.
  std::vector<NumberList> instances;
  bool streams = true; // false: kernels run one after the other, even where the plan has streams
  bool apart = false;  // true: it never runs beside others, and shares no pool of threads with them

  NumberList cpus() const; // CPUs that the member uses
};

/// What a member did in one window.
struct WindowRuns {
  size_t runs = 0;             // number of runs that began and ended in the window
  double share = 0;            // runs, with the parts of those at the window's ends that were inside of it
  double slowest = 0;          // longest run that was at least in part inside, in seconds
  std::vector<double> seconds; // times of runs; of many runs, times of equally spaced ones
  std::string wrong;           // the hash of wrong outputs; "": the outputs of the last run were the expected ones
};

class CorunProcess : public TimingWorker {
public:
  static process::Result<CorunProcess> start();
  /// Loads members and runs each instance once. `sharesCpus`: some CPU is given to several slots of this process or of
  /// another one that runs at the same time.
  process::Result<bool> load(const std::vector<CorunMember> &members, bool sharesCpus);
  /// Makes the process run some of the loaded members without end, until `seconds` after the beginning of the window
  /// (lab/corun/SharedWindow.h). The window begins when `instances` instances run, in all processes.
  std::optional<process::Failure> begin(const std::vector<size_t> &members, const std::string &window, size_t instances,
                                        double seconds);
  /// Returns what the members of `begin` did, in their order.
  process::Result<std::vector<WindowRuns>> end(double timeoutSeconds);
  /// Makes the process run all loaded members without end, and count their runs in the shared memory at the path `runs`
  /// (lab/ops/SharedRuns.h), which asks it to stop.
  std::optional<process::Failure> accompany(const std::string &runs);
  /// Returns, after the request to stop, whether the outputs of every instance were the expected ones.
  process::Result<bool> endOfCompany(double timeoutSeconds);

private:
  explicit CorunProcess(process::Worker worker);
  process::Result<nlohmann::json> received(double timeoutSeconds);
};

} // namespace lathe::lab
