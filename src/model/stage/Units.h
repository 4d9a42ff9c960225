// The order in which a function of the source computes the operations of a graph: groups at once, the others one by one.
#pragma once

#include "stage/BlockFunction.h"

namespace lathe::staging {

/// An operation, or an occurrence of a group.
struct Unit {
  mlir::Operation *operation = nullptr; // null: the occurrence
  size_t group = 0, occurrence = 0;
};

/// The operations of @main without constants, in an order in which every unit reads only earlier units: program order
/// where possible. A group that has to be computed in several parts is left out of `groups`.
std::vector<Unit> unitsInOrder(mlir::func::FuncOp main, std::vector<Group> &groups);

/// Groups of one occurrence: runs of units, each one operation, whose names are in one scope.
std::vector<Group> scopeGroups(const std::vector<Unit> &units);

} // namespace lathe::staging
