// The lists of problems that --suite searches.
#pragma once

#include <string>
#include <vector>

namespace lathe::jobs {

/// Returns `given` if it is not "", otherwise the lists installed with this program and the lists of the test data
/// ($LATHE_TEST_DATA, or ../shared). Throws Error if there is none.
std::vector<std::string> problemLists(const std::string &given);

/// Words that shells offer for --suite: the suites of the installed lists, and `list`.
std::vector<std::string> offeredSuites();

} // namespace lathe::jobs
