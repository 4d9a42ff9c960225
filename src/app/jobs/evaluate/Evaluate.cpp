#include "jobs/evaluate/Evaluate.h"

#include "evaluate/ConfusionPicture.h"
#include "jobs/Progress.h"
#include "jobs/compare/Sides.h"
#include "jobs/samples/Classifiers.h"
#include "lab/StoreRecords.h"

#include <algorithm>
#include <filesystem>
#include <functional>

namespace lathe::jobs {
namespace {

using evaluate::LabelledPicture;
using nlohmann::json;

class Evaluator {
public:
  explicit Evaluator(const EvaluateJob &given)
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

  /// Of our package: the latencies as samples, shares of right and of changed decisions as figures.
  store::Point pointOf(const Evaluation &evaluation) const;

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
    require(flags.confusion.empty() || result.confusion,
            "--confusion {}: the pictures have no classes, expected a folder a class or a CSV file", flags.confusion);
    if (!flags.confusion.empty())
      evaluate::writeConfusion(flags.confusion, *result.confusion, result.names);
    result.latency = lab::summarize(ours.seconds());
    result.skipped = data.skipped;
    result.shown = flags.pictures;
    return std::move(result);
  }

private:
  EvaluateJob flags;
  PictureNotes notes; // with --preprocess model
  std::vector<std::string> labels;
  evaluate::Dataset data; // read before anything is compiled
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

  /// `scoresOf` has a model decide on a sample.
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

/// Counts of the confusion matrix as figures, "confusion 3 5" for class 3 taken for class 5, and the names of these
/// classes. None if more than 4096 are not 0: a point is a line of an archive.
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

store::Point Evaluator::pointOf(const Evaluation &evaluation) const {
  const runtime::Model &model = ours.loaded();
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
  if (!ours.seconds().empty())
    point.rounds = lab::samplesOf({ours.seconds()}, {});
  return point;
}

json settings(const EvaluateJob &job) {
  return {{"random_crops", job.data.crops},
          {"seed", job.seed},
          {"against", job.against},
          {"fit", job.pictures.fit},
          {"pixel_range", job.pictures.range},
          {"mean", job.pictures.mean},
          {"std", job.pictures.deviation}};
}

} // namespace

Evaluation evaluatePictures(const EvaluateJob &job) {
  Recording recording(job.record, store::ExperimentKind::evaluate, "evaluate", job.command, settings(job));
  Evaluator evaluator(job);
  Evaluation evaluation = evaluator.run();
  recording.add({evaluator.pointOf(evaluation)});
  recording.finish();
  evaluation.kept = recording.line();
  return evaluation;
}

} // namespace lathe::jobs
