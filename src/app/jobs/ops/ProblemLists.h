// The lists of problems in which --suite is looked up.
#pragma once

#include <string>
#include <vector>

namespace lathe::jobs {

/// Returns `given` if it is not "". Otherwise returns the lists installed with this program and the lists of the test
/// data ($LATHE_TEST_DATA, or ../shared). Throws Error if there is none.
std::vector<std::string> problemLists(const std::string &given);

/// Returns the words that a shell offers to complete --suite: the suites of the installed lists, and `list`.
std::vector<std::string> offeredSuites();

} // namespace lathe::jobs
