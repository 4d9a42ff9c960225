// Writes those statements of random programs that have no subgraphs: arithmetic, selections whose extents are known
// only at run time, numbers, conditions, sequences and optionals.
#pragma once

#include "tests/programs/ProgramWriter.h"

namespace lathe {

/// Names of the values of a graph that later statements may read, by kind of value.
struct Visible {
  using Names = std::vector<std::string>;
  Names rows;      // f32, one or more rows of 4 numbers
  Names maybe;     // f32, any number of rows of 4 numbers, perhaps none
  Names steps;     // f32, scanned results of rank 3
  Names numbers;   // i64 scalars, 0 to 6
  Names lists;     // sequences of f32 tensors with any number of rows of 4 numbers; never empty
  Names optionals; // f32 rows or nothing
};

class ProgramValues : public ProgramWriter {
public:
  using ProgramWriter::ProgramWriter;

protected:
  /// Prefix of the names of nodes whose results decide something by their sign. If such a result is near zero,
  /// rounding decides, and the run is not a valid test.
  static constexpr const char *margin = "margin";

  /// Adds arithmetic on `a` that keeps its number of rows and whose results stay bounded. Returns the result's name.
  std::string arithmetic(Graph &graph, const std::string &a);
  /// Adds operators that give one row which depends on all rows of `a`: rows of different values fit by broadcasting.
  /// `a` may have 0 rows. Returns the result's name.
  std::string row(Graph &graph, const std::string &a, bool filled = true);
  /// Adds operators that give as many rows as `a` has, which depend on `b`. Returns the result's name.
  std::string combined(Graph &graph, const std::string &a, const std::string &b, bool filled = true);
  /// Adds operators that give one row more than `a` has. Returns the result's name.
  std::string grown(Graph &graph, const std::string &a, const std::string &b);

  std::string condition(Graph &graph, const Visible &visible);
  std::string number(Graph &graph, const Visible &visible);
  /// Adds operators that give rows, perhaps none: a part of other rows, or as many as a number says. Returns the
  /// result's name.
  std::string selected(Graph &graph, const Visible &visible);
  /// Adds operators that give rows in which every row depends on others. Returns the result's name.
  std::string mixed(Graph &graph, const Visible &visible);

  /// Adds a statement that makes or changes a sequence, or turns one into rows.
  void list(Graph &graph, Visible &visible);
  /// Adds operators that give rows of a sequence that is not empty: one tensor of it, or all of them. Returns the
  /// result's name.
  std::string fromList(Graph &graph, const std::string &list);
  std::string optional(Graph &graph, const Visible &visible);

  /// Adds a sum as a condition (bool: positive or not), in a node whose name has the prefix `margin`, because the sum
  /// may be near zero. Returns the result's name.
  std::string positive(Graph &graph, const std::string &value, const std::vector<int64_t> &limitDims);

private:
  std::string selectedByNumber(Graph &graph, const Visible &visible, const std::string &from);
  std::string vectorOf(Graph &graph, const std::string &number) {
    return emit(graph, "Reshape", {number, ints(graph, {1}, {1})}, {}, "n");
  }
  std::string rowCount(Graph &graph, const std::string &rows);
  /// Adds an operator that gives `number` modulo `limit`: 0 to limit - 1. Returns the result's name.
  std::string modulo(Graph &graph, const std::string &number, int64_t limit) {
    return emit(graph, "Mod", {number, integer(graph, limit)}, {}, "n");
  }
  /// Adds operators that give one bool for each row of `from`: true for the rows that are chosen. Returns the result's
  /// name.
  std::string chosenRows(Graph &graph, const std::string &from);
  /// Adds operators that give the index of a row of `rows`, which has one row or more. Returns the result's name.
  std::string positionIn(Graph &graph, const Visible &visible, const std::string &rows);
};

} // namespace lathe
