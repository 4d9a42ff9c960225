// What a store knows of other tasks: models for searchers to start from.
#pragma once

#include "store/Store.h"
#include "tune/Transfer.h"
#include "tune/Tuner.h"

namespace lathe::tune {

class Knowledge {
public:
  Knowledge() = default; // nothing is known
  /// Reads what the store has for the kernel families of the tasks. `here`: the target of the tasks on the
  /// platform with this key. The seed draws a sample where the store has more than a model may learn
  /// from (TransferLimits).
  Knowledge(store::Store &store, const Target &here, const std::string &platform, const std::vector<TaskToTune> &tasks,
            const ModelKind &kind, uint64_t seed);

  /// The model that the searcher of a task starts from; null if nothing is known of other tasks.
  std::shared_ptr<const LearnedModel> modelFor(const Task &task);

  size_t tasks() const; // each once for each platform
  size_t schedules() const;

private:
  std::string platform;
  std::map<std::string, TransferModels> models; // by family
};

} // namespace lathe::tune
