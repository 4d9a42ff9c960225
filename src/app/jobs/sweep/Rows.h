// The rows of `lathe sweep`, and how each row is compiled, verified and classified before it is timed.
#pragma once

#include "jobs/Recording.h"
#include "jobs/ResourceOptions.h"
#include "jobs/samples/PictureOptions.h"
#include "jobs/samples/Pictures.h"
#include "lab/judging/Turns.h"
#include "process/TemporaryDirectory.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::jobs {

/// The pictures that every row of a sweep classifies; without --data there are none.
struct SweepPictures {
  DataOptions data;
  uint64_t seed = 0; // seed of random crops
  PictureOptions preprocessing;
  std::vector<std::string> names; // names of the classes; empty: not known
  evaluate::Dataset set;          // the data set, as `data` reads it
};

/// An operator of a row's package that runs on its reference.
struct UncompiledOperator {
  std::string node, op, reason;
  double share = 0; // share of a run's time, in [0, 1]
};

/// A row of a sweep: one model at one level, layout, target and number of threads; or in another runtime.
struct SweepRow {
  ModelOptions model;                      // the model with the level, layout, target and threads of the row
  lab::Resources resources;                // held while the row is timed, not while it is compiled and verified
  std::map<std::string, std::string> held; // what the system stated of them
  std::string runtime;                     // runner that runs the model's own file (lab/compare/Runner.h); "": Lathe
  std::string title;                       // title of the runtime, such as "tflite 2.14.0, native"
  // true: no ratio is made of the runtime's times, because they say nothing of a native build
  bool foreignBuild = false;
  bool done = false;                          // true: the row is compiled and judged, or known to be impossible
  bool failed = false;                        // true: the compiler, the verification or the run failed
  bool ended = false;                         // true: the row's process failed while the rows were timed
  std::string reason;                         // the reason why the row has no time; "" if it may have one
  std::string package;                        // path of the package
  nlohmann::json compiled;                    // JSON of `lathe compile --json`; null if compiling failed
  std::string verification;                   // verdict, such as "verified 2026-05-01: relative error 3.1e-07"
  std::optional<store::Point> point;          // the row's point for the store, without times
  std::map<std::string, std::string> inputs;  // paths of the files with the inputs, by name
  std::optional<runtime::Port> picture;       // the model's input, if it has only one and it is a tensor
  int64_t peakBytes = 0;                      // peak resident memory of the process that was timed
  std::vector<UncompiledOperator> uncompiled; // operators on references, the slowest first
  std::vector<size_t> decisions;              // the class decided for each picture
  size_t classes = 0;                         // number of classes that the model distinguishes
  std::vector<std::vector<double>> rounds;    // seconds of all runs, by round
  std::vector<lab::Counts> counts;            // for each round: CPU time and hardware counts
  lab::Summary time;                          // time of a run, in seconds
  std::optional<lab::JudgedPair> speedup;     // ratio of times: first timed row / this row
  /// Ratio of times: the same model in another runtime on as many threads / this row. Only for a native runtime.
  std::optional<lab::JudgedPair> overRuntime;

  bool timed() const { return reason.empty() && !rounds.empty(); }
};

/// Compiles a row of the sweep, loads and verifies the package, and measures the cost of operators without kernels.
/// The names of its files begin with `stem`. A failure becomes the reason of the row. Throws Error for inputs that the
/// model cannot take.
void prepareRow(SweepRow &row, const std::string &stem, const InputOptions &inputs);

/// Prepares a row of another runtime: loads the model in the runtime, with the inputs of `ours`, a prepared row of the
/// same model, and compares the outputs. The names of its files begin with `stem`. A failure becomes the reason of the
/// row.
void prepareRuntimeRow(SweepRow &row, const std::string &stem, const SweepRow &ours);

/// Classifies the pictures with the model of a prepared row; does not change other rows. Throws Error for pictures
/// that the model cannot take.
void classifyRow(SweepRow &row, const SweepPictures &pictures);

/// The number of decisions that each row makes: one for each random crop, or for each whole picture.
size_t pictureCount(const SweepPictures &pictures);
/// The picture of the data set to which decision `number` belongs. The crops of one picture are consecutive.
const evaluate::LabelledPicture &pictureOf(const SweepPictures &pictures, size_t number);

} // namespace lathe::jobs
