// What jobs (the code of verbs) share: lines for users, files, numbers as text, tables as JSON. A job returns its
// result and does not print it; progress and notes go to standard error.
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
  failedVerdict = 1, // the answer is negative: unsupported, mismatch, mistrusted
  userError = 2,     // the model, a file, a flag or a value is wrong; one line on stderr says which
  internalError = 3, // there is a defect in Lathe
};

/// Words of a command line after `lathe`, or after the verb.
using Arguments = std::vector<std::string>;

/// Thrown when a `lathe` process that this process started has failed and printed its message. The exit code of that
/// process becomes the exit code of this process.
struct ChildFailed {
  int exitCode;
};

/// Prints "lathe VERB: MESSAGE" on stderr. If the environment variable errorFileVariable names a file, writes the
/// message to it, too: the process that started this one reads it there (trySelf).
void sayError(const std::string &verb, const std::string &message);
inline constexpr const char *errorFileVariable = "LATHE_ERROR_FILE";

/// The verb that the user typed: that of the process that started this process (runSelf), else of the last call of
/// enterVerb.
std::string shownVerb();
/// Declares that this process executes `verb`. Returns the verb that the user typed.
std::string enterVerb(const std::string &verb);

/// The value of an extent where every symbol is 1.
inline double atOne(const Dim &dim) {
  return static_cast<double>(dim.evaluate([](const std::string &) -> int64_t { return 1; }));
}

/// All rows of a table as objects, with the names of the data columns as keys. A cell without a value
/// of its own gives its text; in a number column it gives a number where the text reads as one, and
/// null where the text is empty.
nlohmann::json toJson(const Table &table);
/// A table cell whose JSON value differs from its text: valueCell("12.3 MB", 12300000).
TableCell valueCell(std::string text, const nlohmann::json &value);

/// Flag for a `lathe` process that this process starts and whose output nobody reads: makes it print progress only, or
/// nothing after --quiet.
std::string quietFlag();

/// The words of a comma-separated list; for an empty list, one empty word.
std::vector<std::string> wordsOf(const std::string &list);

/// Quantities as text: "12.3 MB", "4.56 GFLOP", "1.20 ms".
std::string bytesText(double bytes);
std::string flopsText(double flops);
std::string secondsText(double seconds);
/// A time in milliseconds as text for a table: four digits after the point, or more, so that a short time has three
/// significant digits.
std::string millisecondsText(double seconds);
/// A waiting time as text: "40 s", "12 min", "3.5 h".
std::string waitText(double seconds);

/// Reads a file and protects it from being overwritten by an output (support/PendingFile.h).
std::string readFile(const std::string &path);
/// Writes `text` to a file; "-" is the standard output.
void writeFile(const std::string &path, const std::string &text);
/// Throws Error if `path` is the standard output ("-") and that is a terminal. `what` names the output in the message:
/// "a package".
void requireNoTerminal(const std::string &path, const std::string &what);

} // namespace lathe::jobs
