// Instances of a package that run at the same time: what each must compute, the CPUs they get, and their runs as points
// of the store. For `lathe corun` and `lathe bench --instances`.
#pragma once

#include "jobs/Inputs.h"
#include "jobs/corun/Moves.h"
#include "lab/corun/Corun.h"
#include "store/Records.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathe::jobs {

/// One run of a package alone, on one thread and without streams. Every run of an instance must compute the same.
struct ExpectedRun {
  std::map<std::string, std::string> files; // path of the .npy file of each input
  std::string inputText;                    // as Prepared::inputText
  std::string outputs;                      // lab::outputsHash
  std::string mistrust;                     // the reason why the outputs cannot be checked; ""
};

/// Runs `model`, the package in the file `package`, and writes its inputs to the files `stem`-0.npy, `stem`-1.npy, ...
/// `shapes` as in ModelOptions. Throws Error if the package cannot run, and for an input that is not a tensor.
ExpectedRun expectedRun(const std::string &package, const std::shared_ptr<const runtime::Model> &model,
                        const InputOptions &inputs, const std::vector<std::string> &shapes,
                        const std::filesystem::path &stem);

/// The instances of `move`, ready to be measured on `cpus`, the CPUs of the slots.
lab::CorunMember memberOf(const std::string &package, const ExpectedRun &run, const CorunMove &move,
                          const NumberList &cpus);

/// Gives a point the move as part of its key.
void setMove(store::Point &point, const CorunMove &move);
/// Gives a point, which has its status, its runs. `starts`: number of turns in each process start.
void setRuns(store::Point &point, const lab::CorunRuns &runs, const CorunMove &move, const std::vector<size_t> &starts);

/// How runs are timed, for the settings of an experiment.
nlohmann::json timingSettings(const lab::CorunOptions &timing);

/// Inputs a second of all instances of a move.
double inputsPerSecond(const lab::CorunRuns &runs, const CorunMove &move);

} // namespace lathe::jobs
