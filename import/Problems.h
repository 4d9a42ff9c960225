// What a format's operators ask for beyond the operator set: collected over the whole model, thrown once.
#pragma once

#include "support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

/// One node that cannot be imported.
struct ImportIssue {
  std::string node;  // name; "" for an input of the graph
  std::string op;    // the format's operator
  int64_t opset = 0; // version of the operator set that the node is of
  std::string type;  // element type of its first operand; "" where unknown
  std::string reason;
};

/// The model is well-formed, but these nodes (all of them) are beyond the operator set.
class UnsupportedError : public Error {
public:
  UnsupportedError(const std::string &message, std::vector<ImportIssue> found)
      : Error(message), issues(std::move(found)) {}
  std::vector<ImportIssue> issues;
};

namespace source {

/// Thrown by importers of nodes: the node is well-formed but beyond the operator set.
struct Unsupported {
  std::string reason;
};

class Problems {
public:
  void add(ImportIssue issue) { issues.push_back(std::move(issue)); }
  /// Throws UnsupportedError when there is any, naming the first three. `versionWord` is what the format calls the
  /// version of an operator set.
  void throwIfAny(const std::string &fileName, const char *versionWord) const;

private:
  std::vector<ImportIssue> issues;
};

} // namespace source
} // namespace lathe
