// Variables of a SavedModel: where their values are stored, and whether inference changes them.
#pragma once

#include "import/tensorflow/Bundle.h"

namespace lathe::tensorflow {

bool isVariable(const std::string &op);

/// Where the checkpoint of a SavedModel stores the value of a variable.
struct VariablePlace {
  std::string key;
  /// Which part of a partitioned variable it is: extents of the whole variable, then the range of this part, as "10 4
  /// 0,5:-". "": the variable is not partitioned.
  std::string slice;
};

/// Finds the stored values of a graph's variables, by the names of the variables' nodes, from the operators that
/// restore a checkpoint.
std::map<std::string, VariablePlace> restoredVariables(const file::GraphDef &graph);
source::TensorRecord variableTensor(const Bundle &bundle, const VariablePlace &place, const std::string &name);

/// Throws Error if the outputs of a signature wait for an operator that writes a variable.
void requireUnwritten(const file::GraphDef &graph, const file::SignatureDef &signature);

} // namespace lathe::tensorflow
