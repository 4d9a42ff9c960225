// Writes docs/generated/tensorflow.md, which says how every operator is imported.
#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {

std::string supportPage() {
  std::map<std::string, std::string> rows;
  int supported = 0;
  for (const auto &[op, row] : importers()) {
    if (op.find('+') != std::string::npos)
      continue; // a mark of Patterns.cpp, not an operator of a file
    rows[op] = row.run ? "yes" : fmt::format("no: {}", row.reason);
    supported += row.run != nullptr;
  }
  for (const auto &[op, becomes] : structureOperators()) {
    rows[op] = fmt::format("yes: {}", becomes);
    ++supported;
  }
  for (const auto &[op, becomes] :
       std::map<std::string, const char *>{{"Placeholder", "an input"},
                                           {"Enter", "a while loop: nn.loop"},
                                           {"Exit", "a while loop: nn.loop"},
                                           {"LoopCond", "a while loop: nn.loop"},
                                           {"NextIteration", "a while loop: nn.loop"},
                                           {"Merge", "a while loop, or a branch"},
                                           {"Switch", "a while loop, or a branch"},
                                           {"RandomUniform", "dropout whose factor is 1 alone"},
                                           {"VarHandleOp", "of a SavedModel: a constant"},
                                           {"Variable", "of a SavedModel: a constant"},
                                           {"VariableV2", "of a SavedModel: a constant"}}) {
    supported += !rows.contains(op) || rows[op].starts_with("no");
    rows[op] = fmt::format("yes: {}", becomes);
  }
  std::string table;
  for (const auto &[op, becomes] : rows)
    table += fmt::format("| {} | {} |\n", op, becomes);
  return fmt::format("<!-- Written from the tables of import/tensorflow by `ninja tensorflow-page`; do not edit. -->\n"
                     "# Which TensorFlow operators are supported?\n\n"
                     "{} operators of graphs are imported. Operators that are not here, custom ones among them, are "
                     "listed by\n"
                     "`lathe check`. What an operator does not take, such as a value of an attribute, is an error that "
                     "names it.\n"
                     "[tensorflow.md](../tensorflow.md) tells how a graph is read.\n\n"
                     "| operator | imported |\n|---|---|\n",
                     supported) +
         table;
}

} // namespace lathe::tensorflow
