#include "tests/programs/ProgramValues.h"

namespace lathe {

std::string ProgramValues::arithmetic(Graph &graph, const std::string &a) {
  switch (below(7)) {
  case 0:
    return emit(graph, "Tanh", {a});
  case 1:
    return emit(graph, "Tanh", {emit(graph, "MatMul", {a, floats(graph, {4, 4})})});
  case 2:
    return emit(graph, "Mul", {a, floats(graph, {4})});
  case 3:
    return emit(graph, "Sigmoid", {emit(graph, "Add", {a, floats(graph, {1, 4})})});
  case 4:
    return emit(graph, "Softmax", {a}, {{"axis", 1}});
  case 5: {
    std::string bounded = emit(graph, "Sin", {a}), scaled = emit(graph, "Relu", {bounded});
    return emit(graph, "Sub", {scaled, floats(graph, {1, 4})});
  }
  default:
    return emit(graph, "Sub", {a, emit(graph, "ReduceMean", {a}, {{"axes", std::vector<int64_t>{1}}})});
  }
}

std::string ProgramValues::row(Graph &graph, const std::string &a, bool filled) {
  if (!filled || chance(20))
    return emit(graph, "Tanh", {emit(graph, "ReduceSum", {a, ints(graph, {1}, {0})})});
  return emit(graph, chance(70) ? "ReduceMean" : "ReduceMax", {a}, {{"axes", std::vector<int64_t>{0}}});
}

std::string ProgramValues::combined(Graph &graph, const std::string &a, const std::string &b, bool filled) {
  std::string other = row(graph, b, filled);
  return arithmetic(graph, emit(graph, chance(50) ? "Add" : "Sub", {a, other}));
}

std::string ProgramValues::grown(Graph &graph, const std::string &a, const std::string &b) {
  return emit(graph, "Concat", {a, row(graph, b)}, {{"axis", 0}});
}

std::string ProgramValues::positive(Graph &graph, const std::string &value, const std::vector<int64_t> &limitDims) {
  std::string name = fresh(margin);
  node(graph, "Sub", {value, floats(graph, limitDims)}, name).add_output(name);
  graph.mutable_node(graph.node_size() - 1)->set_name(name);
  return emit(graph, "Greater", {name, real(graph, 0)}, {}, "c");
}

std::string ProgramValues::condition(Graph &graph, const Visible &visible) {
  switch (below(10)) {
  case 0:
  case 1:
    return "flag";
  case 2:
    if (!visible.optionals.empty())
      return emit(graph, "OptionalHasElement", {pick(visible.optionals)}, {}, "c");
    [[fallthrough]];
  case 3:
    return emit(graph, "Less", {number(graph, visible), integer(graph, below(5))}, {}, "c");
  case 4: {
    std::string parity = modulo(graph, number(graph, visible), 2);
    return emit(graph, "Not", {emit(graph, "Equal", {parity, integer(graph, 0)}, {}, "c")}, {}, "c");
  }
  case 5: {
    std::string other = emit(graph, "Less", {number(graph, visible), integer(graph, 2)}, {}, "c");
    return emit(graph, chance(50) ? "And" : "Or", {"flag", other}, {}, "c");
  }
  default:
    return positive(graph, emit(graph, "ReduceSum", {row(graph, pick(visible.rows))}, {{"keepdims", 0}}), {});
  }
}

std::string ProgramValues::rowCount(Graph &graph, const std::string &rows) {
  return emit(graph, "Gather", {emit(graph, "Shape", {rows}, {}, "n"), integer(graph, 0)}, {}, "n");
}

std::string ProgramValues::number(Graph &graph, const Visible &visible) {
  switch (below(8)) {
  case 0:
    return modulo(graph, "count", 5);
  case 1:
    return modulo(graph, rowCount(graph, pick(visible.rows)), 5);
  case 2:
    if (!visible.maybe.empty())
      return modulo(graph, rowCount(graph, pick(visible.maybe)), 4);
    [[fallthrough]];
  case 3:
    if (!visible.lists.empty())
      return modulo(graph, emit(graph, "SequenceLength", {pick(visible.lists)}, {}, "n"), 5);
    [[fallthrough]];
  case 4: { // rows that are chosen
    std::string chosen = chosenRows(graph, pick(visible.rows));
    std::string ones = emit(graph, "Cast", {chosen}, {{"to", onnx::TensorProto::INT64}}, "n");
    return modulo(graph, emit(graph, "ReduceSum", {ones}, {{"keepdims", 0}}, "n"), 5);
  }
  case 5: { // distinct remainders
    std::string count = rowCount(graph, pick(visible.rows));
    std::string all = emit(graph, "Range", {integer(graph, 0), count, integer(graph, 1)}, {}, "n");
    std::string found = emit(graph, "Unique", {modulo(graph, all, 2 + below(3))}, {}, "n");
    return emit(graph, "Size", {found}, {}, "n");
  }
  default:
    if (visible.numbers.empty())
      return modulo(graph, "count", 3);
    return modulo(graph,
                  emit(graph, chance(60) ? "Add" : "Mul", {pick(visible.numbers), pick(visible.numbers)}, {}, "n"),
                  3 + below(4));
  }
}

std::string ProgramValues::chosenRows(Graph &graph, const std::string &from) {
  std::string sums = emit(graph, "ReduceSum", {from, ints(graph, {1}, {1})}, {{"keepdims", 0}});
  return positive(graph, sums, {1});
}

std::string ProgramValues::positionIn(Graph &graph, const Visible &visible, const std::string &rows) {
  return emit(graph, "Mod", {number(graph, visible), rowCount(graph, rows)}, {}, "n");
}

std::string ProgramValues::selectedByNumber(Graph &graph, const Visible &visible, const std::string &from) {
  std::string count = number(graph, visible);
  auto spread = [&](const std::string &vector) { // each number becomes a row
    std::string column = emit(graph, "Reshape", {vector, ints(graph, {2}, {-1, 1})});
    return arithmetic(graph, emit(graph, "Mul", {column, floats(graph, {1, 4})}));
  };
  auto shape = [&] {
    return emit(graph, "Concat", {vectorOf(graph, count), ints(graph, {1}, {4})}, {{"axis", 0}}, "n");
  };
  switch (below(6)) {
  case 0:
    return emit(graph, "Slice", {from, vectorOf(graph, count), ints(graph, {1}, {1000}), ints(graph, {1}, {0})});
  case 1:
    return emit(graph, "Slice", {from, ints(graph, {1}, {0}), vectorOf(graph, count), ints(graph, {1}, {0})});
  case 2: {
    std::string all = emit(graph, "Range", {integer(graph, 0), count, integer(graph, 1)}, {}, "n");
    return spread(emit(graph, "Cast", {all}, {{"to", onnx::TensorProto::FLOAT}}));
  }
  case 3:
    return arithmetic(graph, emit(graph, "Expand", {row(graph, from, false), shape()}));
  case 4: {
    std::string most = emit(graph, "Min", {count, rowCount(graph, from)}, {}, "n");
    std::string column = emit(graph, "ReduceSum", {from, ints(graph, {1}, {1})}, {{"keepdims", 0}});
    std::string top = fresh("v");
    onnx::NodeProto &made = node(graph, "TopK", {column, vectorOf(graph, most)}, top, {{"largest", below(2)}});
    made.add_output(top);
    made.add_output(fresh("n"));
    return spread(top);
  }
  default: {
    std::string filled = emit(graph, "ConstantOfShape", {shape()});
    return emit(graph, "Add", {filled, row(graph, from, false)});
  }
  }
}

std::string ProgramValues::selected(Graph &graph, const Visible &visible) {
  const std::string from = pick(!visible.maybe.empty() && chance(40) ? visible.maybe : visible.rows);
  switch (below(5)) {
  case 0:
    return emit(graph, "Compress", {from, chosenRows(graph, from)}, {{"axis", 0}});
  case 1: {
    std::string found = emit(graph, "NonZero", {chosenRows(graph, from)}, {}, "n");
    return emit(graph, "Gather", {from, emit(graph, "Reshape", {found, ints(graph, {1}, {-1})}, {}, "n")},
                {{"axis", 0}});
  }
  default:
    return selectedByNumber(graph, visible, from);
  }
}

std::string ProgramValues::mixed(Graph &graph, const Visible &visible) {
  const std::string a = pick(visible.rows);
  std::vector<int64_t> exchanged{1, 0};
  switch (below(10)) {
  case 0: { // four rows
    std::string square = emit(graph, "MatMul", {emit(graph, "Transpose", {a}, {{"perm", exchanged}}), a});
    return emit(graph, "Tanh", {square});
  }
  case 1: { // attention of rows to rows
    std::string scores = emit(graph, "MatMul", {a, emit(graph, "Transpose", {a}, {{"perm", exchanged}})});
    return emit(graph, "MatMul", {emit(graph, "Softmax", {scores}, {{"axis", 1}}), a});
  }
  case 2:
    return emit(graph, "Tanh", {emit(graph, "CumSum", {a, integer(graph, 0)}, {{"reverse", below(2)}})});
  case 3:
    return emit(graph, "Slice",
                {a, ints(graph, {1}, {-1}), ints(graph, {1}, {-1000}), ints(graph, {1}, {0}), ints(graph, {1}, {-1})});
  case 4: {
    std::string at = vectorOf(graph, positionIn(graph, visible, a));
    return arithmetic(graph, emit(graph, "Gather", {a, at}, {{"axis", 0}}));
  }
  case 5: {
    std::string at = emit(graph, "Reshape", {positionIn(graph, visible, a), ints(graph, {2}, {1, 1})}, {}, "n");
    return emit(graph, "ScatterND", {a, at, row(graph, pick(visible.rows))});
  }
  case 6: { // rows in front, as many as a number says
    std::string pads = emit(graph, "Concat", {vectorOf(graph, number(graph, visible)), ints(graph, {3}, {0, 0, 0})},
                            {{"axis", 0}}, "n");
    return emit(graph, "Pad", {a, pads});
  }
  case 7:
    if (!visible.maybe.empty())
      return emit(graph, "Concat", {pick(visible.maybe), row(graph, a)}, {{"axis", 0}});
    [[fallthrough]];
  case 8: { // every second row
    std::string all = emit(graph, "Range", {integer(graph, 0), rowCount(graph, a), integer(graph, 2)}, {}, "n");
    return emit(graph, "Gather", {a, all}, {{"axis", 0}});
  }
  default:
    return emit(graph, "Where", {positive(graph, a, {1, 4}), a, row(graph, pick(visible.rows))});
  }
}

// ---- Sequences and optionals ----

void ProgramValues::list(Graph &graph, Visible &visible) {
  if (visible.lists.empty() || chance(25)) {
    if (chance(30)) {
      visible.lists.push_back(
          emit(graph, "SplitToSequence", {pick(visible.rows)}, {{"axis", 0}, {"keepdims", 1}}, "q"));
      return;
    }
    visible.lists.push_back(
        emit(graph, "SequenceConstruct", {pick(visible.rows), row(graph, pick(visible.rows))}, {}, "q"));
  } else if (chance(40)) {
    std::string position = chance(50) ? integer(graph, chance(50) ? 0 : -1) : "";
    visible.lists.push_back(
        emit(graph, "SequenceInsert", {pick(visible.lists), pick(visible.rows), position}, {}, "q"));
  } else if (chance(20)) { // one comes and one goes
    std::string longer = emit(graph, "SequenceInsert", {pick(visible.lists), pick(visible.rows)}, {}, "q");
    std::string length = emit(graph, "SequenceLength", {longer}, {}, "n");
    std::string at = emit(graph, "Mod", {number(graph, visible), length}, {}, "n");
    visible.lists.push_back(emit(graph, "SequenceErase", {longer, at}, {}, "q"));
  } else {
    visible.rows.push_back(fromList(graph, pick(visible.lists)));
  }
}

std::string ProgramValues::fromList(Graph &graph, const std::string &list) {
  if (chance(50)) {
    if (chance(50))
      return emit(graph, "SequenceAt", {list, integer(graph, chance(50) ? 0 : -1)});
    std::string length = emit(graph, "SequenceLength", {list}, {}, "n");
    return emit(graph, "SequenceAt", {list, emit(graph, "Mod", {"count", length}, {}, "n")});
  }
  std::string all = emit(graph, "ConcatFromSequence", {list}, {{"axis", 0}});
  std::string mean = row(graph, all); // stays small, however often it is put into a list again
  return chance(50) ? mean : arithmetic(graph, all);
}

std::string ProgramValues::optional(Graph &graph, const Visible &visible) {
  return emit(graph, "Optional", {row(graph, pick(visible.rows))}, {}, "o");
}

} // namespace lathe
