// What a model can do when several share a machine: which slots it takes, and how it uses them.
#pragma once

#include "machine/NumberList.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::jobs {

/// A move of a model. Slots are numbered from 0; slot i is the i-th CPU of the measurement. Several models may take the
/// same slot, and then share its CPU.
struct CorunMove {
  NumberList slots;
  /// Contexts that run at the same time. They divide the slots; more instances than slots share each slot.
  int instances = 1;
  int64_t batch = 0;   // extent of symbolic first dimensions; 0: the package has none
  bool streams = true; // false: kernels run one after the other, even where the package has streams
  size_t package = 0;  // which package of the model runs

  bool operator==(const CorunMove &) const = default;
  int threads() const; // number of threads of all instances
  std::string text() const;
  nlohmann::json json() const;
};

/// What the packages of a model allow.
struct CorunChoices {
  std::vector<bool> streams; // by package: it has streams
  bool openBatch = false;
};

/// What moves are made of: the number of slots, and the values to consider.
struct CorunSpace {
  int slots = 1;
  std::vector<int64_t> batches;
  std::vector<int64_t> instances;
};

/// True if so many instances can divide so many slots: one number divides the other.
bool canDivide(int slots, int instances);
/// The slots of each instance.
std::vector<NumberList> instancesOf(const CorunMove &move);

/// All moves of a model: every set of slots that is all of them, or a block of 1, 2, 4, ... at a multiple of its size,
/// with every number of instances that can divide it, every batch, streams on and off, and every package.
std::vector<CorunMove> movesOf(const CorunChoices &model, const CorunSpace &space);

/// The slots divided equally, in order; the first models get those that are left. With fewer slots than models, models
/// share slots in turn. One instance each, the first batch, the first package.
std::vector<CorunMove> equalMoves(const std::vector<CorunChoices> &models, const CorunSpace &space);
/// All slots for every model, otherwise as equalMoves.
std::vector<CorunMove> wholeMoves(const std::vector<CorunChoices> &models, const CorunSpace &space);

/// Reads moves from the file of --policy (docs/corun.md). Throws Error that names the file and the place.
std::vector<CorunMove> movesFromFile(const std::string &path, const std::vector<CorunChoices> &models,
                                     const CorunSpace &space);

} // namespace lathe::jobs
