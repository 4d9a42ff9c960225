// Shared code of all verbs: exit codes, option parsing, JSON files, table styles.
#pragma once

#include "support/Dim.h"
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
  failedVerdict = 1, // a verdict is negative: unsupported, mismatch, mistrusted
  userError = 2,     // a model, file, flag or value is wrong; one line on stderr says which
  internalError = 3, // Lathe has a defect
};

/// Arguments of the command line after the verb.
using Arguments = std::vector<std::string>;

struct Verb {
  const char *name;
  const char *summary;
  int (*run)(const Arguments &arguments);
};

/// Thrown when a `lathe` process that this process started has failed. It has printed its message; its exit code
/// becomes the exit code of this process.
struct ChildFailed {
  int exitCode;
};

/// Runs `body` and returns the exit code. An exception, or a failed write to standard output,
/// becomes one line on stderr that names the verb that the user typed (`shownVerb`).
int guarded(const std::string &verb, const std::function<int()> &body);

/// Prints "lathe VERB: MESSAGE" on stderr. If this process was started by another one (trySelf), also writes the
/// message to the file that LATHE_ERROR_FILE names, from which the other process reads it.
void sayError(const std::string &verb, const std::string &message);
inline constexpr const char *errorFileVariable = "LATHE_ERROR_FILE";

/// Returns the verb that the user typed: the verb of the process that started this one (runSelf), or `verb`. "" means
/// the verb of the innermost `guarded`.
std::string shownVerb(const std::string &verb);

/// Runs `lathe GROUP VERB ...`: the first argument names the verb. With --help, lists the verbs.
int runSubVerb(const std::string &group, const std::string &summary, std::span<const Verb> verbs,
               const std::string &examples, const Arguments &arguments);

/// An option in the form in which it was given: "--precision bf16".
std::string spelled(const CLI::Option &option);

/// A section of the help for options that several verbs share. Options that are added to `app` while the object exists are
/// listed under `title`. All other options of a verb are listed under "Options".
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
  Options(const std::string &verb, const std::string &summary, const std::string &examples);
  /// Parses the arguments and runs the checks. Throws CLI::ParseError (also for help), the errors of the checks, and
  /// Error for an output that cannot be written or that is an input of the command. `guarded` handles all of them.
  void parseAll(const Arguments &arguments);
  /// Adds a check that `parseAll` runs after parsing, in order of addition; for options that depend
  /// on each other or on files.
  void afterParse(std::function<void()> check);
  /// True if the option `name` was given. The verb must have this option.
  bool given(const char *name) const;
  /// Throws Error "--name value: REASON" for the first of these options that was given. Verbs refuse options that would
  /// have no effect.
  void refuse(std::initializer_list<const char *> names, const std::string &reason) const;
  void addJson();
  /// Adds the flag --quiet, for verbs that print progress.
  void addQuiet();
  /// Adds an option for an output file. "-" is the standard output, which only one output may use.
  CLI::Option *addOutput(const std::string &flags, std::string &path, const std::string &help);
  /// Tells which files the command reads, so that no output overwrites them. parseAll calls `files` after parsing if
  /// the command writes a file.
  void reads(std::function<std::vector<std::string>()> files) { readers.push_back(std::move(files)); }
  /// Writes `document` to the file of --json, if given ("-": standard output).
  void writeJson(const nlohmann::json &document) const;
  /// True if text may be printed: not with --quiet, and not when JSON or another output uses the
  /// standard output. Removes the progress line from the terminal first.
  bool printsText() const;
  /// Adds the flag --wide, for verbs that print tables.
  void addWide();
  /// The style of tables: they fit the terminal unless --wide was given, and have at most `rows` rows (0: all).
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

/// The value of an extent when every symbol is 1.
inline double atOne(const Dim &dim) {
  return static_cast<double>(dim.evaluate([](const std::string &) -> int64_t { return 1; }));
}

/// All rows of a table as objects, with the names of the data columns as keys. A cell without a separate value gives
/// its text; in a number column it gives a number if the text is one, and null if the text is empty.
nlohmann::json toJson(const Table &table);
/// A cell with a text and a separate value: valueCell("12.3 MB", 12300000).
TableCell valueCell(std::string text, const nlohmann::json &value);

/// The flag for a `lathe` process that this process starts without showing its text: it prints progress only, or
/// nothing after --quiet.
std::string quietFlag();

/// A number with its unit, for messages and tables: "12.3 MB", "4.56 GFLOP", "1.20 ms".
std::string bytesText(double bytes);
std::string flopsText(double flops);
std::string secondsText(double seconds);
/// Seconds as milliseconds for a table: four decimals, or more for short times, so that three digits remain.
std::string millisecondsText(double seconds);
/// A waiting time as text: "40 s", "12 min", "3.5 h".
std::string waitText(double seconds);

/// Reads a file and protects it from being overwritten by an output (support/PendingFile.h).
std::string readFile(const std::string &path);
/// Writes a text to a file; "-" is the standard output.
void writeFile(const std::string &path, const std::string &text);
/// Throws Error if `path` is the standard output and this is a terminal. `what`: what would be written, "a package".
void requireNoTerminal(const std::string &path, const std::string &what);

} // namespace lathe::cli
