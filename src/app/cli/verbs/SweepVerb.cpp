// `lathe sweep`: measures one or several models at every level, layout, target and number of threads.
#include "cli/FrontVerbs.h"
#include "cli/KeptWhenInterrupted.h"
#include "cli/Packages.h"
#include "cli/Self.h"
#include "cli/Sizes.h"
#include "cli/models/SideParts.h"
#include "cli/models/Sides.h"
#include "cli/models/TfliteLibrary.h"
#include "cli/print/Describe.h"
#include "cli/sweep/Page.h"
#include "cli/sweep/Report.h"
#include "cli/sweep/RowSteps.h"
#include "import/Foreign.h"
#include "process/ShellWords.h"
#include "support/LayoutChoice.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace lathe::cli {
namespace {

/// Levels of "0-4", "3" or "0,2-4", in this order, each once.
std::vector<int> levelsOf(const std::string &text) {
  auto digit = [](const std::string &word) { return word.size() == 1 && word[0] >= '0' && word[0] <= '4'; };
  std::vector<int> levels;
  for (const std::string &part : CLI::detail::split(text, ',')) {
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
  for (const std::string &word : CLI::detail::split(text, ',')) {
    require(name(layoutChoiceOf(word)) == word, "--layouts {}: expected nchw, nhwc, blocked or auto, got '{}'", text,
            word);
    if (std::find(layouts.begin(), layouts.end(), word) == layouts.end())
      layouts.push_back(word);
  }
  require(!layouts.empty(), "--layouts {}: expected layouts, as nchw,nhwc,blocked,auto", text);
  return layouts;
}

/// Throws ChildFailed for a target that the compiler does not know; otherwise every row would report it.
void requireTargets(const std::vector<std::string> &targets) {
  std::string model = temporaryFolder() / "target.mlir";
  writeFile(model, "func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {\n  return %x : tensor<1xf32>\n}\n");
  for (const std::string &target : targets)
    if (target != "native")
      runSelf({"check", model, "--target", target, "--quiet"});
}

struct SweepFlags {
  ModelFlags model;
  InputFlags inputs;
  RecordFlags record;
  SweepPictures pictures;
  lab::TurnOptions turns;
  RowStep step;
  std::vector<std::string> with, against, targets{"native"};
  std::string levels = "0-4", threads = "1", layouts = "auto", html, markdown;

  void add(Options &options);
  bool classifies() const { return !pictures.data.data.empty(); }
  /// Reads --data before anything is compiled.
  void readPictures();
  /// The rows of the grid: models outermost, then targets, threads, levels and layouts. Rows of --against follow the
  /// rows of each model.
  std::vector<SweepRow> rows() const;
  /// Everything that the rows depend on. A command with an equal value can reuse the results of an interrupted sweep.
  nlohmann::json identity(const Arguments &arguments, const std::vector<SweepRow> &rows) const;
  nlohmann::json settings() const {
    return {
        {"max_seconds", turns.maxSeconds}, {"starts", turns.minStarts}, {"fill", inputs.fill}, {"seed", inputs.seed}};
  }

private:
  void addGrid(Options &options);
  void addRuntimes(Options &options);
  void addPictures(Options &options);
  void addRuntimeRows(const ModelFlags &flags, std::vector<SweepRow> &rows) const;
  ModelFlags flagsOf(const std::string &name) const;
};

void SweepFlags::addGrid(Options &options) {
  options.add_option("--with", with, "Sweep these models, too: names separated by commas")
      ->delimiter(',')
      ->type_name("MODEL");
  options.add_option("--levels", levels, "Compile at these levels of -O, as 0-4 or 0,3")->capture_default_str();
  options
      .add_option("--target", targets,
                  "Compile for this target (lathe help compile); repeat the flag for several (default: native)")
      ->check(offers({"native"}))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options.add_option("--threads", threads, "Run with these numbers of threads, as 1,2")->capture_default_str();
  options
      .add_option("--layouts", layouts,
                  "Compile with these layouts of activations (--layout of compile), as nchw,nhwc,blocked,auto")
      ->check(offersList({"nchw", "nhwc", "blocked", "auto"}))
      ->capture_default_str();
  options.reads([this] { return with; });
  options.afterParse([this] {
    for (const std::string &name : with)
      require(name.starts_with("zoo:") || !isPackage(name), "--with {}: is a compiled package, expected a model: {}",
              name, readFormats());
  });
}

void SweepFlags::addRuntimes(Options &options) {
  options
      .add_option(
          "--against", against,
          "Run the models in these runtimes, too, where they read them, a row for each number of threads: onnxruntime, "
          "tflite, tensorflowjs, tensorflow, opencv, separated by commas")
      ->delimiter(',')
      ->check(offersList({"onnxruntime", "tflite", "tensorflowjs", "tensorflow", "opencv"}))
      ->type_name("RUNTIME");
  addTfliteLibrary(options, [this] {
    if (std::find(against.begin(), against.end(), "tflite") == against.end())
      against.emplace_back("tflite");
  });
  options.afterParse([this] {
    for (const std::string &runtime : against)
      lab::runnerNamed(runtime, "--against " + runtime);
  });
}

void SweepFlags::addPictures(Options &options) {
  pictures.data.add(options,
                    "Classify these pictures at every row: a folder with a folder a class, a folder of pictures, "
                    "or a CSV file");
  pictures.preprocessing.add(options);
  options.afterParse([this, &options] {
    if (!classifies())
      options.refuse({"--labels", "--skip-unreadable", "--random-crops", "--preprocess", "--fit", "--resize",
                      "--pixel-range", "--mean", "--std", "--channels", "--input-layout", "--input-scale",
                      "--input-zero-point"},
                     "give the pictures: --data DIR");
    pictures.seed = inputs.seed;
  });
}

void SweepFlags::add(Options &options) {
  turns.maxSeconds = 60;
  model.add(options, ModelUse::sweep);
  addGrid(options);
  addRuntimes(options);
  inputs.add(options, "random", false);
  addPictures(options);
  options
      .add_option("--max-seconds", turns.maxSeconds,
                  "Time all rows for at most this long, later starts of their processes included, in seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options
      .add_option("--starts", turns.minStarts,
                  "Start the process of every row at least this often; more starts follow until every verdict is "
                  "decided or --max-seconds have passed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  options.addOutput("--html", html, "Write the rows with confusion matrices, changed decisions and layouts as a page");
  options.addOutput("--markdown", markdown, "Write the same as Markdown");
  record.add(options, &model);
  step.add(options);
  options.addQuiet();
  options.addWide();
  options.addJson();
  options.afterParse([this] { turns.limitSeconds = turns.maxSeconds; });
}

void SweepFlags::readPictures() {
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
ModelFlags SweepFlags::flagsOf(const std::string &name) const {
  if (name == model.model)
    return model;
  try {
    return model.shapes.empty() ? flagsForOther(model, name) : flagsLike(model, packageFor(model).path, name);
  } catch (const ChildFailed &) { // the row will report it, too
    return flagsForOther(model, name);
  }
}

std::vector<SweepRow> SweepFlags::rows() const {
  if (!step.asked())
    requireTargets(targets);
  std::vector<std::string> models{model.model};
  models.insert(models.end(), with.begin(), with.end());
  std::vector<int64_t> counts = parseCounts("--threads", threads);
  std::vector<SweepRow> rows;
  for (const std::string &name : models) {
    ModelFlags flags = flagsOf(name);
    for (const std::string &target : targets)
      for (int64_t count : counts)
        for (int level : levelsOf(levels))
          for (const std::string &layout : layoutsOf(layouts)) {
            require(count <= 1024, "--threads {}: expected at most 1024", threads);
            sayIfCrowded(count);
            SweepRow &row = rows.emplace_back();
            row.model = flags;
            row.model.target = target;
            row.model.threads = int(count);
            row.model.level = level;
            row.model.layout = layoutChoiceOf(layout);
          }
    addRuntimeRows(flags, rows);
  }
  return rows;
}

void SweepFlags::addRuntimeRows(const ModelFlags &flags, std::vector<SweepRow> &rows) const {
  if (flags.isZoo())
    return;
  for (const std::string &runtime : against) {
    if (!lab::runnerNamed(runtime, "--against " + runtime).reads(modelFormat(flags.model)))
      continue;
    for (int64_t count : parseCounts("--threads", threads)) {
      SweepRow &row = rows.emplace_back();
      row.model = flags;
      row.model.threads = int(count);
      row.runtime = row.title = runtime;
    }
  }
}

nlohmann::json SweepFlags::identity(const Arguments &arguments, const std::vector<SweepRow> &rows) const {
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

/// Prepares and classifies the rows. Updates `kept` after each step.
void prepareAll(Sweep &sweep, SweepFlags &flags, const RowFolder &folder, const Arguments &arguments,
                KeptWhenInterrupted<Sweep> &kept) {
  Progress progress("sweep");
  TimeLeft left(flags.turns.maxSeconds); // for timing after the last row
  prepareRows(
      {sweep.rows, flags.inputs, flags.pictures, folder, arguments}, flags.classifies(),
      [&](const std::string &what, size_t row) {
        left.update(row, sweep.rows.size(), lab::steadySeconds());
        progress.update(what, row, sweep.rows.size());
        Progress::beginStep(row + 1, sweep.rows.size(), left.seconds());
      },
      [&] { kept.update(sweep); });
  Progress::endSteps();
}

/// Writes the requested page and Markdown.
void writePages(const SweepFlags &flags, const Sweep &sweep, const std::string &command, bool finished) {
  if (flags.html.empty() && flags.markdown.empty())
    return;
  print::Document document = sweepDocument(sweep, command, finished);
  if (!flags.html.empty())
    writeFile(flags.html, print::htmlOf(document));
  if (!flags.markdown.empty())
    writeFile(flags.markdown, print::markdownOf(document));
}

/// Times the prepared rows.
void timeAll(Sweep &sweep, const SweepFlags &flags, KeptWhenInterrupted<Sweep> &kept) {
  process::TemporaryDirectory folder("sweep-timing");
  Progress progress("sweep");
  sweep.timing = timeRows(
      sweep.rows, flags.turns, folder, [&](const std::string &what, double left) { progress.updateUntil(what, left); },
      [&](const SweepTiming &soFar) {
        // The signal first ends the processes, which then look like failed rows.
        if (std::any_of(sweep.rows.begin(), sweep.rows.end(), [](auto &row) { return row.ended; }))
          return;
        sweep.timing = soFar;
        kept.update(sweep);
      });
}

} // namespace

int sweepVerb(const Arguments &arguments) {
  SweepFlags flags;
  Options options(
      "sweep",
      "Compile a model at every level, layout, target and number of threads, verify each package, and time all of "
      "them\n"
      "in turns: one row a package, with its speedup over the first row, its size beside the original's, the time of "
      "a\n"
      "compilation from scratch, and what has no kernel. With --data, count the right decisions, and those that agree\n"
      "with the first row; with --against, run the models in their original runtimes, too. When interrupted, print "
      "and\n"
      "keep what was measured; the same command continues with the rows that are missing.",
      "  lathe sweep zoo:mobilenet_v2\n"
      "  lathe sweep model.onnx --levels 3 --layouts nchw,nhwc,blocked,auto\n"
      "  lathe sweep model.onnx --levels 0-4 --target native --target x86-64-v3 --threads 1,2\n"
      "  lathe sweep float.tflite --with int8.tflite --levels 3 --data val/ --labels labels.txt --html lab.html\n"
      "  lathe sweep float.tflite --with int8.tflite --levels 3 --tflite-library libtensorflowlite_c.so\n");
  flags.add(options);
  options.parseAll(arguments);
  if (flags.step.step != "prepare")
    flags.readPictures();
  Sweep sweep;
  sweep.rows = flags.rows();
  sweep.classifies = flags.classifies();
  for (size_t i = 0; sweep.classifies && !flags.step.asked() && i < pictureCount(flags.pictures); ++i)
    sweep.pictures.push_back(pictureOf(flags.pictures, i));
  sweep.names = flags.pictures.names;
  if (flags.step.asked()) {
    doStep(flags.step, {sweep.rows, flags.inputs, flags.pictures, RowFolder(RowFolder::Made{flags.step.folder}), {}});
    return success;
  }
  Recording recording(flags.record, store::ExperimentKind::bench, "sweep", arguments, flags.settings());
  auto report = [&](const Sweep &soFar, bool finished) {
    recording.add(sweepPoints(soFar));
    if (finished)
      recording.finish(soFar.timing.disturbance);
    auto done = size_t(std::count_if(soFar.rows.begin(), soFar.rows.end(), [](auto &row) { return row.done; }));
    if (options.printsText())
      std::cout << (finished ? "" : fmt::format("{} of {} rows are verified\n", done, soFar.rows.size()))
                << sweepText(soFar, options.tableStyle()) << flags.pictures.preprocessing.rangeText()
                << skippedText(flags.pictures.set.skipped) << recording.line() << std::flush;
    nlohmann::json document = sweepJson(soFar, finished);
    if (flags.classifies()) {
      document["pixel_range"] = flags.pictures.preprocessing.pixelRange();
      document["skipped"] = skippedJson(flags.pictures.set.skipped);
    }
    options.writeJson(document);
    writePages(flags, soFar, "lathe sweep " + process::shellCommand(arguments), finished);
  };
  KeptWhenInterrupted<Sweep> kept([&](const Sweep &soFar) { report(soFar, false); });
  RowFolder folder(flags.identity(arguments, sweep.rows));
  prepareAll(sweep, flags, folder, arguments, kept);
  timeAll(sweep, flags, kept);
  kept.forget();
  report(sweep, true);
  folder.finish();
  return std::any_of(sweep.rows.begin(), sweep.rows.end(), [](auto &row) { return row.failed; }) ? failedVerdict
                                                                                                 : success;
}

} // namespace lathe::cli
