// `lathe evaluate`: evaluates a classifier on pictures.
#include "cli/FrontVerbs.h"
#include "cli/Recording.h"
#include "cli/models/Sides.h"
#include "cli/models/TfliteLibrary.h"
#include "cli/print/Describe.h"
#include "cli/print/Progress.h"
#include "cli/samples/Classifiers.h"
#include "cli/samples/Pictures.h"
#include "evaluate/ConfusionPicture.h"
#include "evaluate/Decisions.h"
#include "lab/StoreRecords.h"
#include "lab/judging/Statistics.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>

namespace lathe::cli {
namespace {

using evaluate::LabelledPicture;
using nlohmann::json;

struct EvaluateFlags {
  ModelFlags model;
  PictureFlags pictures;
  DataFlags data;
  RecordFlags record;
  std::string against, confusion;
  uint64_t seed = 0; // seed of random crops

  void add(Options &options) {
    model.add(options, ModelUse::run);
    record.add(options, &model);
    model.addLoading(options);
    data.add(
        options,
        "Read pictures or .npy files from a folder with a folder a class, from a folder without classes, or from a "
        "CSV file with the columns file and class; or arrays with an array labels from an .npz file");
    options.get_option("--data")->required();
    options
        .add_option("--against", against,
                    "Decide with this model, too, and count changed decisions: a model, a package, onnxruntime or "
                    "tflite")
        ->check(offers({"onnxruntime", "tflite"}))
        ->type_name("OTHER");
    options.add_option("--seed", seed, "Set the seed of random crops")->capture_default_str();
    options.addOutput("--confusion", confusion, "Write the confusion matrix as a picture")->type_name("F.svg|F.png");
    addTfliteLibrary(options);
    pictures.add(options);
    options.addQuiet();
    options.addWide();
    options.addJson();
    options.reads([this] { return std::vector<std::string>{against}; });
    options.afterParse([this, &options] {
      if (data.crops == 0)
        options.refuse({"--seed"}, "only --random-crops draws random numbers");
      if (data.data.ends_with(".npz"))
        options.refuse({"--random-crops", "--preprocess", "--fit", "--resize", "--pixel-range", "--mean", "--std",
                        "--channels", "--input-layout", "--input-scale", "--input-zero-point"},
                       "the arrays of an .npz file become inputs as they are");
      require(confusion.empty() || confusion.ends_with(".svg") || confusion.ends_with(".png"),
              "--confusion {}: is no name of a picture, expected one that ends in .svg or .png", confusion);
    });
  }

  json settings() const {
    return {{"random_crops", data.crops},    {"seed", seed},          {"against", against},       {"fit", pictures.fit},
            {"pixel_range", pictures.range}, {"mean", pictures.mean}, {"std", pictures.deviation}};
  }
};

/// What the decisions of a model are counted into.
struct Evaluation {
  std::vector<std::string> labels, names; // names of the classes; `names` are shortened
  std::optional<evaluate::Confusion> confusion;
  evaluate::Accuracy accuracy, otherAccuracy;
  size_t pictures = 0, changed = 0;
  json decisions = json::array();
};

class Evaluator {
public:
  explicit Evaluator(const EvaluateFlags &given)
      : flags(given), notes(flags.pictures.takeFrom(flags.model.model)), labels(flags.data.labelsOr(notes.labels)),
        data(flags.data.read(labels, task())), ours(flags.model) {
    result.labels = labels;
    result.names = evaluate::shortNames(labels);
    if (hasPictures()) {
      ours.requireOneInput();
      flags.pictures.takeRange(ours.input(), flags.model.model);
    }
    if (lab::findRunner(flags.against).done())
      other = std::make_unique<RunnerClassifier>(flags.against, flags.model, ours);
    else if (!flags.against.empty())
      other = otherModel();
    if (hasPictures())
      ours.prepare(flags.pictures);
  }

  Evaluation run() {
    size_t total = flags.data.crops ? static_cast<size_t>(flags.data.crops) : data.pictures.size();
    Progress progress(task());
    uint64_t state = flags.seed;
    evaluate::Picture picture;
    for (size_t i = 0; i < total; ++i) {
      progress.update("picture", i, total);
      // The crops of one picture follow each other, so that it is decoded once.
      size_t index = i * data.pictures.size() / total;
      if (const LabelledPicture &sample = data.pictures[index]; data.isArrays(sample)) {
        evaluate::SampleArrays arrays = data.arraysOf(sample);
        std::string file = sample.row < 0 ? sample.path : fmt::format("{}: sample {}", sample.path, sample.row);
        count([&](Classifier &model) { return model.scores(arrays, file); }, sample, file);
        continue;
      }
      if (i == 0 || index != (i - 1) * data.pictures.size() / total)
        picture = evaluate::readPicture(data.pictures[index].path);
      const evaluate::Picture shown = flags.data.crops ? evaluate::randomlyCropped(picture, state) : picture;
      count([&](Classifier &model) { return model.scores(shown); }, data.pictures[index], data.pictures[index].path);
    }
    return std::move(result);
  }

  const std::vector<double> &seconds() const { return ours.seconds(); }
  const runtime::Model &model() const { return ours.loaded(); }
  const std::vector<evaluate::SkippedFile> &skipped() const { return data.skipped; }
  const PictureFlags &pictures() const { return flags.pictures; }

private:
  EvaluateFlags flags;
  PictureNotes notes; // for --preprocess model
  std::vector<std::string> labels;
  evaluate::Dataset data; // is read before the compilation
  PackageClassifier ours;
  std::unique_ptr<Classifier> other;
  Evaluation result;

  std::string task() const { return "evaluate " + flags.model.model; }

  std::unique_ptr<Classifier> otherModel() {
    auto model = std::make_unique<PackageClassifier>(flagsLike(flags.model, ours.file(), flags.against));
    if (!hasPictures())
      return model;
    model->requireOneInput();
    flags.pictures.takeRange(model->input(), flags.against);
    model->prepare(flags.pictures.forOther(flags.against));
    return model;
  }

  bool hasPictures() const {
    return std::any_of(data.pictures.begin(), data.pictures.end(),
                       [&](const LabelledPicture &sample) { return !data.isArrays(sample); });
  }

  /// Counts the decision on a sample. `scoresOf` runs a model on it.
  void count(const std::function<Tensor(Classifier &)> &scoresOf, const LabelledPicture &from,
             const std::string &file) {
    constexpr size_t ranked = 5;
    Tensor scores = scoresOf(ours);
    std::vector<size_t> decided = evaluate::ranking(scores, ranked);
    auto classes = static_cast<size_t>(scores.elements());
    require(labels.empty() || labels.size() == classes, "{}: has {} classes, {} has {} outputs",
            flags.data.labels.empty() ? flags.model.model : flags.data.labels, labels.size(), flags.model.model,
            classes);
    ++result.pictures;
    json entry{{"file", file}, {"decision", decided[0]}};
    if (from.label) {
      require(*from.label < classes, "{}: is of class {}, the model has {}", file, *from.label, classes);
      if (!result.confusion)
        result.confusion.emplace(classes);
      result.confusion->add(*from.label, decided[0]);
      result.accuracy.add(decided, *from.label);
      entry["class"] = *from.label;
    }
    if (other) {
      Tensor theirScores = scoresOf(*other);
      require(theirScores.elements() == scores.elements(), "--against {}: has {} outputs, {} has {}: other classes",
              flags.against, theirScores.elements(), flags.model.model, classes);
      std::vector<size_t> theirs = evaluate::ranking(theirScores, ranked);
      result.changed += theirs[0] != decided[0];
      entry["other_decision"] = theirs[0];
      if (from.label)
        result.otherAccuracy.add(theirs, *from.label);
    }
    result.decisions.push_back(std::move(entry));
  }
};

double percent(size_t part, size_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string classText(const Evaluation &evaluation, size_t index) {
  return index < evaluation.names.size() ? printable(evaluation.names[index]) : std::to_string(index);
}

Table classTable(const Evaluation &evaluation) {
  Table table({textColumn("class").shrink(12), numberColumn("pictures"), numberColumn("decided"), numberColumn("right"),
               numberColumn("precision"), numberColumn("recall"), numberColumn("F1")});
  for (size_t index : evaluation.confusion->present()) {
    evaluate::ClassFigures figures = evaluation.confusion->figures(index);
    table.row({classText(evaluation, index), std::to_string(figures.count), std::to_string(figures.decided),
               std::to_string(figures.right), fmt::format("{:.3f}", figures.precision()),
               fmt::format("{:.3f}", figures.recall()), fmt::format("{:.3f}", figures.f1())});
  }
  return table;
}

/// The confusion matrix as a table: one row for each class, one column for each decision.
std::string confusionTable(const Evaluation &evaluation, const TableStyle &style) {
  std::vector<size_t> present = evaluation.confusion->present();
  std::vector<TableColumn> columns{textColumn("class \\ decision").shrink(12)};
  for (size_t index : present)
    columns.push_back(numberColumn(classText(evaluation, index)));
  Table table(columns);
  for (size_t label : present) {
    std::vector<TableCell> cells{classText(evaluation, label)};
    for (size_t decision : present)
      cells.push_back(std::to_string(evaluation.confusion->of(label, decision)));
    table.row(cells);
  }
  return table.str(style);
}

void print(const Evaluation &evaluation, const lab::Summary &latency, const EvaluateFlags &flags,
           const TableStyle &style) {
  const evaluate::Accuracy &accuracy = evaluation.accuracy;
  if (evaluation.confusion) {
    constexpr size_t mostColumns = 16;
    std::cout << classTable(evaluation).str(style);
    if (evaluation.confusion->present().size() <= mostColumns)
      std::cout << "\n" << confusionTable(evaluation, style);
    std::cout << fmt::format("\ntop-1 {:.2f} %, top-5 {:.2f} % of {}\n", percent(accuracy.top1, accuracy.labelled),
                             percent(accuracy.top5, accuracy.labelled),
                             counted(static_cast<int64_t>(accuracy.labelled), "picture"));
  } else {
    std::cout << fmt::format("{} without classes\n", counted(static_cast<int64_t>(evaluation.pictures), "picture"));
  }
  if (!flags.against.empty()) {
    std::cout << fmt::format("decisions that {} changes: {} of {} ({:.2f} % agree)\n", flags.against,
                             evaluation.changed, evaluation.pictures,
                             percent(evaluation.pictures - evaluation.changed, evaluation.pictures));
    if (const evaluate::Accuracy &other = evaluation.otherAccuracy; other.labelled)
      std::cout << fmt::format("{}: top-1 {:.2f} %, top-5 {:.2f} %\n", flags.against,
                               percent(other.top1, other.labelled), percent(other.top5, other.labelled));
  }
  std::cout << fmt::format("latency: median {}, p05 {}, p95 {}, p99 {}, max {}\n", secondsText(latency.median),
                           secondsText(latency.p05), secondsText(latency.p95), secondsText(latency.p99),
                           secondsText(latency.max));
}

json evaluationJson(const Evaluation &evaluation, const lab::Summary &latency, const EvaluateFlags &flags) {
  json document{{"model", flags.model.model},
                {"pictures", evaluation.pictures},
                {"latency", lab::toJson(latency)},
                {"decisions", evaluation.decisions}};
  if (evaluation.confusion) {
    document["labelled"] = evaluation.accuracy.labelled;
    document["top1"] = evaluation.accuracy.top1;
    document["top5"] = evaluation.accuracy.top5;
    document["classes"] = cli::toJson(classTable(evaluation));
    json matrix = json::array();
    std::vector<size_t> present = evaluation.confusion->present();
    for (size_t label : present)
      for (size_t decision : present)
        if (size_t count = evaluation.confusion->of(label, decision))
          matrix.push_back({{"class", label}, {"decision", decision}, {"count", count}});
    document["confusion"] = matrix;
  }
  if (!flags.against.empty()) {
    document["against"] = flags.against;
    document["changed"] = evaluation.changed;
    if (evaluation.otherAccuracy.labelled) {
      document["other_top1"] = evaluation.otherAccuracy.top1;
      document["other_top5"] = evaluation.otherAccuracy.top5;
    }
  }
  return document;
}

/// Adds counts of the confusion matrix as figures, "confusion 3 5" for class 3 taken for class 5, and the names of
/// these classes. Adds none if more than 4096 are not 0, because a point is one line of an archive.
void addConfusion(store::Point &point, const evaluate::Confusion &confusion, const std::vector<std::string> &names) {
  std::map<std::string, double> counts;
  std::vector<size_t> present = confusion.present();
  for (size_t label : present)
    for (size_t decision : present)
      if (size_t count = confusion.of(label, decision))
        counts[fmt::format("confusion {} {}", label, decision)] = static_cast<double>(count);
  if (counts.size() > 4096)
    return;
  point.figures.merge(counts);
  for (size_t label : present)
    if (label < names.size())
      point.problem.detail["classes"][std::to_string(label)] = names[label];
}

/// The last name of a path, which may end in '/'.
std::string lastName(const std::string &path) {
  std::filesystem::path plain = std::filesystem::path(path).lexically_normal();
  return (plain.has_filename() ? plain : plain.parent_path()).filename().string();
}

/// The point of our package: latencies as samples, shares of right and of changed decisions as figures.
store::Point pointOf(const Evaluation &evaluation, const Evaluator &evaluator, const EvaluateFlags &flags) {
  const runtime::Model &model = evaluator.model();
  store::Point point;
  point.problem = modelProblem(flags.model, model.source(), "on " + lastName(flags.data.data));
  point.provider = "lathe";
  point.providerVersion = LATHE_VERSION;
  point.setting = modelSetting(flags.model, 1, recordUse(model));
  point.implementation = model.target();
  Verification verification = verificationOf(flags.model, model);
  point.status = verification.verified ? store::PointStatus::passed : store::PointStatus::mistrusted;
  if (!verification.verified)
    point.reason = verification.text;
  auto share = [](size_t part, size_t whole) { return static_cast<double>(part) / static_cast<double>(whole); };
  point.figures["pictures"] = static_cast<double>(evaluation.pictures);
  if (const evaluate::Accuracy &accuracy = evaluation.accuracy; accuracy.labelled) {
    point.figures["top1"] = share(accuracy.top1, accuracy.labelled);
    point.figures["top5"] = share(accuracy.top5, accuracy.labelled);
    addConfusion(point, *evaluation.confusion, evaluation.names);
  }
  if (!flags.against.empty() && evaluation.pictures)
    point.figures["changed"] = share(evaluation.changed, evaluation.pictures);
  if (!evaluator.seconds().empty())
    point.rounds = lab::samplesOf({evaluator.seconds()}, {});
  return point;
}

} // namespace

int evaluateVerb(const Arguments &arguments) {
  EvaluateFlags flags;
  Options options(
      "evaluate",
      "Classify pictures with a model: top-1 and top-5 accuracy, precision, recall and F1 of each class, the "
      "confusion\n"
      "matrix and the latency. With --against, count the pictures for which another model or runtime decides "
      "otherwise.",
      "  lathe evaluate resnet50.onnx --data val/ --labels labels.txt --fit crop --mean 0.485,0.456,0.406 --std "
      "0.229,0.224,0.225\n"
      "  lathe evaluate q.onnx --data val.csv --labels labels.txt --against resnet50.onnx --confusion confusion.svg\n"
      "  lathe evaluate flowers.tflite --data val/ --preprocess model\n"
      "  lathe evaluate digits.tflite --data test.npz --against digits.h5     arrays with an array labels\n"
      "  lathe evaluate q.onnx --data pictures/ --random-crops 200 --against onnxruntime\n");
  flags.add(options);
  options.parseAll(arguments);
  Recording recording(flags.record, store::ExperimentKind::evaluate, "evaluate", arguments, flags.settings());
  Evaluator evaluator(flags);
  Evaluation evaluation = evaluator.run();
  require(flags.confusion.empty() || evaluation.confusion,
          "--confusion {}: the pictures have no classes, expected a folder a class or a CSV file", flags.confusion);
  if (!flags.confusion.empty())
    evaluate::writeConfusion(flags.confusion, *evaluation.confusion, evaluation.names);
  lab::Summary latency = lab::summarize(evaluator.seconds());
  recording.add({pointOf(evaluation, evaluator, flags)});
  recording.finish();
  if (options.printsText()) {
    print(evaluation, latency, flags, options.tableStyle());
    std::cout << evaluator.pictures().rangeText() << skippedText(evaluator.skipped()) << recording.line();
  }
  json document = evaluationJson(evaluation, latency, flags);
  document["pixel_range"] = evaluator.pictures().pixelRange();
  document["skipped"] = skippedJson(evaluator.skipped());
  options.writeJson(document);
  return success;
}

} // namespace lathe::cli
