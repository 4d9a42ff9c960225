// `lathe tune --all`: tunes models one after another, each in a process of its own, and states what that gained.
#pragma once

#include "cli/ModelFlags.h"

namespace lathe::cli {

struct TuneAllOptions {
  std::string list;       // zoo:NAME or files, separated by commas; "": --all was not given
  ModelFlags common;      // without a model: how all are compiled
  Arguments tuneFlags;    // of `lathe tune`, without --threads, --budget and those about compiling
  double budget = 0;      // seconds of tuning a model; 0: no limit
  double maxSeconds = 20; // of timing a package beside ONNX Runtime
  bool again = false;     // tune models that are done, too
  std::string store;      // file; "": the default one
  std::string page;       // Markdown; "": none
  std::string command;    // as typed

  /// Adds --all and the flags that only --all has.
  void add(Options &options);
};

/// Tunes the models that are not done yet, and prints and writes the results. Throws Error, before anything is tuned, for an
/// entry that is no model. Returns failedVerdict if a model could not be tuned or compared.
int tuneAll(const TuneAllOptions &all, const Options &options);

} // namespace lathe::cli
