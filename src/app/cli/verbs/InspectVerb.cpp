#include "cli/CompilerVerbs.h"
#include "cli/print/BlocksPrint.h"
#include "cli/print/InspectPackage.h"
#include "cli/print/LayoutPrint.h"
#include "cli/print/LeftOut.h"
#include "cli/print/PortText.h"
#include "ir/Bodies.h"
#include "passes/interpret/Ports.h"
#include "stage/Canonical.h"
#include "support/Text.h"

#include <algorithm>
#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// True for weights, including quantised weights and their 32-bit biases: neither flags nor 64-bit extents and indices.
bool isParameter(const TensorInfo &info) {
  return isFloat(info.type) || (isInteger(info.type) && bitWidth(info.type) <= 32);
}

double bytesOf(const TensorInfo &info) { return atOne(product(info.dims)) * bitWidth(info.type) / 8; }

/// The properties that two convolutions or matrix products must share to be one row of the table.
std::string shapeKey(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  std::string text;
  for (mlir::Value operand : nn::operandsByRecord(op).size() > 2 ? mlir::ValueRange(op->getOperands()).take_front(2)
                                                                 : mlir::ValueRange(op->getOperands()))
    text += (text.empty() ? "" : " * ") + str(shapes.of(operand).dims);
  return text + " -> " + str(shapes.of(op->getResult(0)).dims);
}

/// Convolutions or matrix products of one shape.
struct ShapeRow {
  std::string op, shapes, attributes;
  double flops = 0; // of one convolution or product
  int count = 0;
  std::vector<std::string> nodes;

  bool isLike(const ShapeRow &other) const {
    return op == other.op && shapes == other.shapes && attributes == other.attributes;
  }
};

/// Figures of a graph, operator by operator. Open extents count as 1, a loop as one iteration, and both branches of an
/// If count.
class GraphFigures {
public:
  GraphFigures(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes) { add(main, shapes); }

  /// A line with the totals, and a table of the operators.
  std::string describe(uint64_t fileBytes, const TableStyle &style, json &document) const {
    document["parameters"] = parameters;
    document["parameter_bytes"] = parameterBytes;
    document["activation_bytes"] = activationBytes;
    document["flops"] = flops;
    std::string text = fmt::format("{:.0f} parameters ({}), {} a run, {} of activations, file {}\n\n", parameters,
                                   bytesText(parameterBytes), flopsText(flops), bytesText(activationBytes),
                                   bytesText(static_cast<double>(fileBytes)));
    return text + describeOperators(style, document["operators"]);
  }

  /// A table of the shapes of convolutions and matrix products; "" if there are none.
  std::string describeContractions(const TableStyle &style, json &list) const {
    if (rows.empty())
      return "";
    std::vector<ShapeRow> sorted = rows;
    std::sort(sorted.begin(), sorted.end(), [](const ShapeRow &a, const ShapeRow &b) {
      double aFlops = a.flops * a.count, bFlops = b.flops * b.count;
      return std::tie(bFlops, a.shapes, a.attributes) < std::tie(aFlops, b.shapes, b.attributes);
    });
    Table table({numberColumn("count"), textColumn("operator").key("op").drop(1), textColumn("shapes").shrink(24),
                 textColumn("attributes").drop(3).shrink(16), numberColumn("MFLOP each").key("flops"),
                 numberColumn("share").onlyText(), textColumn("first node").key("nodes").drop(2).shrink(10)});
    for (const ShapeRow &row : sorted)
      table.row({std::to_string(row.count), row.op, row.shapes, row.attributes,
                 valueCell(fmt::format("{:.2f}", row.flops * 1e-6), row.flops), shareText(row.flops * row.count),
                 valueCell(row.nodes.empty() ? "" : row.nodes[0], row.nodes)});
    list = toJson(table);
    return fmt::format("\n{} distinct convolution and matrix product shapes:\n{}", rows.size(), table.str(style));
  }

private:
  struct OperatorTotal {
    int count = 0;
    double flops = 0;
  };

  std::map<std::string, OperatorTotal> operators; // by name
  std::vector<ShapeRow> rows;
  double parameters = 0, parameterBytes = 0, activationBytes = 0, flops = 0;

  std::string shareText(double part) const { return fmt::format("{:.2f} %", flops > 0 ? part / flops * 100 : 0); }

  void add(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes) {
    for (mlir::Operation &op : main.getBody().front())
      visit(op, shapes);
  }

  void visit(mlir::Operation &op, const nn::SymbolicShapes &shapes) {
    if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op)) {
      TensorInfo info = shapes.of(constant.getOutput());
      if (isParameter(info))
        parameters += atOne(product(info.dims));
      parameterBytes += bytesOf(info);
      return;
    }
    if (auto bodies = nn::bodiesOf(&op); !bodies.empty()) {
      operators[op.getName().stripDialect().str()].count++;
      for (const nn::BodyRef &body : bodies)
        add(body.main, nn::SymbolicShapes(body.main));
      return;
    }
    const OpRecord *record = nn::recordOf(&op);
    if (!record)
      return;
    double operations = atOne(flopsOf(&op, shapes));
    flops += operations;
    operators[record->name].count++;
    operators[record->name].flops += operations;
    for (mlir::Value result : op.getResults())
      activationBytes += bytesOf(shapes.of(result));
    if (std::string_view(record->lowering) == "contraction")
      addContraction(op, {record->name, shapeKey(&op, shapes), lathe::describe(*nn::attrsOf(&op)), operations, 0, {}});
  }

  void addContraction(mlir::Operation &op, const ShapeRow &row) {
    auto same = std::find_if(rows.begin(), rows.end(), [&](const ShapeRow &other) { return other.isLike(row); });
    if (same == rows.end())
      same = rows.insert(rows.end(), row);
    same->count++;
    for (const std::string &node : nn::nodeNames(op.getLoc()))
      same->nodes.push_back(node);
  }

  /// Operators with the most operations come first.
  std::string describeOperators(const TableStyle &style, json &document) const {
    std::vector<std::pair<std::string, OperatorTotal>> sorted(operators.begin(), operators.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
      return std::tie(b.second.flops, a.first) < std::tie(a.second.flops, b.first);
    });
    Table table({textColumn("operator"), numberColumn("count"), numberColumn("MFLOP"), numberColumn("share")});
    for (const auto &[op, total] : sorted) {
      table.row({op, std::to_string(total.count), fmt::format("{:.2f}", total.flops * 1e-6), shareText(total.flops)});
      document[op] = {{"count", total.count}, {"flops", total.flops}};
    }
    return table.str(style);
  }
};

/// The layout report of a compilation by the flags, behind an empty line. Changes the module.
std::string describeLayouts(mlir::ModuleOp module, const ModelOptions &model, const Options &options, json &document) {
  Progress progress("inspect " + model.model);
  CompileReport report = checkCompiled(module, compileOptions(model, &progress));
  LayoutReport layouts = layoutReport(report, model, true);
  document = layoutJson(layouts);
  return "\n" + layoutText(layouts, options.tableStyle());
}

/// A line with the program that wrote the model, and the parts of the file that are ignored; "" if the file does not
/// say.
std::string describeProducer(mlir::ModuleOp module, json &document) {
  auto producer = module->getAttrOfType<mlir::StringAttr>("nn.producer");
  if (!producer)
    return "";
  document["producer"] = producer.str();
  return fmt::format("producer: {}\n", printable(producer.str()));
}

/// Describes a graph: inputs, outputs and figures.
std::string describeGraph(Source &source, bool blocks, const TableStyle &style, json &document) {
  mlir::ModuleOp module = *source.module;
  mlir::func::FuncOp main = mainFunction(module);
  nn::SymbolicShapes shapes(main);
  GraphFigures figures(main, shapes);
  std::string text = describePorts("input", inputPorts(module), document["inputs"]);
  text += describePorts("output", outputPorts(main, shapes), document["outputs"]);
  text += figures.describe(source.fileBytes, style, document);
  text += figures.describeContractions(style, document["contractions"]);
  if (blocks)
    text += describeBlocks(main, shapes, document["flops"], style, document["blocks"]);
  return text;
}

int printCanonical(const Options &options, const std::string &model, mlir::ModuleOp module) {
  options.refuse({"--blocks", "--layouts"}, "has no effect with --canonical, which prints the canonical text alone");
  std::string text = canonicalText(module);
  if (options.printsText())
    std::cout << text;
  options.writeJson({{"model", model}, {"canonical", text}});
  return success;
}

} // namespace

int inspectVerb(const Arguments &arguments) {
  ModelOptions model;
  bool blocks = false, canonical = false, layouts = false;
  Options options("inspect",
                  "Show a model's inputs, outputs, operators, parameters, FLOPs, bytes and the distinct shapes of its "
                  "convolutions and\n"
                  "matrix products; or a package's origin, target, sections, kernels and schedules. A "
                  "multiply-accumulate counts as two\n"
                  "operations; symbolic extents count as 1.",
                  "  lathe inspect resnet50.onnx\n"
                  "  lathe inspect zoo:vgg16 --json vgg16.json\n"
                  "  lathe inspect zoo:resnet50 --blocks\n"
                  "  lathe inspect zoo:vgg16 --layouts --layout nhwc\n"
                  "  lathe inspect resnet50.lathe\n"
                  "  lathe inspect a.onnx --canonical | diff - <(lathe inspect b.onnx --canonical)\n");
  addModel(options, model, ModelUse::kernels, true);
  options.add_flag(
      "--blocks", blocks,
      "List groups of operators that occur several times with the same structure: their number, share of the "
      "FLOPs, weights, and what differs between them");
  options.add_flag("--canonical", canonical,
                   "Print the canonical text of the graph instead: equal for equal graphs (docs/staging.md)");
  options.add_flag("--layouts", layouts, layoutsHelp);
  options.addShowing();
  options.parseAll(arguments);

  if (!model.isZoo() && isPackage(model.model)) {
    options.refuse({"--blocks", "--canonical"},
                   fmt::format("has no effect on {}, a package; give its model", model.model));
    options.refuse({"--layouts", "--threads"}, model.model + " is a compiled package, only a model is compiled");
    return inspectPackage(options, model.model);
  }
  if (!layouts) {
    refuseCompileFlags(options, "only --layouts compiles the model");
    options.refuse({"--threads"}, "only --layouts compiles the model");
  }
  std::vector<ImportIssue> leftOut;
  Source source = loadPart(model, leftOut);
  if (canonical)
    return printCanonical(options, model.model, *source.module);
  json document{{"model", model.model},     {"file_bytes", source.fileBytes}, {"inputs", json::array()},
                {"outputs", json::array()}, {"operators", json::object()},    {"contractions", json::array()}};
  std::string text = describeProducer(*source.module, document) +
                     describeLeftOut(leftOut, *source.module, options.tableStyle(), document) +
                     describeGraph(source, blocks, options.tableStyle(), document);
  if (layouts) // last: it changes the module
    text += describeLayouts(*source.module, model, options, document["layouts"]);
  if (options.printsText())
    std::cout << text;
  options.writeJson(document);
  return success;
}

} // namespace lathe::cli
