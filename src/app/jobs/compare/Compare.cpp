#include "jobs/compare/Compare.h"

#include "jobs/KeptWhenInterrupted.h"
#include "jobs/ModelFormat.h"
#include "jobs/Packages.h"
#include "jobs/Progress.h"
#include "jobs/Sizes.h"
#include "jobs/compare/Sides.h"
#include "lab/StoreRecords.h"

#include <algorithm>

namespace lathe::jobs {
namespace {

/// "data 1x3x224x224, mask 1x128": the inputs' extents in this run.
std::string shapesText(std::span<const runtime::Port> ports, const lab::CompareOptions &compare) {
  std::string text;
  for (const runtime::Port &port : ports) {
    std::vector<int64_t> dims;
    for (const Dim &dim : port.dims)
      dims.push_back(dim.evaluate([&](const std::string &symbol) {
        auto found = compare.dims.find(symbol);
        return found == compare.dims.end() ? 1 : found->second;
      }));
    if (auto given = compare.inputs.find(port.name); given != compare.inputs.end())
      dims = given->second.dims();
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", port.name, dimsText(dims));
  }
  return text;
}

/// Bounds of outputs that agree: the widest of those the packages ask for.
lab::Tolerance toleranceOf(const std::vector<lab::CompareSide> &sides, const lab::CompareOptions &compare,
                           const ModelOptions &flags) {
  lab::Tolerance widest{0, 0};
  for (const lab::CompareSide &side : sides) {
    if (!isPackage(side.model))
      continue;
    auto model = openPackage(side.model, flags).model;
    std::map<std::string, int64_t> symbols = compare.dims;
    for (const runtime::Port &port : model->inputs())
      if (auto given = compare.inputs.find(port.name); given != compare.inputs.end())
        symbols.merge(lab::boundSymbols({&port, 1}, std::vector<Value>{given->second}));
    lab::Tolerance one = lab::toleranceOf(lab::roundingsOf(*model, symbols), lab::Against::peer);
    widest = {std::max(widest.relative, one.relative), std::max(widest.maximum, one.maximum),
              std::max(widest.steps, one.steps), std::max(widest.share, one.share), widest.behind || one.behind};
  }
  return widest;
}

/// Inputs that are given, and extents of those that the laboratory makes. `open`: the package was compiled without --shape.
void bindInputs(CompareJob &job, const runtime::Model &loaded, bool open) {
  lab::CompareOptions &compare = job.compare;
  compare.variables = job.inputs.variables = variablesOf(loaded.inputs(), loaded.outputs());
  std::vector<Value> values = gatherInputs(loaded.inputs(), job.inputs, job.model.shapes);
  // Of a model --shape is in the package; a package has symbolic extents still.
  bool shaped = !job.model.shapes.empty() && !job.model.isZoo() && (open || isPackage(job.model.model));
  bool all = !job.inputs.given.empty() || job.inputs.fill != "random" || shaped;
  for (size_t i = 0; i < values.size(); ++i)
    if (const std::string &name = loaded.inputs()[i].name;
        values[i].isTensor() && (all || compare.variables.contains(name)))
      compare.inputs[name] = values[i].tensor();
  if (!job.inputs.batch)
    return;
  for (const runtime::Port &port : loaded.inputs()) {
    std::vector<std::string> symbols;
    if (!port.dims.empty())
      port.dims[0].collectSymbols(symbols);
    for (const std::string &symbol : symbols)
      compare.dims[symbol] = job.inputs.batch;
  }
}

/// Of values of which some may be unknown.
class Mean {
public:
  void add(std::optional<double> value) {
    sum += value.value_or(0);
    count += value.has_value();
  }
  std::optional<double> value() const { return count ? std::optional(sum / count) : std::nullopt; }

private:
  double sum = 0;
  int count = 0;
};

/// The comparison at one size. It is kept and reported when it is finished or interrupted.
class SizeComparison {
public:
  SizeComparison(CompareJob job, const std::vector<lab::CompareSide> &sides, const std::string &package,
                 const std::function<void(const ComparedSize &)> &told, Recording &recording, bool several, bool open)
      : job(std::move(job)), sides(sides), told(told), recording(recording), several(several) {
    auto loaded = openPackage(package, this->job.model).model;
    lab::CompareOptions &compare = this->job.compare;
    const ModelOptions &model = this->job.model;
    compare.threads = model.threads;
    compare.seed = this->job.inputs.seed;
    bindInputs(this->job, *loaded, open);
    compare.tolerance = toleranceOf(sides, compare, model);
    compare.tolerance.relative = this->job.relative.value_or(compare.tolerance.relative);
    compare.tolerance.maximum = this->job.maximum.value_or(compare.tolerance.maximum);
    inputs = shapesText(loaded->inputs(), compare);
    problem = modelProblem(model, loaded->source(), inputs);
    setting = modelSetting(model, this->job.inputs.batch, recordUse(*loaded));
    verification = verificationOf(model, *loaded);
  }

  lab::Comparison run() {
    lab::CompareOptions &compare = job.compare;
    Progress progress("compare " + job.model.model);
    compare.progress = [&](const std::string &what, std::optional<double> left) {
      left ? progress.updateUntil(what, *left) : progress.update(what, 0, 0);
    };
    KeptWhenInterrupted<lab::Comparison> kept([&](const lab::Comparison &soFar) { report(soFar, false); });
    compare.afterStart = [&](const lab::Comparison &soFar) {
      // The signal ends the runners first, which would look like a failure of theirs.
      if (std::none_of(soFar.sides.begin(), soFar.sides.end(), [](auto &side) { return side.failure.has_value(); }))
        kept.update(soFar);
    };
    lab::Comparison comparison = lab::compare(sides, compare);
    kept.forget();
    report(comparison, true);
    return comparison;
  }

private:
  CompareJob job;
  const std::vector<lab::CompareSide> &sides;
  const std::function<void(const ComparedSize &)> &told;
  Recording &recording;
  bool several;
  store::Problem problem;
  store::Setting setting;
  Verification verification;
  std::string inputs;

  void report(const lab::Comparison &comparison, bool finished) {
    recording.add(lab::pointsOf(comparison, problem, setting));
    told({several, inputs, verification, comparison, finished, recording.line()});
  }
};

} // namespace

nlohmann::json CompareJob::settings() const {
  return {{"check_only", compare.checkOnly},
          {"relative_l2", relative ? nlohmann::json(*relative) : nlohmann::json("by type")},
          {"max_difference", maximum ? nlohmann::json(*maximum) : nlohmann::json("by type")},
          {"adapt_layouts", compare.adaptLayouts},
          {"max_seconds", compare.maxSeconds},
          {"max_rounds", maxRounds},
          {"starts", compare.minStarts},
          {"batch", batches},
          {"fill", inputs.fill},
          {"seed", inputs.seed}};
}

nlohmann::json toJson(const ComparedSize &size, const CompareJob &job) {
  nlohmann::json json = lab::toJson(size.comparison);
  json["model"] = job.model.model;
  json["inputs"] = size.inputs;
  json["finished"] = size.finished;
  json["verified"] = size.verification.verified;
  json["verification"] = size.verification.text;
  return json;
}

bool compare(CompareJob job, const std::function<void(const ComparedSize &)> &report) {
  std::vector<Size> sizes = sizesOf(job.batches, job.model.shapes);
  Recording recording(job.record, store::ExperimentKind::compare, "compare", job.command, job.settings());
  if (job.maxRounds)
    job.compare.roundsInAll = job.maxRounds;
  std::vector<lab::CompareSide> sides = findSides(job.with, job.model);
  bool open = severalShapes(job.model.shapes);
  if (open)
    job.model.shapes.clear(); // the package takes all of them
  std::string package = packageFor(job.model).path;
  fillIn(sides, package, job.model);
  recording.plan(sizes.size() * sides.size());
  bool agree = true;
  Mean others, stolen;
  for (const Size &size : sizes) {
    CompareJob one = job;
    one.inputs.batch = size.batch;
    one.model.shapes = size.shapes;
    lab::Comparison comparison =
        SizeComparison(std::move(one), sides, package, report, recording, sizes.size() > 1, open).run();
    agree &= comparison.agrees();
    others.add(comparison.otherProcessors);
    stolen.add(comparison.stolenProcessors);
  }
  recording.finish({others.value(), stolen.value()});
  return agree;
}

} // namespace lathe::jobs
