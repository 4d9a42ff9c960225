// The order in which a function of the source computes the operations of a graph: groups together, other operations one
// by one.
#pragma once

#include "stage/BlockFunction.h"

namespace lathe::staging {

/// An operation, or an occurrence of a group.
struct Unit {
  mlir::Operation *operation = nullptr; // null: an occurrence
  size_t group = 0, occurrence = 0;
};

/// The operations of @main without constants, in an order in which every unit reads only earlier units: program order
/// if possible. Groups that cannot be computed in one part are removed from `groups`.
std::vector<Unit> unitsInOrder(mlir::func::FuncOp main, std::vector<Group> &groups);

/// Groups of one occurrence: consecutive units that are single operations with names in one scope.
std::vector<Group> scopeGroups(const std::vector<Unit> &units);

} // namespace lathe::staging
