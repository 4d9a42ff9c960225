// The part of `lathe tune --streams auto` above kernels: which kernels run beside each other. Measures kernels on teams
// of threads, and compares packages whose streams these times, or predictions, choose (docs/streams.md).
#pragma once

#include "jobs/Progress.h"
#include "jobs/Recording.h"
#include "jobs/tune/TunedPackage.h"
#include "tune/measure/Measure.h"

namespace lathe::jobs {

/// A choice of streams that was compared with a sequence.
struct StreamCandidate {
  std::string from; // what chose it: "measured times", "predictions", "2 teams"
  std::string choice;
  StreamsReport report;
  std::string against;                            // what it was compared with: "a sequence", or the best choice before
  std::optional<TunedComparison> comparison = {}; // nothing: it was not compared, or by an earlier run
  store::TuningVerdict verdict = store::TuningVerdict::open;
};

struct StreamOutcome {
  size_t kernels = 0;  // pairs of a kernel and a number of threads whose times can decide
  size_t measured = 0; // of them, by this run
  std::vector<StreamCandidate> candidates;
  std::optional<size_t> kept; // number of the candidate that is fastest beyond doubt; nothing: a sequence is kept
  std::string package;        // path of the package with the kept choice
  bool complete = false;      // false: the time was over before all was measured
};

class StreamTuning {
public:
  /// `options`: options of the package without streams, `package`: its path. `measuring`: how kernels are measured. The
  /// first and last argument must outlive the object.
  StreamTuning(const ModelOptions &model, CompileOptions options, std::string package,
               const tune::MeasureOptions &measuring, Recording &recording);

  /// Measures kernels that earlier runs have not measured and compares packages for about `seconds` each, until
  /// `deadline` (of lab::steadySeconds). Results are recorded as soon as they are known.
  StreamOutcome run(double deadline, double seconds, Progress &progress);

private:
  /// A kernel with its schedule on a number of threads.
  struct Question {
    tune::Task task;
    std::string schedule;
    int threads;
  };
  using Key = std::pair<std::string, std::string>; // text of the team task; text of the schedule

  const ModelOptions &model;
  CompileOptions options;
  const std::string package;
  const tune::MeasureOptions &measuring;
  Recording &recording;
  TimeRecords known;
  std::map<Key, Question> questions; // without an answer
  std::map<Key, double> times;       // seconds
  StreamOutcome outcome;

  StreamsReport choose(const std::string &streams, const MeasuredStreams &measured) const;
  void ask();
  void measure(double deadline, Progress &progress);
  void propose();
  std::string task() const;
  void recall();
  std::string packageOf(const StreamCandidate &candidate) const;
  void record(const StreamCandidate &candidate, const TunedComparison &comparison);
  void compare(StreamCandidate &candidate, const std::string &path, double seconds, Progress &progress);
};

} // namespace lathe::jobs
