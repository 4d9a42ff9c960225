// TensorFlow graphs as a source format: the table of operators, and an operator that is being imported. Only the
// readers use protobuf.
#pragma once

#include "import/parts/Emitter.h"
#include "import/tensorflow/Content.h"
#include "import/tensorflow/Types.h"

#include <map>

namespace lathe::tensorflow {

using namespace source;

const Format &format();

/// Reads a TensorFlow graph or a SavedModel into records (Reader.cpp). `folder` holds the variables of a SavedModel.
ModelRecord readModel(std::string_view bytes, const std::string &fileName, const std::filesystem::path &folder,
                      const ImportOptions &options);

/// Data that all nodes of a TensorFlow file share; NodeRecord::source points to it.
struct Library {
  std::map<std::string, GraphRecord> functions;
  std::map<std::string, std::string> broken; // reasons why functions could not be read, by name of the function
};

/// A TensorFlow operator that is being imported, with its node. Attributes that only name types already count as read.
class Operator : public Emitter {
public:
  explicit Operator(Node &node) : Emitter(node) {}

  const std::string &code() const { return node.record.op; }
  bool boolAttr(const char *name, bool fallback) { return node.intAttr(name, fallback) != 0; }
  /// Value of an attribute that is a type. Throws Unsupported for types that Lathe does not have.
  ElementType typeAttr(const char *name, ElementType fallback) { return node.typeAttr(name, fallback); }
  /// Emits operand `index`, which has one element, as a scalar.
  mlir::Value scalar(size_t index) { return node.reshape(in(index), {}); }
};

/// How a TensorFlow operator is imported. `run` is null if the operator is refused; `reason` then says why.
struct Row {
  std::function<void(Operator &)> run;
  OperandCount operands = {};
  const char *reason = nullptr;
};
using Importers = std::map<std::string, Row>;
const Importers &importers();

void addElementwiseImporters(Importers &table); // Elementwise.cpp
void addWindowImporters(Importers &table);      // Window.cpp: convolution and pooling
void addNormalizeImporters(Importers &table);   // Normalize.cpp: batch and local response normalisation, dropout
void addProductImporters(Importers &table);     // Product.cpp
void addViewImporters(Importers &table);        // View.cpp: operators that give the same elements other extents
void addReduceImporters(Importers &table);      // Reduce.cpp
void addMovementImporters(Importers &table);    // Movement.cpp
void addIndexedImporters(Importers &table);     // Indexed.cpp
void addImageImporters(Importers &table);       // Image.cpp: resizing, patches, selection of boxes
void addColourImporters(Importers &table);      // Colour.cpp
void addComposedImporters(Importers &table);    // Composed.cpp
void addRecurrentImporters(Importers &table);   // Recurrent.cpp
void addListImporters(Importers &table);        // Lists.cpp: TensorArray and TensorList
void addValueImporters(Importers &table);       // Value.cpp: constants, identities, variables

/// The importer of TensorFlow's calls, branches and loops (Control.cpp); null for other operators.
StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &inputs);
/// The importer of a NonMaxSuppressionV5 that lowers scores (SoftSuppression.cpp); null for other nodes.
StructureHandler softSuppression(const NodeRecord &node, const std::vector<Entry> &inputs);
std::vector<ImportIssue> unknownWithin(const NodeRecord &node, const std::string &name);
/// Names of the operators that structureHandler imports, each with a text that says how.
const std::map<std::string, const char *> &structureOperators();
/// Emits the elements of a list that a loop fills, as they are before the loop (Lists.cpp): a source::ReserveFiller.
mlir::Value filledReserve(StructureNode &node, mlir::Value reserve, const TensorInfo &made, const Values &carried);

// ---- Readers ------------------------------------------------------------------------------------------------------

/// Number of results of a TensorFlow node whose operator can have several; 1 for other nodes (Results.cpp).
size_t resultCount(const NodeRecord &node);
/// Position of the first result of output argument `argument` of `op`. Throws Error if `op` has several output
/// arguments and `argument` is not one of them.
size_t resultOf(const std::string &op, const std::string &argument);

/// Fills in the names of all results of every node that another node reads or that is an output of the graph
/// (Results.cpp).
void completeResults(GraphRecord &graph);
/// Removes nodes from a graph that no output of the graph needs.
void prune(GraphRecord &graph);
/// Rebuilds loops and branches that TensorFlow 1 writes as Switch, Merge, Enter, Exit and NextIteration: they become
/// While and If nodes with subgraphs (Frames.cpp). Throws Error for frames that are not a while loop.
void rebuildControlFlow(GraphRecord &graph);
/// Marks nodes that read the random numbers of dropout. Normalize.cpp imports them as constants if the dropout has no
/// effect (Patterns.cpp).
void markDropout(GraphRecord &graph);
/// The nodes that each node waits for without reading them (control dependencies); keys and values are names of nodes.
using Waits = std::map<std::string, std::vector<std::string>>;
/// Adds two shapes as operands to each Identity that waits for the assertion that they are equal (Value.cpp).
void markAssertions(GraphRecord &graph, const Waits &waits);
/// Adds the pivot of a branch (the Identity of a Switch) as an operand to each constant that waits for this pivot, so
/// that the branch to which the constant belongs is known (Patterns.cpp).
void markPivots(GraphRecord &graph, const Waits &waits);
/// Merges each convolution between SpaceToBatchND and BatchToSpaceND into one node, which Window.cpp imports with a
/// dilation.
void markDilations(GraphRecord &graph);

/// Finds the inputs and the outputs of a frozen TensorFlow graph, which states neither, and removes nodes that the
/// outputs do not need (FrozenPorts.cpp). `producer` is the version that the graph states.
void findInputsAndOutputs(GraphRecord &graph, const Waits &waits, int64_t producer);

/// The attribute `name` of a node; null if the node has none.
const AttributeRecord *attributeOf(const NodeRecord &node, const std::string &name);
/// The name of input `index` of a node. Throws Error if there is no such input.
const std::string &inputOf(const NodeRecord &node, size_t index);
/// Makes the text of docs/generated/tensorflow.md (Support.cpp).
std::string supportPage();

} // namespace lathe::tensorflow
