#include "support/ExtentRule.h"

#include "support/Error.h"

namespace lathe {
bool holds(Relation relation, int64_t left, int64_t right) {
  switch (relation) {
  case Relation::equal:
    return left == right;
  case Relation::oneOrEqual:
    return left == 1 || left == right;
  case Relation::atLeast:
    return left >= right;
  case Relation::divides:
    return left == right || (left > 0 && right % left == 0);
  case Relation::broadcasts:
    return left == right || left == 1 || right == 1;
  }
  return false;
}

std::string str(const ExtentRule &rule) {
  std::string left = rule.left.str(), right = rule.right.str();
  switch (rule.relation) {
  case Relation::equal:
    return fmt::format("{} equal to {}", left, right);
  case Relation::oneOrEqual:
    return fmt::format("{} equal to 1 or to {}", left, right);
  case Relation::atLeast:
    return fmt::format("{} at least {}", left, right);
  case Relation::divides:
    return fmt::format("{} a multiple of {}", right, left);
  case Relation::broadcasts:
    return fmt::format("{} equal to {}, or either of them 1", left, right);
  }
  return {};
}

} // namespace lathe
