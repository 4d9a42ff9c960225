// What every verb shares: exit codes, option parsing, JSON files, how tables are shown.
#pragma once

#include "support/Error.h"
#include "support/Table.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace lathe::cli {

/// Exit codes of every verb (documented in docs/cli.md and `lathe --help`).
enum ExitCode {
  success = 0,
  failedVerdict = 1, // the verb did its work and the answer is no: unsupported, mismatch, mistrusted
  userError = 2,     // a wrong model, file, flag or value: one line on stderr
  internalError = 3, // our mistake
};

/// Arguments after the verb.
using Arguments = std::vector<std::string>;

struct Verb {
  const char *name;
  const char *summary;
  int (*run)(const Arguments &arguments);
};

/// A `lathe` of our own failed, and has said why: its exit code becomes ours.
struct ChildFailed {
  int exitCode;
};

/// Runs `body` and turns what it throws, and a standard output that could not be written, into a line on stderr and an
/// exit code. Lines name the verb that was typed (`shownVerb`).
int guarded(const std::string &verb, const std::function<int()> &body);

/// The verb that the user typed: `verb`, or in a process that another verb started (runSelf) that one. With "" for
/// `verb`: that of the innermost `guarded`.
std::string shownVerb(const std::string &verb);

/// Runs the verb of `group` that the first argument names: `lathe GROUP VERB ...`. With --help, lists the verbs.
int runSubVerb(const std::string &group, const std::string &summary, std::span<const Verb> verbs,
               const std::string &examples, const Arguments &arguments);

/// "--precision bf16": an option as it was given.
std::string spelled(const CLI::Option &option);

/// The options of one verb: `--help` shows `examples` below them.
class Options : public CLI::App {
public:
  Options(const std::string &verb, const std::string &summary, const std::string &examples);
  /// Throws CLI::ParseError (help included), what the checks throw, and Error for an output that cannot be written or
  /// that is a file the command reads; `guarded` handles them.
  void parseAll(const Arguments &arguments);
  /// Adds a check of options that depend on each other or on files. `parseAll` runs the checks in this order.
  void afterParse(std::function<void()> check);
  /// True when the option was given. The name must exist.
  bool given(const char *name) const;
  /// Throws Error "--name value: REASON" for the first of these options that was given: no option is ignored.
  void refuse(std::initializer_list<const char *> names, const std::string &reason) const;
  void addJson();
  /// --quiet, for verbs that print progress.
  void addQuiet();
  /// An option whose value names a file to write; "-" is the standard output, which one output may have.
  CLI::Option *addOutput(const std::string &flags, std::string &path, const std::string &help);
  /// `files` names files that the command reads; it is called by parseAll, when the options have their values, and only
  /// when the command writes something.
  void reads(std::function<std::vector<std::string>()> files) { readers.push_back(std::move(files)); }
  /// Writes `document` where --json says, if it does ("-": standard output).
  void writeJson(const nlohmann::json &document) const;
  /// False with --quiet, and when the JSON document or another output goes to standard output, which then holds nothing
  /// else. Takes a progress line off the terminal first.
  bool printsText() const;
  /// Adds --wide, for a verb that prints tables.
  void addWide();
  /// Tables fit the terminal unless --wide was given. `rows`: at most.
  TableStyle tableStyle(size_t rows = 0) const;

private:
  struct Output {
    std::string flags;
    const std::string *path;
  };
  void requireOutputs() const;

  std::string jsonPath;
  bool quiet = false, onlyProgress = false, wide = false;
  std::vector<std::function<void()>> checks;
  std::vector<Output> outputs;
  std::vector<std::function<std::vector<std::string>()>> readers;
};

/// The flag for a `lathe` of our own whose text nobody reads: it prints its progress, or nothing when this process was
/// told --quiet.
std::string quietFlag();

/// "12.3 MB", "4.56 GFLOP", "1.20 ms".
std::string bytesText(double bytes);
std::string flopsText(double flops);
std::string secondsText(double seconds);
/// "40 s", "12 min", "3.5 h": of waiting.
std::string waitText(double seconds);

/// The file is an input of this process: no output replaces it (support/PendingFile.h).
std::string readFile(const std::string &path);
/// "-": standard output.
void writeFile(const std::string &path, const std::string &text);
/// Throws Error where `path` means the standard output and that is a terminal. `what`: "a package".
void requireNoTerminal(const std::string &path, const std::string &what);

} // namespace lathe::cli
