// Output to the terminal. Names in models, files, stores and messages of other programs are
// untrusted, and a terminal must not interpret them.
#pragma once

#include <string>
#include <string_view>

namespace lathe::jobs {

/// Makes std::cout write control characters (except line ends and tabs) and invalid UTF-8 as \xNN. Binary output
/// (archives, arrays, packages) uses the file descriptor instead (support/PendingFile.h).
void makeOutputPrintable();

/// errno of the first write to std::cout that failed; 0: none failed.
int outputError();

/// Prints one line on standard error; control characters are escaped.
void say(std::string_view line);
/// Prints one line like `say`, but only once for a command and its child processes. The environment variable
/// `variable` remembers that it was printed.
void sayOnce(const char *variable, std::string_view line);

} // namespace lathe::jobs
