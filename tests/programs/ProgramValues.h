// Statements of random programs that have no subgraphs: arithmetic, selections whose extents the run decides, numbers,
// conditions, sequences and optionals.
#pragma once

#include "tests/programs/ProgramWriter.h"

namespace lathe {

/// Values of a graph that later statements may read, by name.
struct Visible {
  using Names = std::vector<std::string>;
  Names rows;      // f32, one row or more, of 4 numbers
  Names maybe;     // f32, any number of rows, perhaps none, of 4
  Names steps;     // f32, scanned, of rank 3
  Names numbers;   // i64 scalars, 0 to 6
  Names lists;     // sequences of f32, any number of rows by 4; never empty
  Names optionals; // f32 rows or nothing
};

class ProgramValues : public ProgramWriter {
public:
  using ProgramWriter::ProgramWriter;

protected:
  /// Prefix of the names of nodes whose results decide something by their sign. A result near zero makes a run say
  /// nothing: rounding decides.
  static constexpr const char *margin = "margin";

  /// Arithmetic that keeps the number of rows of `a` and stays bounded.
  std::string arithmetic(Graph &graph, const std::string &a);
  /// One row that depends on all rows of `a`: rows of different values fit by broadcasting. 0 rows are allowed.
  std::string row(Graph &graph, const std::string &a, bool filled = true);
  /// As many rows as `a` has, which depend on `b`.
  std::string combined(Graph &graph, const std::string &a, const std::string &b, bool filled = true);
  /// One row more than `a` has.
  std::string grown(Graph &graph, const std::string &a, const std::string &b);

  std::string condition(Graph &graph, const Visible &visible);
  std::string number(Graph &graph, const Visible &visible);
  /// Rows, perhaps none: a part of other rows, or as many as a number says.
  std::string selected(Graph &graph, const Visible &visible);
  /// Rows of a form in which every row depends on others.
  std::string mixed(Graph &graph, const Visible &visible);

  /// Makes or changes a sequence, or turns one into rows.
  void list(Graph &graph, Visible &visible);
  /// Rows of a sequence that is not empty: one tensor of it, or all of them.
  std::string fromList(Graph &graph, const std::string &list);
  std::string optional(Graph &graph, const Visible &visible);

  /// A sum that may be near zero only where `margin` says so, as bool.
  std::string positive(Graph &graph, const std::string &value, const std::vector<int64_t> &limitDims);

private:
  std::string selectedByNumber(Graph &graph, const Visible &visible, const std::string &from);
  std::string vectorOf(Graph &graph, const std::string &number) {
    return emit(graph, "Reshape", {number, ints(graph, {1}, {1})}, {}, "n");
  }
  std::string rowCount(Graph &graph, const std::string &rows);
  /// 0 to limit - 1.
  std::string modulo(Graph &graph, const std::string &number, int64_t limit) {
    return emit(graph, "Mod", {number, integer(graph, limit)}, {}, "n");
  }
  /// True for rows of `from` that are chosen: one for each.
  std::string chosenRows(Graph &graph, const std::string &from);
  /// A position of `rows`, which has one row or more.
  std::string positionIn(Graph &graph, const Visible &visible, const std::string &rows);
};

} // namespace lathe
