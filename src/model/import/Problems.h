// Nodes that cannot be imported: collected over the whole model and reported once.
#pragma once

#include "support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

/// One node that cannot be imported.
struct ImportIssue {
  std::string node;  // name of the node; "" for an input of the graph
  std::string op;    // name of the operator in the source format: "Conv"
  int64_t opset = 0; // version of the operator set that the node belongs to
  std::string type;  // element type of the node's first operand; "" where unknown
  std::string reason;
};

/// Thrown for a well-formed model with nodes that Lathe does not support; lists all of them.
class UnsupportedError : public Error {
public:
  UnsupportedError(const std::string &message, std::vector<ImportIssue> found)
      : Error(message), issues(std::move(found)) {}
  std::vector<ImportIssue> issues;
};

namespace source {

/// Thrown by a function that imports an operator, for a well-formed node that Lathe does not support.
struct Unsupported {
  std::string reason;
};

class Problems {
public:
  void add(ImportIssue issue) { issues.push_back(std::move(issue)); }
  bool onlyNodes() const; // true if no input or output of the graph is among the issues
  /// Throws UnsupportedError if there are any issues; the message names the first three. `versionWord` is the word for
  /// the version of an operator set in messages.
  void throwIfAny(const std::string &fileName, const char *versionWord) const;

private:
  std::vector<ImportIssue> issues;
};

} // namespace source
} // namespace lathe
