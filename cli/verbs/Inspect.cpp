#include "cli/CompilerVerbs.h"
#include "cli/print/InspectPackage.h"
#include "passes/interpret/Ports.h"
#include "support/Text.h"

#include <algorithm>
#include <iostream>

namespace lathe::cli {
namespace {

double atOne(const Dim &dim) {
  return static_cast<double>(dim.evaluate([](const std::string &) -> int64_t { return 1; }));
}

double bytesOf(const TensorInfo &info) { return atOne(product(info.dims)) * bitWidth(info.type) / 8; }

/// What two convolutions or matrix products must share to be one row of the table.
std::string shapeKey(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  std::string text;
  for (mlir::Value operand : nn::operandsByRecord(op).size() > 2 ? mlir::ValueRange(op->getOperands()).take_front(2)
                                                                 : mlir::ValueRange(op->getOperands()))
    text += (text.empty() ? "" : " * ") + str(shapes.of(operand).dims);
  return text + " -> " + str(shapes.of(op->getResult(0)).dims);
}

struct ShapeRow {
  std::string op, shapes, attributes;
  double flops = 0;
  int count = 0;
  std::vector<std::string> nodes;
};

} // namespace

int inspectVerb(const Arguments &arguments) {
  ModelFlags model;
  Options options("inspect",
                  "Show a model's inputs, outputs, operators, parameters, FLOPs, bytes and the distinct shapes of its "
                  "convolutions and\n"
                  "matrix products; or a package's origin, target, sections, kernels and schedules. A "
                  "multiply-accumulate counts as two\n"
                  "operations; symbolic extents count as 1.",
                  "  lathe inspect resnet50.onnx\n"
                  "  lathe inspect zoo:vgg16 --json vgg16.json\n"
                  "  lathe inspect resnet50.lathe\n");
  model.add(options, ModelUse::graph, true);
  options.addWide();
  options.addJson();
  options.parseAll(arguments);

  if (!model.isZoo() && isPackage(model.model))
    return inspectPackage(options, model.model);
  Source source = loadSource(model);
  mlir::func::FuncOp main = mainFunction(*source.module);
  nn::SymbolicShapes shapes(main);
  nlohmann::json json{{"model", model.model},
                      {"file_bytes", source.fileBytes},
                      {"inputs", nlohmann::json::array()},
                      {"outputs", nlohmann::json::array()},
                      {"operators", nlohmann::json::object()}};
  std::string text;

  std::vector<runtime::Port> ports = inputPorts(*source.module);
  for (const runtime::Port &port : ports) {
    text += fmt::format("input  {}: {} {}\n", printable(port.name), name(port.type), str(port.dims));
    json["inputs"].push_back({{"name", port.name}, {"type", name(port.type)}, {"dims", str(port.dims)}});
  }
  std::vector<std::string> outputs = outputNames(main);
  std::vector<TensorInfo> results = shapes.results();
  for (size_t i = 0; i < outputs.size(); ++i) {
    text += fmt::format("output {}: {} {}\n", printable(outputs[i]), name(results[i].type), str(results[i].dims));
    json["outputs"].push_back({{"name", outputs[i]}, {"type", name(results[i].type)}, {"dims", str(results[i].dims)}});
  }

  std::map<std::string, std::pair<int, double>> operators; // count, flops
  std::vector<ShapeRow> rows;
  double parameters = 0, parameterBytes = 0, activationBytes = 0, flops = 0;
  for (mlir::Operation &op : main.getBody().front()) {
    if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op)) {
      TensorInfo info = shapes.of(constant.getOutput());
      if (isFloat(info.type))
        parameters += atOne(product(info.dims));
      parameterBytes += bytesOf(info);
      continue;
    }
    const OpRecord *record = nn::recordOf(&op);
    if (!record)
      continue;
    double operations = atOne(flopsOf(&op, shapes));
    flops += operations;
    operators[record->name].first++;
    operators[record->name].second += operations;
    for (mlir::Value result : op.getResults())
      activationBytes += bytesOf(shapes.of(result));
    if (std::string_view(record->lowering) != "contraction")
      continue;
    ShapeRow row{record->name, shapeKey(&op, shapes), describe(*nn::attrsOf(&op)), operations, 0, {}};
    auto same = std::find_if(rows.begin(), rows.end(), [&](const ShapeRow &other) {
      return other.op == row.op && other.shapes == row.shapes && other.attributes == row.attributes;
    });
    if (same == rows.end())
      same = rows.insert(rows.end(), row);
    same->count++;
    for (const std::string &node : nn::nodeNames(op.getLoc()))
      same->nodes.push_back(node);
  }

  text += fmt::format("{:.0f} parameters ({}), {} a run, {} of activations, file {}\n\n", parameters,
                      bytesText(parameterBytes), flopsText(flops), bytesText(activationBytes),
                      bytesText(static_cast<double>(source.fileBytes)));
  json["parameters"] = parameters;
  json["parameter_bytes"] = parameterBytes;
  json["activation_bytes"] = activationBytes;
  json["flops"] = flops;

  std::vector<std::pair<std::string, std::pair<int, double>>> sorted(operators.begin(), operators.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return std::tie(b.second.second, a.first) < std::tie(a.second.second, b.first);
  });
  Table byOperator({textColumn("operator"), numberColumn("count"), numberColumn("MFLOP"), numberColumn("share")});
  for (const auto &[op, figures] : sorted) {
    double share = flops > 0 ? figures.second / flops * 100 : 0;
    byOperator.row({op, std::to_string(figures.first), fmt::format("{:.2f}", figures.second * 1e-6),
                    fmt::format("{:.2f} %", share)});
    json["operators"][op] = {{"count", figures.first}, {"flops", figures.second}};
  }
  text += byOperator.str(options.tableStyle());

  json["contractions"] = nlohmann::json::array();
  if (!rows.empty()) {
    std::sort(rows.begin(), rows.end(), [](const ShapeRow &a, const ShapeRow &b) {
      double aFlops = a.flops * a.count, bFlops = b.flops * b.count;
      return std::tie(bFlops, a.shapes, a.attributes) < std::tie(aFlops, b.shapes, b.attributes);
    });
    Table table({numberColumn("count"), textColumn("operator").drop(1), textColumn("shapes").shrink(24),
                 textColumn("attributes").drop(3).shrink(16), numberColumn("MFLOP each"), numberColumn("share"),
                 textColumn("first node").drop(2).shrink(10)});
    for (const ShapeRow &row : rows) {
      double share = flops > 0 ? row.flops * row.count / flops * 100 : 0;
      table.row({std::to_string(row.count), row.op, row.shapes, row.attributes, fmt::format("{:.2f}", row.flops * 1e-6),
                 fmt::format("{:.2f} %", share), row.nodes.empty() ? "" : row.nodes[0]});
      json["contractions"].push_back({{"op", row.op},
                                      {"shapes", row.shapes},
                                      {"attributes", row.attributes},
                                      {"count", row.count},
                                      {"flops", row.flops},
                                      {"nodes", row.nodes}});
    }
    text += fmt::format("\n{} distinct convolution and matrix product shapes:\n{}", rows.size(),
                        table.str(options.tableStyle()));
  }
  if (options.printsText())
    std::cout << text;
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
