// Rules over extents: conditions that two extents must satisfy once their symbols have values.
//
// A shape function states every comparison of extents with a `Relation` (ops/ShapeRules.h).
// Constant extents are checked at once. A comparison that depends on symbols becomes a rule: the
// compiler writes it into the plan, and the runtime checks it when inputs are bound, before
// anything runs.
#pragma once

#include "support/Dim.h"

#include <cstdint>
#include <string>

namespace lathe {

/// A relation between two extents, left and right. The numbers are stored in packages: append only.
enum class Relation : uint8_t {
  equal = 0,      // left == right
  oneOrEqual = 1, // left == 1 or left == right: left broadcasts to right
  atLeast = 2,    // left >= right
  divides = 3,    // left == right, or left > 0 and right is a multiple of left
  broadcasts = 4, // left == right, or one of them is 1
};
inline constexpr uint8_t relationCount = 5;

struct ExtentRule {
  Relation relation = Relation::equal;
  Dim left, right;
};

bool holds(Relation relation, int64_t left, int64_t right);

/// The relation that a rule expects, as text for messages: "N equal to M", "N equal to 1 or 4", "N at least 1", "2*N a
/// multiple of 4", "N equal to M, or either of them 1".
std::string str(const ExtentRule &rule);

} // namespace lathe
