// Classifiers of pictures and arrays: packages, and models in other runtimes.
#pragma once

#include "evaluate/Dataset.h"
#include "jobs/ModelOptions.h"
#include "jobs/Packages.h"
#include "jobs/samples/PictureOptions.h"
#include "lab/compare/Runner.h"
#include "process/TemporaryDirectory.h"
#include "runtime/Context.h"

#include <string>
#include <vector>

namespace lathe::jobs {

/// A model that classifies: it gives scores to classes.
class Classifier {
public:
  virtual ~Classifier() = default;
  /// Returns the scores of a picture, one for each class; quantised scores are converted to real numbers.
  virtual Tensor scores(const evaluate::Picture &picture) = 0;
  /// Returns the scores of a sample of arrays. An array is the input of its name; a single array is the single input,
  /// whatever its name. Floats are quantised if the input has a scale. `file`: where the arrays are from, for
  /// messages.
  virtual Tensor scores(const evaluate::SampleArrays &arrays, const std::string &file) = 0;
};

/// A classifier that runs a package. It quantises pictures with the package's scale.
class PackageClassifier : public Classifier {
public:
  explicit PackageClassifier(const ModelOptions &flags);

  const runtime::Port &input() const { return model->inputs()[0]; }
  const runtime::Model &loaded() const { return *model; }
  const std::string &file() const { return path; }
  /// Throws Error if the model has several inputs, because a picture is one input.
  void requireOneInput() const;
  /// Sets how pictures become inputs. Call it once, before `scores` of pictures. Throws Error if the input is no
  /// picture.
  void prepare(const PictureOptions &pictures) { how = pictures.of(input()); }

  Tensor scores(const evaluate::Picture &picture) override;
  Tensor scores(const evaluate::SampleArrays &arrays, const std::string &file) override;
  /// The input tensors that were made from the last sample.
  const std::vector<Tensor> &lastInputs() const { return last; }
  /// The seconds that each run so far has taken.
  const std::vector<double> &seconds() const { return times; }

private:
  std::string path; // path of the package
  std::shared_ptr<const runtime::Model> model;
  runtime::Context context;
  std::string called; // name of the model in messages
  evaluate::Preprocessing how;
  std::vector<Tensor> last;
  std::vector<double> times;

  Tensor run();

  PackageClassifier(Package package, const ModelOptions &flags);
};

/// A classifier that runs the model of `ours` in another runtime, in a separate process. It gets the last input of
/// `ours`, which must outlive it.
class RunnerClassifier : public Classifier {
public:
  /// `name`: name of the runner. Throws Error if the runner does not read the model.
  RunnerClassifier(const std::string &name, const ModelOptions &flags, const PackageClassifier &ours);

  Tensor scores(const evaluate::Picture &picture) override;
  Tensor scores(const evaluate::SampleArrays &arrays, const std::string &file) override;

private:
  process::TemporaryDirectory directory{"evaluate"};
  lab::Runner runner;
  std::string name, output;
  const PackageClassifier &ours;
};

} // namespace lathe::jobs
