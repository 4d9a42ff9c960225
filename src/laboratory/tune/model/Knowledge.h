// What a store knows of other tasks: models for searchers to start from.
#pragma once

#include "store/Store.h"
#include "tune/ModelFile.h"
#include "tune/Transfer.h"
#include "tune/Tuner.h"

namespace lathe::tune {

class Knowledge {
public:
  /// The models start from the models of `start`, which were trained elsewhere. For a family of which nothing else is
  /// known, `modelFor` gives the model of `start`.
  explicit Knowledge(TrainedModels start = {}) : start(std::move(start)) {}

  /// Reads what the store has for the kernel families of the tasks. `here`: the target of the tasks on the
  /// platform with this key. The seed draws a sample where the store has more than a model may learn
  /// from (TransferLimits). `kind`: of all models, also of those to start from.
  void read(store::Store &store, const Target &here, const std::string &platform, const std::vector<TaskToTune> &tasks,
            const ModelKind &kind, uint64_t seed);

  /// The model that the searcher of a task starts from; null if nothing is known of other tasks.
  std::shared_ptr<const LearnedModel> modelFor(const Task &task);

  size_t tasks() const; // of the store, each once for each platform
  size_t schedules() const;

private:
  TrainedModels start;
  std::string platform;
  std::map<std::string, TransferModels> models; // by family

  std::shared_ptr<const LearnedModel> startOf(const std::string &family) const;
};

/// Trains a model of each kernel family on what the store has of it.
TrainedModels trainModels(store::Store &store, const Target &here, const std::string &platform, const ModelKind &kind,
                          uint64_t seed);

} // namespace lathe::tune
