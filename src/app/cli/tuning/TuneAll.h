// `lathe tune --all`: tunes models one after another, each in a separate process, and reports the gains.
#pragma once

#include "cli/ModelFlags.h"

namespace lathe::cli {

struct TuneAllOptions {
  std::string list;       // zoo:NAME or files, separated by commas; "": --all was not given
  ModelFlags common;      // flags for all compilations; names no model
  Arguments tuneFlags;    // flags of `lathe tune` without --threads, --budget and compilation flags
  double budget = 0;      // seconds of tuning a model; 0: no limit
  double maxSeconds = 20; // seconds for comparing a package with ONNX Runtime
  bool again = false;     // true: also tune models that are finished already
  std::string store;      // file or URL of the store; "": the default store
  std::string page;       // path of the page (Markdown); "": none is written
  std::string command;    // command line as typed

  /// Adds --all and the flags that belong to --all only.
  void add(Options &options);
};

/// Tunes the models that are not finished yet, and prints and writes the results. Throws Error, before anything is
/// tuned, for an entry that is not a model. Returns failedVerdict if a model could not be tuned or compared.
int tuneAll(const TuneAllOptions &all, const Options &options);

} // namespace lathe::cli
