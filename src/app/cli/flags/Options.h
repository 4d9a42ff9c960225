// What the code of all verbs shares: exit codes, option parsing, JSON files, table styles.
#pragma once

#include "jobs/Common.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace lathe::cli {

using namespace jobs;
using jobs::readFile;
using jobs::toJson;
using jobs::writeFile;

struct Verb {
  const char *name;
  const char *summary;
  int (*run)(const Arguments &arguments);
};

/// Runs `body`, the code of a verb, and returns the exit code. An exception, or a failed write to standard output,
/// becomes one line on stderr that names the verb that the user typed (`shownVerb`).
int guarded(const std::string &verb, const std::function<int()> &body);

/// Runs `lathe GROUP VERB ...`: the first argument names the verb. With --help, prints the list of verbs.
int runSubVerb(const std::string &group, const std::string &summary, std::span<const Verb> verbs,
               const std::string &examples, const Arguments &arguments);

/// An option in the form in which the user gave it: "--precision bf16".
std::string spelled(const CLI::Option &option);

/// A section of the help for options that several verbs share. Options that are added to `app` while the object exists
/// are listed under `title`. All other options of a verb are listed under "Options".
class HelpSection {
public:
  HelpSection(CLI::App &app, const char *title) : app(app), before(app.option_defaults()->get_group()) {
    app.option_defaults()->group(title);
  }
  ~HelpSection() { app.option_defaults()->group(before); }
  HelpSection(const HelpSection &) = delete;
  HelpSection &operator=(const HelpSection &) = delete;

private:
  CLI::App &app;
  std::string before;
};

/// The parser for the options of one verb. `--help` prints `examples` below them.
class Options : public CLI::App {
public:
  /// What a flag about MODEL is about; this determines the kinds of MODEL to which the flag applies.
  enum class Scope { shape, zoo, import, custom, compile };
  struct ModelFlag {
    const CLI::Option *option;
    Scope scope;
  };
  // flags that addModel added, except --threads, which applies to every kind of MODEL
  std::vector<ModelFlag> modelFlags;

  Options(const std::string &verb, const std::string &summary, const std::string &examples);
  /// Parses the arguments and runs the checks. Throws CLI::ParseError (also for help), the errors of the checks, and
  /// Error for an output that cannot be written or that is an input of the command. `guarded` handles all of them.
  void parseAll(const Arguments &arguments);
  /// Adds a check that `parseAll` runs after parsing, in order of addition; for options that depend on each other or
  /// on files.
  void afterParse(std::function<void()> check);
  /// True if the user gave the option `name`. The verb must have this option.
  bool given(const char *name) const;
  /// Throws Error "--name value: REASON" for the first of the options `names` that the user gave. Verbs refuse options
  /// that would have no effect.
  void refuse(std::initializer_list<const char *> names, const std::string &reason) const;
  void addJson();
  /// Adds the flag --quiet, for verbs that print progress.
  void addQuiet();
  /// Adds an option for an output file. "-" is the standard output, which only one output may use.
  CLI::Option *addOutput(const std::string &flags, std::string &path, const std::string &help);
  /// Declares which files the command reads, so that no output overwrites them. parseAll calls `files` after parsing
  /// if the command writes a file.
  void reads(std::function<std::vector<std::string>()> files) { readers.push_back(std::move(files)); }
  /// Writes `document` to the file of the flag --json, if the user gave the flag ("-": standard output).
  void writeJson(const nlohmann::json &document) const;
  /// True if the verb may print text: not with --quiet, and not if JSON or another output uses the standard output.
  /// Removes the progress line from the terminal first.
  bool printsText() const;
  /// Adds the flag --wide, for verbs that print tables.
  void addWide();
  /// Adds the flags --quiet, --wide and --json.
  void addShowing();
  /// Style in which a verb prints tables: they fit the terminal unless --wide was given, and have at most `rows` rows
  /// (0: all).
  TableStyle tableStyle(size_t rows = 0) const;

private:
  struct Output {
    std::string flags;
    const std::string *path;
  };
  void requireOutputs() const;
  void requireKnownFlags(const Arguments &arguments) const;

  std::string jsonPath;
  bool quiet = false, onlyProgress = false, wide = false;
  std::vector<std::function<void()>> checks;
  std::vector<Output> outputs;
  std::vector<std::function<std::vector<std::string>()>> readers;
};

} // namespace lathe::cli
