// The rows of `lathe sweep`: how each is compiled, verified and classified before it is timed.
#pragma once

#include "cli/Recording.h"
#include "cli/samples/PictureFlags.h"
#include "cli/samples/Pictures.h"
#include "lab/judging/Turns.h"
#include "process/TemporaryDirectory.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::cli {

/// The pictures that every row of a sweep classifies; without --data there are none.
struct SweepPictures {
  DataFlags data;
  uint64_t seed = 0; // seed of random crops
  PictureFlags preprocessing;
  std::vector<std::string> names; // names of the classes; empty: unknown
  evaluate::Dataset set;          // the pictures, as DataFlags::read returns them
};

/// An operator that the package computes with its reference.
struct UncompiledOperator {
  std::string node, op, reason;
  double share = 0; // share of a run's time, in [0, 1]
};

/// A row of a sweep: one model at one level, layout, target and number of threads; or in another runtime.
struct SweepRow {
  ModelFlags model;                           // the model, with the level, layout, target and threads of the row
  std::string runtime;                        // runner that runs the model's own file (lab/compare/Runner.h); "": Lathe
  std::string title;                          // name of the runtime in tables: "tflite 2.14.0, native"
  bool foreignBuild = false;                  // the runtime's times do not represent a native build: no ratios
  bool done = false;                          // compiled and judged, or known to fail
  bool failed = false;                        // the compiler, the verification or the run failed
  bool ended = false;                         // its process failed during timing
  std::string reason;                         // why the row has no time; "" if it may have one
  std::string package;                        // path of the row's package
  nlohmann::json compiled;                    // output of `lathe compile --json`; null if that failed
  std::string verification;                   // "verified 2026-05-01: relative error 3.1e-07"
  std::optional<store::Point> point;          // the point for the store, without times
  std::map<std::string, std::string> inputs;  // paths of the files with the inputs, by name
  std::optional<runtime::Port> picture;       // the row's only input, if it has one and that is a tensor
  int64_t peakBytes = 0;                      // peak resident set of the timed process
  std::vector<UncompiledOperator> uncompiled; // operators that are computed by references, the slowest first
  std::vector<size_t> decisions;              // index of the decided class for each picture
  size_t classes = 0;                         // number of classes of the model
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
void prepareRow(SweepRow &row, const std::string &stem, const InputFlags &inputs);

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

} // namespace lathe::cli
