// What reaches the user's terminal. Names in models, files, stores and messages of other programs come from strangers:
// no terminal may take them as commands.
#pragma once

#include <string>
#include <string_view>

namespace lathe::cli {

/// From now on std::cout writes control characters other than line ends and tabs, and bytes that are no UTF-8, as \xNN.
/// Output that must stay as it is (archives, arrays, packages) goes to the file descriptor (support/PendingFile.h).
void makeOutputPrintable();

/// errno of the first write to std::cout that did not succeed; 0: none failed.
int outputError();

/// One line on standard error, whatever is in it.
void say(std::string_view line);

} // namespace lathe::cli
