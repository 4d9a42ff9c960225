#include "import/Format.h"

#include "import/EqualExtents.h"
#include "import/Graph.h"
#include "import/UnusedDefinitions.h"
#include "support/Text.h"

#include "mlir/IR/Diagnostics.h"

#include <algorithm>
#include <set>

namespace lathe::source {

bool Format::knows(const std::string &op) const {
  return handlers.contains(op) || std::any_of(mappings.begin(), mappings.end(),
                                              [&](const MappedOp &mapped) { return op == mapped.mapping->op; });
}

MappedOp Format::mapping(const std::string &op, int64_t version) const { return findMapping(mappings, op, version); }

std::string Format::suggestionFor(const std::string &op) const {
  std::set<std::string> names;
  for (const auto &[name, handler] : handlers)
    names.insert(name);
  for (const MappedOp &mapped : mappings)
    names.insert(mapped.mapping->op);
  return suggestion(op, {names.begin(), names.end()});
}

static mlir::OwningOpRef<mlir::ModuleOp> imported(const Format &format, mlir::MLIRContext &context,
                                                  std::string_view bytes, const std::string &fileName,
                                                  const std::filesystem::path &folder, const ImportOptions &options);

/// Imports with open extents set to 1, where the rank of a value depends on them, and records this assumption.
static mlir::OwningOpRef<mlir::ModuleOp> importedForOne(const Format &format, mlir::MLIRContext &context,
                                                        std::string_view bytes, const std::string &fileName,
                                                        const std::filesystem::path &folder, ImportOptions options,
                                                        const RankDepends &rank) {
  const std::string said =
      fmt::format("the rank of the result of '{}' depends on extent {}, which is taken as 1; --shape gives another",
                  oneLine(rank.node), fmt::join(rank.symbols, " and "));
  bool known = true;
  for (const std::string &symbol : rank.symbols)
    known &= !options.extents.emplace(symbol, 1).second;
  if (known) { // an extent of a body, which no input decides
    std::string reason = fmt::format("the rank of its result depends on extent {}", fmt::join(rank.symbols, " and "));
    throw UnsupportedError(fmt::format("{}: not supported: '{}': {}", fileName, rank.node, reason),
                           {{rank.node, "", 0, "", reason}});
  }
  try {
    auto module = imported(format, context, bytes, fileName, folder, options);
    auto others = (*module)->getAttrOfType<mlir::StringAttr>(assumptionAttribute);
    (*module)->setAttr(assumptionAttribute,
                       mlir::StringAttr::get(&context, others ? said + "; " + others.str() : said));
    return module;
  } catch (const UnsupportedError &error) {
    throw UnsupportedError(fmt::format("{} ({})", error.what(), said), error.issues);
  } catch (const Error &error) {
    fail("{} ({})", error.what(), said);
  }
}

/// Imports a second time if operators failed while others demand numbers for open extents. A loop, for example, needs
/// its extents at import, but the operator that demands them may come later. The file is read again because
/// initializers have been freed.
static mlir::OwningOpRef<mlir::ModuleOp> imported(const Format &format, mlir::MLIRContext &context,
                                                  std::string_view bytes, const std::string &fileName,
                                                  const std::filesystem::path &folder, const ImportOptions &options) {
  auto attempt = [&](const ImportOptions &given) {
    ModelRecord model = format.read(bytes, fileName, folder, given);
    return Graph(&context, model, format, fileName, given).run();
  };
  try {
    return attempt(options);
  } catch (const RankDepends &rank) {
    return importedForOne(format, context, bytes, fileName, folder, options, rank);
  } catch (const ExtentsDemanded &first) {
    ImportOptions better = options;
    better.shapes = first.shapes;
    try {
      return attempt(better);
    } catch (const UnsupportedError &) {
      throw;
    } catch (const Error &) { // the error is about extents that the user has not given
      throw UnsupportedError(first);
    }
  }
}

mlir::OwningOpRef<mlir::ModuleOp> importModelOf(const Format &format, mlir::MLIRContext &context,
                                                std::string_view bytes, const std::string &fileName,
                                                const std::filesystem::path &folder, const ImportOptions &options) {
  context.loadDialect<nn::NnDialect, mlir::func::FuncDialect>();
  require(!bytes.empty(), "{}: is empty, expected a model", fileName);
  // Moves the verifier's diagnostics into the text of the error.
  std::string said;
  mlir::ScopedDiagnosticHandler quiet(&context, [&](mlir::Diagnostic &diagnostic) {
    if (said.empty())
      said = diagnostic.str();
    return mlir::success();
  });
  try {
    return imported(format, context, bytes, fileName, folder, options);
  } catch (const UnsupportedError &error) {
    throw UnsupportedError(oneLine(error.what()), error.issues);
  } catch (const UnusedDefinitions &) {
    throw;
  } catch (const Error &error) {
    throw Error(oneLine(said.empty() ? error.what() : fmt::format("{}: {}", error.what(), said)));
  }
}

TensorOrigins originsOf(const Format &format, const GraphRecord &graph) {
  std::set<std::string> read;
  for (const NodeRecord &node : graph.nodes)
    read.insert(node.inputs.begin(), node.inputs.end());
  for (const ValueRecord &output : graph.outputs)
    read.insert(output.name);
  TensorOrigins origins;
  std::map<std::string, std::string> passedOn;
  for (const NodeRecord &node : graph.nodes) {
    size_t used = 0;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      origins[node.outputs[i]] = {nodeName(node), i, used};
      used += read.contains(node.outputs[i]);
    }
    if (format.passesOn && format.passesOn(node) && !node.inputs.empty() && !node.outputs.empty()) {
      auto before = passedOn.find(node.inputs[0]); // chains stay short if nodes are in order
      passedOn[node.outputs[0]] = before == passedOn.end() ? node.inputs[0] : before->second;
    }
  }
  for (auto &[name, origin] : origins) {
    std::string source = name;
    for (size_t steps = 0; passedOn.contains(source) && steps <= passedOn.size(); ++steps)
      source = passedOn[source];
    if (auto found = origins.find(source); found != origins.end())
      origin = found->second;
    else
      origin = {source, 0, 0};
  }
  return origins;
}

} // namespace lathe::source
