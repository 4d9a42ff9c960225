// Options of `lathe ops bench`: the problems, providers and settings that it measures.
#pragma once

#include "jobs/Recording.h"
#include "jobs/ResourceOptions.h"
#include "lab/ops/OpsLab.h"
#include "lab/problems/ProblemSyntax.h"

namespace lathe::jobs {

struct OpsOptions {
  std::string kind, providers, threads = "1", types = "f32", batches, caches = "hot";
  std::string layouts = "any", schedules = "default";
  std::string epilogue, problems, model, log;
  std::vector<std::string> texts, suites;
  std::vector<std::string> beside; // problems that run beside, each KIND:TEXT or a text like those of the measured ones
  int besideThreads = 1, besideRuns = 3;
  std::string besidePlace = "any";
  int repetitions = 8;
  bool list = false, dryRun = false, fresh = false;
  double minutes = 0;
  lab::OpsLabOptions bench;
  RecordOptions record;
  ResourceOptions resources;
  Arguments command; // of `lathe ops bench`, as the store keeps them

  /// Completes the options.
  void finish();
  /// Says on stderr what the completion chose for the user (the providers, if none is named and oneDNN is missing), and
  /// which verdicts so few starts never give. Call it after all options were checked: an error is one line.
  void sayNotes() const;
  /// True if the only --suite is `list`, which lists the suites.
  bool listsSuites() const { return suites == std::vector<std::string>{"list"}; }

  /// Returns all requested problems, for every requested type and batch, without duplicates.
  std::vector<lab::ListedProblem> listed() const;
  /// Returns all combinations of the requested resources, numbers of threads, states of caches and layouts, each with
  /// all company.
  std::vector<lab::OpsSetting> settings() const;
  /// Returns the requested schedules in the form of OpsColumn::schedule: "" for the default schedule.
  std::vector<std::string> scheduleList() const;
  /// True if a requested schedule must be read from the store's tuning records.
  bool readsRecords() const;
  /// Returns the columns of a table row for an operator: the requested providers, with --via and --schedule.
  std::vector<lab::OpsColumn> columns(const std::string &op) const;
  /// Returns a command that measures the row again. `store`: the store whose records the command must read; "": the
  /// default store.
  std::string repro(const lab::ListedProblem &entry, const lab::OpsSetting &setting, const std::string &store) const;

private:
  std::vector<std::string> notes;

  /// A message if verdicts are impossible with --starts and --max-starts; "" if they are possible.
  std::string startsNote() const;
  /// Chooses providers if none is named. Returns a message if oneDNN is not among them, "" otherwise.
  std::string chooseProviders();
  /// Adds the companions and the CPUs of both sides to a setting. Throws Error if there are too few CPUs.
  void addCompany(lab::OpsSetting &setting) const;
  /// Returns the problems that a word of --beside requests: several if it has ranges.
  std::vector<lab::Problem> companionsOf(const std::string &word) const;
  /// Returns the properties that short problem texts do not state, for one word of --type.
  lab::SyntaxOptions syntaxOf(const std::string &typeName) const;
  /// Returns the problems that the options request by texts and suites, with operands of the type `typeName`, a word
  /// of --type.
  std::vector<lab::ListedProblem> ofType(const std::string &typeName) const;
  /// Returns the members of `entries` whose operator is of the requested kind, or all if no kind is requested. Throws
  /// Error if there is none; `source` says where the entries are from.
  std::vector<lab::ListedProblem> ofKind(std::vector<lab::ListedProblem> entries, const std::string &source,
                                         const lab::SyntaxOptions &syntax) const;
};

/// True for a problem text in the short form of a kind, in which the operands are not named.
bool isShort(const std::string &text);

/// The operators of a model, as the compiler lists them.
struct ListedModel {
  std::vector<lab::ListedProblem> problems;
  std::string source; // for a package: the text about its source model that the compiler stored in it
};
ListedModel listModel(const std::string &model);

} // namespace lathe::jobs
