// The models of `lathe corun`: their packages, with inputs and the outputs that every run must have.
#pragma once

#include "jobs/Prepared.h"
#include "jobs/corun/Instances.h"
#include "process/TemporaryDirectory.h"
#include "store/Records.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::jobs {

struct CorunModel {
  std::string name;                  // as the user gave it
  std::vector<std::string> packages; // paths
  CorunChoices choices;
  Verification verification; // of the first package
};

class CorunModels {
public:
  /// Loads the packages; `given` has a text for each model, its packages separated by commas. Throws Error for a file
  /// that is no package, and for packages of one model that have different inputs.
  CorunModels(const std::vector<std::string> &given, const ModelOptions &loading, InputOptions inputs);

  const std::vector<CorunModel> &models() const { return all; }
  std::vector<CorunChoices> choices() const;

  /// Model `model` with its move, ready to be measured on `cpus`, the CPUs of the slots. Throws Error if the package
  /// cannot run.
  lab::CorunMember member(size_t model, const CorunMove &move, const NumberList &cpus);
  /// The reason why the outputs of this move cannot be checked, such as "output 'y' is constant"; "": they can.
  std::string mistrusted(size_t model, const CorunMove &move) { return runOf(model, move).mistrust; }
  /// The point of a move, without company and without results.
  store::Point point(size_t model, const CorunMove &move);
  /// Adds a model with its move to what runs beside another one: its name, the provider and the threads.
  void addTo(store::Company &company, size_t model, const CorunMove &move);

private:
  std::vector<CorunModel> all;
  ModelOptions loading;
  InputOptions inputs;
  process::TemporaryDirectory folder{"corun-inputs"};
  std::vector<std::vector<std::shared_ptr<const runtime::Model>>> loaded; // by model and package
  std::map<std::tuple<size_t, size_t, int64_t>, ExpectedRun> runs;        // by model, package and batch

  const ExpectedRun &runOf(size_t model, const CorunMove &move);
};

} // namespace lathe::jobs
