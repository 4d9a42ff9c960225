// The rows of `lathe sweep`: how each is compiled, verified and classified before it is timed.
#pragma once

#include "jobs/Recording.h"
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
  uint64_t seed = 0; // of random crops
  PictureOptions preprocessing;
  std::vector<std::string> names; // of the classes; empty: not known
  evaluate::Dataset set;          // as `data` reads it
};

/// An operator that the package computes with its reference.
struct UncompiledOperator {
  std::string node, op, reason;
  double share = 0; // share of a run's time, in [0, 1]
};

/// A row of a sweep: one model at one level, layout, target and number of threads; or in another runtime.
struct SweepRow {
  ModelOptions model;                // with the level, layout, target and threads of the row
  std::string runtime;               // runner that runs the model's own file (lab/compare/Runner.h); "": Lathe
  std::string title;                 // of the runtime: "tflite 2.14.0, native"
  bool foreignBuild = false;         // the runtime's times say nothing of a native build: no ratio is made of them
  bool done = false;                 // compiled and judged, or known to be impossible
  bool failed = false;               // the compiler, the verification or the run failed
  bool ended = false;                // its process failed while the rows were timed
  std::string reason;                // why the row has no time; "" if it may have one
  std::string package;               // file
  nlohmann::json compiled;           // as `lathe compile --json` states it; null if that failed
  std::string verification;          // "verified 2026-05-01: relative error 3.1e-07"
  std::optional<store::Point> point; // what the store keeps, without times
  std::map<std::string, std::string> inputs;  // files of the inputs by name
  std::optional<runtime::Port> picture;       // the only input, if there is one and it is a tensor
  int64_t peakBytes = 0;                      // resident set of the process that was timed, at most
  std::vector<UncompiledOperator> uncompiled; // slowest first
  std::vector<size_t> decisions;              // of each picture
  size_t classes = 0;                         // that the model tells apart
  std::vector<std::vector<double>> rounds;    // seconds of all runs by round
  std::vector<lab::Counts> counts;            // for each round: CPU time and hardware counts
  lab::Summary time;                          // time of a run, in seconds
  std::optional<lab::JudgedPair> speedup;     // time of the first timed row / time of this row
  /// Time of the same model in another runtime, on as many threads / time of this row; only for a native runtime.
  std::optional<lab::JudgedPair> overRuntime;

  bool timed() const { return reason.empty() && !rounds.empty(); }
};

/// Compiles the row, loads and verifies the package, and measures the cost of operators without kernels. The names of
/// its files begin with `stem`. A failure becomes the reason of the row. Throws Error for inputs that the model cannot
/// take.
void prepareRow(SweepRow &row, const std::string &stem, const InputOptions &inputs);

/// Loads the model of a row in its runtime, with the inputs of `ours`, a prepared row of the same model, and compares
/// the outputs. The names of its files begin with `stem`. A failure becomes the reason of the row.
void prepareRuntimeRow(SweepRow &row, const std::string &stem, const SweepRow &ours);

/// Classifies the pictures with a prepared row; does not change other rows. Throws Error for pictures that the model
/// cannot take.
void classifyRow(SweepRow &row, const SweepPictures &pictures);

/// The number of decisions that a row makes: one for each random crop, or for each whole picture.
size_t pictureCount(const SweepPictures &pictures);
/// The picture of the data set for decision `number`. The crops of one picture are consecutive.
const evaluate::LabelledPicture &pictureOf(const SweepPictures &pictures, size_t number);

} // namespace lathe::jobs
