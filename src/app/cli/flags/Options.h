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
  failedVerdict = 1, // negative verdict: unsupported, mismatch, mistrusted
  userError = 2,     // wrong model, file, flag or value; one line on stderr
  internalError = 3, // a defect of Lathe
};

/// Arguments after the verb.
using Arguments = std::vector<std::string>;

struct Verb {
  const char *name;
  const char *summary;
  int (*run)(const Arguments &arguments);
};

/// Thrown when a `lathe` process that this process started has failed and printed its message. Its
/// exit code becomes ours.
struct ChildFailed {
  int exitCode;
};

/// Runs `body` and returns the exit code. An exception, or a failed write to standard output,
/// becomes one line on stderr that names the verb that the user typed (`shownVerb`).
int guarded(const std::string &verb, const std::function<int()> &body);

/// Prints "lathe VERB: MESSAGE" on stderr. Writes the message to the file that the environment variable names, too: the
/// process that started this one reads it there (trySelf).
void sayError(const std::string &verb, const std::string &message);
inline constexpr const char *errorFileVariable = "LATHE_ERROR_FILE";

/// The verb that the user typed: `verb`, or the verb of the process that started this one
/// (runSelf). "" means the verb of the innermost `guarded`.
std::string shownVerb(const std::string &verb);

/// Runs `lathe GROUP VERB ...`: the first argument names the verb. With --help, lists the verbs.
int runSubVerb(const std::string &group, const std::string &summary, std::span<const Verb> verbs,
               const std::string &examples, const Arguments &arguments);

/// An option as it was given: "--precision bf16".
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

/// The options of one verb. `--help` prints `examples` below them.
class Options : public CLI::App {
public:
  Options(const std::string &verb, const std::string &summary, const std::string &examples);
  /// Parses the arguments and runs the checks. Throws CLI::ParseError (also for help), the errors
  /// of the checks, and Error for an output that cannot be written or that is an input of the
  /// command. `guarded` handles all of them.
  void parseAll(const Arguments &arguments);
  /// Adds a check that `parseAll` runs after parsing, in order of addition; for options that depend
  /// on each other or on files.
  void afterParse(std::function<void()> check);
  /// True if the option was given. The name must exist.
  bool given(const char *name) const;
  /// Throws Error "--name value: REASON" for the first of these options that was given: no option is ignored.
  void refuse(std::initializer_list<const char *> names, const std::string &reason) const;
  void addJson();
  /// Adds --quiet, for verbs that print progress.
  void addQuiet();
  /// Adds an option for an output file. "-" is the standard output, which only one output may use.
  CLI::Option *addOutput(const std::string &flags, std::string &path, const std::string &help);
  /// Declares input files of the command. parseAll calls `files` after parsing, if the command
  /// writes a file.
  void reads(std::function<std::vector<std::string>()> files) { readers.push_back(std::move(files)); }
  /// Writes `document` to the file of --json, if given ("-": standard output).
  void writeJson(const nlohmann::json &document) const;
  /// True if text may be printed: not with --quiet, and not when JSON or another output uses the
  /// standard output. Removes the progress line from the terminal first.
  bool printsText() const;
  /// Adds --wide, for verbs that print tables.
  void addWide();
  /// Style of tables: they fit the terminal unless --wide was given, and have at most `rows` rows
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

/// The number where every symbol is 1.
inline double atOne(const Dim &dim) {
  return static_cast<double>(dim.evaluate([](const std::string &) -> int64_t { return 1; }));
}

/// All rows of a table as objects, with the names of the data columns as keys. A cell without a value
/// of its own gives its text; in a number column it gives a number where the text reads as one, and
/// null where the text is empty.
nlohmann::json toJson(const Table &table);
/// A cell with a value of its own: valueCell("12.3 MB", 12300000).
TableCell valueCell(std::string text, const nlohmann::json &value);

/// Flag for a `lathe` process that this process starts and whose text nobody reads: prints progress
/// only, or nothing after --quiet.
std::string quietFlag();

/// "12.3 MB", "4.56 GFLOP", "1.20 ms".
std::string bytesText(double bytes);
std::string flopsText(double flops);
std::string secondsText(double seconds);
/// Milliseconds for a table: four digits behind the point, or as many as three digits of a shorter time take.
std::string millisecondsText(double seconds);
/// A waiting time: "40 s", "12 min", "3.5 h".
std::string waitText(double seconds);

/// Reads a file and protects it from being overwritten by an output (support/PendingFile.h).
std::string readFile(const std::string &path);
/// Writes a file; "-" is the standard output.
void writeFile(const std::string &path, const std::string &text);
/// Throws Error if `path` is the standard output and that is a terminal. `what`: "a package".
void requireNoTerminal(const std::string &path, const std::string &what);

} // namespace lathe::cli
