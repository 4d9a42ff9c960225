// Learned cost models from which the search for a task's schedule starts, trained on a store's measurements of other
// tasks.
#pragma once

#include "store/Store.h"
#include "tune/ModelFile.h"
#include "tune/Transfer.h"
#include "tune/Tuner.h"

namespace lathe::tune {

class Knowledge {
public:
  /// Makes the models start from those of `start`, which were trained elsewhere. For a family of kernels without
  /// measurements, `modelFor` returns the model of `start`.
  explicit Knowledge(TrainedModels start = {}) : start(std::move(start)) {}

  /// Reads the measurements in the store for the kernel families of the tasks. `here`: the target of the tasks on the
  /// platform with this key. The seed draws a sample if the store has more than the limit for one model
  /// (TransferLimits). `kind`: the kind of all models, including those of `start`. `company`: what runs beside the
  /// tasks (store::Company::str); only measurements in the same company are read.
  void read(store::Store &store, const Target &here, const std::string &platform, const std::vector<TaskToTune> &tasks,
            const ModelKind &kind, uint64_t seed, const std::string &company = "");

  /// Returns the model from which the searcher of a task starts; null if nothing is known about other tasks.
  std::shared_ptr<const LearnedModel> modelFor(const Task &task);

  size_t tasks() const; // number of tasks in the store; a task counts once for each platform
  size_t schedules() const;

private:
  TrainedModels start;
  std::string platform;
  std::map<std::string, TransferModels> models; // models by kernel family

  std::shared_ptr<const LearnedModel> startOf(const std::string &family) const;
};

/// Trains a model for each kernel family on the measurements in the store.
TrainedModels trainModels(store::Store &store, const Target &here, const std::string &platform, const ModelKind &kind,
                          uint64_t seed);

} // namespace lathe::tune
