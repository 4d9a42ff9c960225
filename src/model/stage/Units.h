// The order in which a function of staged source computes the operations of a graph: the operations of a group
// together, other operations one by one.
#pragma once

#include "stage/BlockFunction.h"

namespace lathe::staging {

/// A unit of this order: a single operation, or an occurrence of a group.
struct Unit {
  mlir::Operation *operation = nullptr; // null: the unit is an occurrence
  size_t group = 0, occurrence = 0;
};

/// Orders the operations of `main`, without constants, so that every unit reads only earlier units: in program order
/// if possible. Removes groups from `groups` that cannot be computed in one piece.
std::vector<Unit> unitsInOrder(mlir::func::FuncOp main, std::vector<Group> &groups);

/// Makes groups with one occurrence each: consecutive units that are single operations with names in one scope.
std::vector<Group> scopeGroups(const std::vector<Unit> &units);

} // namespace lathe::staging
