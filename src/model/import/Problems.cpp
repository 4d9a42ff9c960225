#include "import/Problems.h"

#include <algorithm>

namespace lathe::source {

bool Problems::onlyNodes() const {
  return std::ranges::none_of(issues, [](const ImportIssue &issue) { return issue.op.empty(); });
}

void Problems::throwIfAny(const std::string &fileName, const char *versionWord) const {
  if (issues.empty())
    return;
  constexpr size_t shown = 3;
  std::string list;
  for (size_t i = 0; i < std::min(shown, issues.size()); ++i) {
    const ImportIssue &issue = issues[i];
    list += i ? "; " : "";
    if (!issue.node.empty() || !issue.op.empty())
      list += fmt::format("'{}' ({}, {} {}): ", issue.node, issue.op, versionWord, issue.opset);
    list += issue.reason;
  }
  if (issues.size() > shown)
    list += fmt::format("; and {} more", issues.size() - shown);
  throw UnsupportedError(fmt::format("{}: not supported: {}", fileName, list), issues);
}

} // namespace lathe::source
