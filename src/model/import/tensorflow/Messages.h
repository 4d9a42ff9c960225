// Converts TensorFlow's protobuf messages to the records of a source model (import/Records.h).
#pragma once

#include "import/tensorflow/TensorFlow.h"
#include "import/tensorflow/tensorflow.pb.h"

#include <filesystem>

namespace lathe::tensorflow {

/// Converts the nodes of a TensorFlow graph (Reader.cpp); names of results are "node" and "node:1". Inputs and outputs
/// of the record stay empty.
GraphRecord graphOf(const file::GraphDef &graph, const Library *library);
/// Converts the functions of a TensorFlow graph and adds them to `library`.
void addFunctions(Library &library, const file::GraphDef &graph);
/// Removes the result number 0 from the name of a tensor: turns "node:0" into "node".
std::string tensorName(std::string name);
/// Makes the record of an input of a graph, whose type and shape are stated in a TensorFlow message.
ValueRecord valueOf(const std::string &name, int32_t type, const file::TensorShapeProto *shape);

/// Reads the graph of a SavedModel's signature, with its variables (SavedModel.cpp). `library` holds the functions.
GraphRecord graphOfSignature(const file::SavedModel &model, const std::string &fileName,
                             const std::filesystem::path &folder, const std::string &signature, Library &library,
                             std::string &producer, int64_t &version);

} // namespace lathe::tensorflow
