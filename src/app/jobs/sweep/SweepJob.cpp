#include "jobs/sweep/SweepJob.h"

#include "jobs/KeptWhenInterrupted.h"
#include "jobs/Packages.h"
#include "jobs/Progress.h"
#include "jobs/Self.h"
#include "jobs/Sizes.h"
#include "jobs/compare/SideParts.h"
#include "jobs/compare/Sides.h"
#include "support/LayoutChoice.h"

#include <algorithm>
#include <filesystem>

namespace lathe::jobs {
namespace {

/// Levels of "0-4", "3" or "0,2-4", in this order, each once.
std::vector<int> levelsOf(const std::string &text) {
  auto digit = [](const std::string &word) { return word.size() == 1 && word[0] >= '0' && word[0] <= '4'; };
  std::vector<int> levels;
  for (const std::string &part : wordsOf(text)) {
    std::string first = part.substr(0, part.find('-'));
    std::string last = part.find('-') == std::string::npos ? first : part.substr(part.find('-') + 1);
    require(digit(first) && digit(last) && first <= last, "--levels {}: expected levels from 0 to 4, as 0-4 or 0,3",
            text);
    for (int level = first[0] - '0'; level <= last[0] - '0'; ++level)
      if (std::find(levels.begin(), levels.end(), level) == levels.end())
        levels.push_back(level);
  }
  require(!levels.empty(), "--levels {}: expected levels from 0 to 4, as 0-4 or 0,3", text);
  return levels;
}

/// Layouts of "nchw,auto", in this order, each once.
std::vector<std::string> layoutsOf(const std::string &text) {
  std::vector<std::string> layouts;
  for (const std::string &word : wordsOf(text)) {
    require(name(layoutChoiceOf(word)) == word, "--layouts {}: expected nchw, nhwc, blocked or auto, got '{}'", text,
            word);
    if (std::find(layouts.begin(), layouts.end(), word) == layouts.end())
      layouts.push_back(word);
  }
  require(!layouts.empty(), "--layouts {}: expected layouts, as nchw,nhwc,blocked,auto", text);
  return layouts;
}

/// Throws ChildFailed for a target that the compiler does not know, whose rows would all say so.
void requireTargets(const std::vector<std::string> &targets) {
  std::string model = temporaryFolder() / "target.mlir";
  writeFile(model, "func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {\n  return %x : tensor<1xf32>\n}\n");
  for (const std::string &target : targets)
    if (target != "native")
      runSelf({"check", model, "--target", target, "--quiet"});
}

} // namespace

void SweepJob::readPictures() {
  if (!classifies())
    return;
  PictureNotes notes = pictures.preprocessing.takeFrom(model.model);
  pictures.names = pictures.data.labelsOr(notes.labels);
  pictures.set = pictures.data.read(pictures.names, "sweep");
  for (const evaluate::LabelledPicture &sample : pictures.set.pictures)
    require(!pictures.set.isArrays(sample),
            "{}: is no picture, expected .png, .jpg or .bmp files: rows classify pictures "
            "(lathe evaluate takes arrays)",
            sample.path);
}

/// The flags of the compilation of MODEL or of one of --with.
ModelOptions SweepJob::flagsOf(const std::string &name) const {
  if (name == model.model)
    return model;
  try {
    return model.shapes.empty() ? flagsForOther(model, name) : flagsLike(model, packageFor(model).path, name);
  } catch (const ChildFailed &) { // the row will say so, too
    return flagsForOther(model, name);
  }
}

std::vector<SweepRow> SweepJob::rows() const {
  if (!step.asked())
    requireTargets(targets);
  std::vector<std::string> models{model.model};
  models.insert(models.end(), with.begin(), with.end());
  struct Place { // that a row runs in
    const lab::Resources &held;
    int64_t threads;
  };
  std::vector<lab::Resources> held = resources.all();
  std::vector<Place> places;
  for (const lab::Resources &one : held)
    for (int64_t count : parseCounts("--threads", threads))
      places.push_back({one, count});
  std::vector<SweepRow> rows;
  for (const std::string &name : models) {
    ModelOptions flags = flagsOf(name);
    for (const std::string &target : targets)
      for (const auto &[resourcesOfRow, count] : places)
        for (int level : levelsOf(levels))
          for (const std::string &layout : layoutsOf(layouts)) {
            require(count <= 1024, "--threads {}: expected at most 1024", threads);
            sayIfCrowded(count, resourcesOfRow.cpus.size());
            SweepRow &row = rows.emplace_back();
            row.model = flags;
            row.resources = resourcesOfRow;
            row.model.target = target;
            row.model.threads = int(count);
            row.model.level = level;
            row.model.layout = layoutChoiceOf(layout);
          }
    addRuntimeRows(flags, held, rows);
  }
  return rows;
}

void SweepJob::addRuntimeRows(const ModelOptions &flags, const std::vector<lab::Resources> &held,
                              std::vector<SweepRow> &rows) const {
  if (flags.isZoo())
    return;
  for (const std::string &runtime : against) {
    if (!lab::runnerNamed(runtime, "--against " + runtime).reads(modelFormat(flags.model)))
      continue;
    for (const lab::Resources &one : held)
      for (int64_t count : parseCounts("--threads", threads)) {
        SweepRow &row = rows.emplace_back();
        row.model = flags;
        row.model.threads = int(count);
        row.resources = one;
        row.runtime = row.title = runtime;
      }
  }
}

nlohmann::json SweepJob::identity(const Arguments &arguments, const std::vector<SweepRow> &rows) const {
  std::vector<std::string> files = inputs.given;
  for (const SweepRow &row : rows)
    for (const std::string &file : filesOf(row.model))
      files.push_back(file);
  for (const evaluate::LabelledPicture &picture : pictures.set.pictures)
    files.push_back(picture.path);
  nlohmann::json stamps = nlohmann::json::array();
  for (const std::string &file : files) {
    std::error_code ignored;
    stamps.push_back({file, std::filesystem::file_size(file, ignored),
                      std::filesystem::last_write_time(file, ignored).time_since_epoch().count()});
  }
  return {{"arguments", arguments},
          {"folder", std::filesystem::current_path().string()},
          {"build", programBuild().key},
          {"labels", pictures.names},
          {"files", std::move(stamps)}};
}

namespace {

/// Prepares and classifies the rows. `kept` gets the state after each step.
void prepareAll(Sweep &sweep, SweepJob &job, const RowFolder &folder, const Arguments &arguments,
                KeptWhenInterrupted<Sweep> &kept) {
  Progress progress("sweep");
  TimeLeft left(job.turns.maxSeconds); // of timing, behind the last row
  prepareRows(
      {sweep.rows, job.inputs, job.pictures, folder, arguments}, job.classifies(),
      [&](const std::string &what, size_t row) {
        left.update(row, sweep.rows.size(), lab::steadySeconds());
        progress.update(what, row, sweep.rows.size());
        Progress::beginStep(row + 1, sweep.rows.size(), left.seconds());
      },
      [&] { kept.update(sweep); });
  Progress::endSteps();
}

/// Times the prepared rows.
void timeAll(Sweep &sweep, const SweepJob &job, lab::HeldResources &held, KeptWhenInterrupted<Sweep> &kept) {
  process::TemporaryDirectory folder("sweep-timing");
  Progress progress("sweep");
  sweep.timing = timeRows(
      sweep.rows, job.turns, folder, held,
      [&](const std::string &what, double left) { progress.updateUntil(what, left); },
      [&](const SweepTiming &soFar) {
        // The signal ends the processes first, which would look like failures of the rows.
        if (std::any_of(sweep.rows.begin(), sweep.rows.end(), [](auto &row) { return row.ended; }))
          return;
        sweep.timing = soFar;
        kept.update(sweep);
      });
}

} // namespace

bool sweep(SweepJob &job, const SweepReport &report) {
  if (job.step.step != "prepare")
    job.readPictures();
  Sweep result;
  result.rows = job.rows();
  result.classifies = job.classifies();
  for (size_t i = 0; result.classifies && !job.step.asked() && i < pictureCount(job.pictures); ++i)
    result.pictures.push_back(pictureOf(job.pictures, i));
  result.names = job.pictures.names;
  if (job.step.asked()) {
    doStep(job.step, {result.rows, job.inputs, job.pictures, RowFolder(RowFolder::Made{job.step.folder}), {}});
    return false;
  }
  job.resources.attempted(); // a refusal comes before anything is compiled
  lab::HeldResources held;
  Recording recording(job.record, store::ExperimentKind::bench, "sweep", job.command, job.settings());
  auto tell = [&](const Sweep &soFar, bool finished) {
    recording.add(sweepPoints(soFar));
    if (finished)
      recording.finish(soFar.timing.disturbance);
    report(soFar, finished, recording.line());
  };
  KeptWhenInterrupted<Sweep> kept([&](const Sweep &soFar) { tell(soFar, false); });
  RowFolder folder(job.identity(job.command, result.rows));
  prepareAll(result, job, folder, job.command, kept);
  timeAll(result, job, held, kept);
  kept.forget();
  tell(result, true);
  folder.finish();
  return std::any_of(result.rows.begin(), result.rows.end(), [](auto &row) { return row.failed; });
}

} // namespace lathe::jobs
