// What jobs share: lines for people, files, numbers as text, tables as JSON. A job returns its result and prints nothing of
// it; progress and notes go to standard error.
#pragma once

#include "support/Dim.h"
#include "support/Error.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace lathe::jobs {

/// Exit codes of every verb (documented in docs/cli.md and `lathe --help`).
enum ExitCode {
  success = 0,
  failedVerdict = 1, // negative verdict: unsupported, mismatch, mistrusted
  userError = 2,     // wrong model, file, flag or value; one line on stderr
  internalError = 3, // a defect of Lathe
};

/// Words of a command line after `lathe`, or after the verb.
using Arguments = std::vector<std::string>;

/// Thrown when a `lathe` process that this process started has failed and printed its message. Its
/// exit code becomes the exit code of this one.
struct ChildFailed {
  int exitCode;
};

/// Prints "lathe VERB: MESSAGE" on stderr. Writes the message to the file that the environment variable names, too: the
/// process that started this one reads it there (trySelf).
void sayError(const std::string &verb, const std::string &message);
inline constexpr const char *errorFileVariable = "LATHE_ERROR_FILE";

/// The verb that the user typed: the one of the process that started this one (runSelf), else of the last enterVerb.
std::string shownVerb();
/// Declares that this process does a verb. Returns the verb that the user typed.
std::string enterVerb(const std::string &verb);

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

/// The words of a list whose separator is a comma; one empty word of an empty list.
std::vector<std::string> wordsOf(const std::string &list);

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

} // namespace lathe::jobs
