#include "jobs/ops/ProblemLists.h"

#include "lab/problems/ProblemList.h"
#include "support/Error.h"

#include <cstdlib>
#include <filesystem>

namespace lathe::jobs {

std::vector<std::string> problemLists(const std::string &given) {
  if (!given.empty())
    return {given};
  std::vector<std::string> lists = lab::shippedLists();
  const char *data = std::getenv("LATHE_TEST_DATA");
  for (const char *name : {"conv2d.csv", "gemm.csv"})
    for (const std::string &folder : {std::string(data ? data : ""), std::string("../shared")})
      if (std::string list = folder + "/problems/" + name; !folder.empty() && std::filesystem::exists(list)) {
        lists.push_back(list);
        break;
      }
  require(!lists.empty(), "--suite: no problem list is installed: give one with --problems CSV");
  return lists;
}

std::vector<std::string> offeredSuites() {
  std::vector<std::string> words = {"list"};
  try {
    for (const lab::SuiteSummary &suite : lab::suitesOf(lab::shippedLists()))
      words.push_back(suite.name);
  } catch (const Error &) { // a damaged list is reported when it is used
  }
  return words;
}

} // namespace lathe::jobs
