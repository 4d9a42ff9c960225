// What `lathe ops bench` is told: problems, providers and the axes of settings.
#pragma once

#include "cli/Common.h"
#include "lab/ops/OpsLab.h"

namespace lathe::cli {

struct OpsFlags {
  std::string kind, providers, threads = "1", types = "f32", batches, caches = "hot";
  std::string layouts = "any", schedules = "default";
  std::string epilogue, problems, model, log;
  std::vector<std::string> texts, suites;
  int repetitions = 8;
  bool list = false, dryRun = false, fresh = false;
  double minutes = 0;
  lab::OpsLabOptions bench;

  void add(Options &options);
  /// Throws Error for a flag that others leave nothing to do.
  void requireHonoured(const Options &options) const;
  /// After parsing: fills in what follows from the flags. Returns what the user should know of that (which providers
  /// were chosen where none is named and the usual peer is missing); "" mostly.
  std::string finish();
  /// True for `--suite list`.
  bool listsSuites() const { return suites == std::vector<std::string>{"list"}; }
  /// The lists in which --suite looks.
  std::vector<std::string> problemLists() const;

  /// Every problem asked for, with every type and batch, each once.
  std::vector<lab::ListedProblem> listed() const;
  /// Every combination of threads, caches and layouts.
  std::vector<lab::OpsSetting> settings() const;
  /// As lab::OpsColumn's: "" for the default.
  std::vector<std::string> scheduleList() const;
  /// True when a schedule is to be read from the store.
  bool readsRecords() const;
  /// The providers' columns for an operator, --via and --schedule included.
  std::vector<lab::OpsColumn> columns(const std::string &op) const;
  /// A command that measures the row again.
  std::string repro(const lab::ListedProblem &entry, const lab::OpsSetting &setting) const;
};

/// A model as the compiler lists its operators.
struct ListedModel {
  std::vector<lab::ListedProblem> problems;
  std::string source; // what a package compiled from it says that it is
};
ListedModel listModel(const std::string &model);

} // namespace lathe::cli
