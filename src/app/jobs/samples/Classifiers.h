// Models that classify pictures and arrays: packages, and models in other runtimes.
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

/// Something that gives scores to classes.
class Classifier {
public:
  virtual ~Classifier() = default;
  /// A score a class; quantised scores are real numbers here.
  virtual Tensor scores(const evaluate::Picture &picture) = 0;
  /// The same of arrays, which become inputs as they are: by their names, or the only array for the only input. Floats are
  /// quantised where the input has a scale; `file` has them, for messages.
  virtual Tensor scores(const evaluate::SampleArrays &arrays, const std::string &file) = 0;
};

/// A package. It quantises pictures with its own scale.
class PackageClassifier : public Classifier {
public:
  explicit PackageClassifier(const ModelOptions &flags);

  const runtime::Port &input() const { return model->inputs()[0]; }
  const runtime::Model &loaded() const { return *model; }
  const std::string &file() const { return path; }
  /// Throws Error if the model has several inputs: pictures are one.
  void requireOneInput() const;
  /// How pictures become inputs. Call it once, before `scores` of pictures. Throws Error if the input is no picture.
  void prepare(const PictureOptions &pictures) { how = pictures.of(input()); }

  Tensor scores(const evaluate::Picture &picture) override;
  Tensor scores(const evaluate::SampleArrays &arrays, const std::string &file) override;
  /// What the last sample became, one tensor an input.
  const std::vector<Tensor> &lastInputs() const { return last; }
  /// Of each run.
  const std::vector<double> &seconds() const { return times; }

private:
  std::string path; // of the package
  std::shared_ptr<const runtime::Model> model;
  runtime::Context context;
  std::string called; // the model in messages
  evaluate::Preprocessing how;
  std::vector<Tensor> last;
  std::vector<double> times;

  Tensor run();

  PackageClassifier(Package package, const ModelOptions &flags);
};

/// The model of `ours` in another runtime, in a process of its own. It gets the last input of `ours`, which must outlive it.
class RunnerClassifier : public Classifier {
public:
  /// `name`: of the runner. Throws Error if the runner does not read the model.
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
