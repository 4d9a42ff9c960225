// `lathe tune --all`: tunes models one after another, each in a process of its own, and states what that gained.
#pragma once

#include "jobs/Recording.h"
#include "jobs/tune/TunedModel.h"

#include <functional>

namespace lathe::jobs {

struct TuneAllOptions {
  std::string list;       // zoo:NAME or files, separated by commas; "": --all was not given
  ModelOptions common;    // without a model: how all are compiled
  Arguments tuneFlags;    // of `lathe tune`, without --threads, --budget and those about compiling
  double budget = 0;      // seconds of tuning a model; 0: no limit
  double maxSeconds = 20; // of timing a package beside ONNX Runtime
  bool again = false;     // tune models that are done, too
  std::string store;      // file; "": the default one
  std::string page;       // Markdown; "": none
  std::string command;    // as typed
};

struct TunedAll {
  std::vector<TunedModel> models; // in the order of the list
  std::string noPeer;             // why there is no comparison with ONNX Runtime; "": there is one
  std::string store, folder;      // where measurements and finished models are kept
  ProgramBuild build;
  bool failed = false; // a model could not be tuned or compared
};

/// Is called for model `i` of `count` when it is finished, with the seconds that are left for the others if they are known, and
/// for one that was `done` by an earlier run of the command.
using TuneAllWatch =
    std::function<void(size_t i, size_t count, const TunedModel &model, bool done, std::optional<double> secondsLeft)>;

/// Tunes the models that are not done yet. Throws Error, before anything is tuned, for an entry that is no model.
TunedAll tuneAll(const TuneAllOptions &all, TuneAllWatch watch);

} // namespace lathe::jobs
