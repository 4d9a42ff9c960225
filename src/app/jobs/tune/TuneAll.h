// `lathe tune --all`: tunes models one after another, each in a process of its own, and reports the gains.
#pragma once

#include "jobs/Recording.h"
#include "jobs/tune/TunedModel.h"

#include <functional>

namespace lathe::jobs {

struct TuneAllOptions {
  std::string list;       // value of --all: zoo:NAME or files, separated by commas; "": the flag was not given
  ModelOptions common;    // options of compilation for all models; the model itself is left empty
  Arguments tuneFlags;    // flags for `lathe tune`, without --threads, --budget and the flags about compiling
  double budget = 0;      // limit on the seconds of tuning one model; 0: no limit
  double maxSeconds = 20; // limit on the seconds of timing a package beside ONNX Runtime
  bool again = false;     // true: also tune models that an earlier run has finished
  std::string store;      // file of the store; "": the default store
  std::string page;       // Markdown file for the table; "": none
  std::string command;    // command line as typed
};

struct TunedAll {
  std::vector<TunedModel> models; // results by model, in the order of the list
  std::string noPeer;             // the reason why there is no comparison with ONNX Runtime; "": there is one
  std::string store, folder;      // file of the store; folder of the files of finished models
  ProgramBuild build;
  bool failed = false; // true: a model could not be tuned or compared
};

/// Function that is called when model `i` of `count` is finished. `done`: an earlier run of the command had finished
/// it. `secondsLeft`: the expected seconds for the other models, if known.
using TuneAllWatch =
    std::function<void(size_t i, size_t count, const TunedModel &model, bool done, std::optional<double> secondsLeft)>;

/// Tunes the models of the list that are not done yet. Throws Error, before anything is tuned, for an entry that is no
/// model.
TunedAll tuneAll(const TuneAllOptions &all, TuneAllWatch watch);

} // namespace lathe::jobs
