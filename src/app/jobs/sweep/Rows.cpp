#include "jobs/sweep/Rows.h"

#include "evaluate/Decisions.h"
#include "jobs/Self.h"
#include "jobs/sweep/Runtimes.h"
#include "runtime/Context.h"
#include "runtime/NpyTensor.h"
#include "runtime/QuantizedTensor.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

namespace lathe::jobs {
namespace {

using nlohmann::json;

/// Makes the package. The report of `lathe compile` describes its content.
void compileRow(SweepRow &row, const std::string &path) {
  std::string report = path + ".json";
  Arguments arguments{"compile", row.model.model, "-o", path, "--json", report, "--no-cache", quietFlag()};
  for (const Arguments &some : {row.model.compileArguments(), row.model.recordArguments()})
    arguments.insert(arguments.end(), some.begin(), some.end());
  if (std::optional<std::string> why = trySelf(arguments)) {
    row.failed = true;
    row.reason = "not compiled: " + *why;
    return;
  }
  row.package = path;
  std::ifstream file(report);
  row.compiled = json::parse(file);
}

/// The package, or nothing with the reason in the row if this processor cannot run it.
std::shared_ptr<const runtime::Model> loadRow(SweepRow &row) {
  runtime::LoadOptions loading = row.model.loadOptions();
  loading.name = row.model.model;
  try {
    return runtime::Model::load(row.package, loading);
  } catch (const Error &error) {
    row.reason = std::string("not run: ") + error.what();
    return nullptr;
  }
}

/// Writes the inputs to files, for the timed processes.
void writeInputs(SweepRow &row, std::span<const runtime::Port> ports, std::span<const Value> values,
                 const std::string &stem) {
  for (size_t i = 0; i < values.size(); ++i) {
    require(values[i].isTensor(), "{}: input '{}' is no tensor; sweep times models whose inputs are tensors",
            row.model.model, ports[i].name);
    std::string file = fmt::format("{}.input{}.npy", stem, i);
    writeNpy(file, npyView(values[i].tensor()));
    row.inputs[ports[i].name] = file;
  }
}

/// Measures the share of references in a run's time, from the fastest of a few profiled runs.
void measureReferences(SweepRow &row, runtime::Context &context) {
  constexpr int runs = 5;
  runtime::RunOptions profiled;
  profiled.profile = true;
  std::map<std::string, double> shares;
  uint64_t least = UINT64_MAX;
  for (int run = 0; run < runs; ++run) {
    context.run(profiled);
    uint64_t whole = context.profile().end - context.profile().begin;
    if (whole >= least)
      continue;
    least = whole;
    shares.clear();
    for (const runtime::ProfileRow &instruction : context.profileRows())
      if (std::string_view(instruction.info.kind) == "reference")
        for (const std::string &node : instruction.info.nodes)
          shares[node] += double(instruction.nanoseconds) / double(whole) / double(instruction.info.nodes.size());
  }
  for (const json &use : row.compiled.at("references")) {
    UncompiledOperator one{use.at("node"), use.at("op"), use.at("reason"), 0};
    for (const auto &[node, share] : shares)
      if (one.node == node || one.node.find("'" + node + "'") != std::string::npos)
        one.share += share;
    row.uncompiled.push_back(std::move(one));
  }
  std::sort(row.uncompiled.begin(), row.uncompiled.end(),
            [](const auto &a, const auto &b) { return std::tie(b.share, a.node) < std::tie(a.share, b.node); });
}

} // namespace

void prepareRow(SweepRow &row, const std::string &stem, const InputOptions &inputs) {
  row.done = true;
  compileRow(row, stem + ".lathe");
  if (!row.reason.empty())
    return;
  Prepared prepared;
  prepared.package = row.package;
  prepared.model = loadRow(row);
  if (!prepared.model)
    return;
  std::vector<Value> values = gatherInputs(prepared.model->inputs(), inputs, row.model.shapes);
  prepared.inputText = inputsText(prepared.model->inputs(), values);
  Verification verification = checkedFirst(row.model, inputs, prepared, false);
  row.verification = verification.text;
  row.point = modelPoint(row.model, inputs, prepared, verification);
  if (!verification.verified) { // no time without a verdict
    row.failed = true;
    row.reason = "not timed: " + verification.text;
    return;
  }
  writeInputs(row, prepared.model->inputs(), values, stem);
  if (prepared.model->inputs().size() == 1 && prepared.model->inputs()[0].tensor())
    row.picture = prepared.model->inputs()[0];
  runtime::Context context(prepared.model, {.threads = row.model.threads});
  if (!row.compiled.at("references").empty()) {
    for (size_t i = 0; i < values.size(); ++i)
      context.setInput(i, values[i]);
    measureReferences(row, context);
  }
}

size_t pictureCount(const SweepPictures &pictures) {
  return pictures.data.crops ? size_t(pictures.data.crops) : pictures.set.pictures.size();
}

const evaluate::LabelledPicture &pictureOf(const SweepPictures &pictures, size_t number) {
  const std::vector<evaluate::LabelledPicture> &all = pictures.set.pictures;
  return all[number * all.size() / pictureCount(pictures)];
}

namespace {

/// Returns the scores for the input of a picture.
using Scores = std::function<Tensor(const Tensor &input)>;

Scores scoresOfPackage(SweepRow &row) {
  std::shared_ptr<const runtime::Model> model = loadRow(row);
  if (!model)
    return {};
  auto context = std::make_shared<runtime::Context>(model, runtime::ContextOptions{.threads = row.model.threads});
  return [model, context](const Tensor &input) {
    context->setInput(0, input);
    context->run();
    const Tensor &output = context->output(0).tensor();
    const auto &quantization = model->outputs()[0].quantization;
    return quantization ? dequantized(*quantization, output) : output;
  };
}

} // namespace

void classifyRow(SweepRow &row, const SweepPictures &pictures) {
  if (!row.reason.empty())
    return;
  require(row.picture.has_value(), "--data {}: {} has several inputs, expected one picture", pictures.data.data,
          row.model.model);
  Scores scores = row.runtime.empty() ? scoresOfPackage(row) : scoresOfRuntime(row);
  if (!scores)
    return;
  evaluate::Preprocessing how = pictures.preprocessing.forOther(row.model.model).of(*row.picture);
  const evaluate::LabelledPicture *last = nullptr;
  uint64_t state = pictures.seed;
  evaluate::Picture picture;
  for (size_t i = 0; i < pictureCount(pictures); ++i) {
    const evaluate::LabelledPicture &from = pictureOf(pictures, i);
    if (&from != last) // each picture is decoded once
      picture = evaluate::readPicture(from.path);
    last = &from;
    Tensor given = evaluate::preprocess(pictures.data.crops ? evaluate::randomlyCropped(picture, state) : picture, how);
    Tensor ranked = scores(given);
    row.classes = size_t(ranked.elements());
    require(!from.label || *from.label < row.classes, "{}: is of class {}, {} has {}", from.path,
            from.label.value_or(0), row.model.model, counted(ranked.elements(), "class", "classes"));
    row.decisions.push_back(evaluate::ranking(ranked, 1).at(0));
  }
}

} // namespace lathe::jobs
