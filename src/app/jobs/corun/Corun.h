// Divides the slots of the machine among models that run without end, and measures what each gets.
#pragma once

#include "jobs/Recording.h"
#include "jobs/ResourceOptions.h"
#include "jobs/corun/Models.h"
#include "jobs/corun/Search.h"
#include "lab/corun/Corun.h"

#include <functional>
#include <optional>

namespace lathe::jobs {

struct CorunJob {
  std::vector<std::string> models;   // as CorunModels takes them
  std::string policy = "equal";      // or "nash", "cooperative", or a file with the move of each model
  std::string payoff = "throughput"; // or "latency": what the policies nash and cooperative improve
  std::string weights;               // weight of each model's throughput, separated by commas; "": 1 each
  std::string batches;               // list of batches to consider, as parseCounts takes it; "": 1
  std::string instances = "1,2,4";   // list of numbers of instances to consider
  size_t maxMeasurements = 100;      // combinations that a search measures at most
  double margin = 0.03;              // share of a payoff below which a difference is no gain
  bool fresh = false;                // do not go on with an interrupted search
  lab::CorunOptions timing;
  ModelOptions loading; // how packages are loaded
  InputOptions inputs;
  RecordOptions record;
  ResourceOptions resources; // one value of each
  Arguments command;         // of `lathe corun`, as the store keeps them

  bool searches() const { return policy == "nash" || policy == "cooperative"; }
  /// How every point is measured.
  nlohmann::json settings() const;
};

struct Corun {
  const CorunModels *models = nullptr;
  NumberList cpus; // CPU of each slot
  std::optional<CorunSearch> search;
  size_t known = 0;                        // combinations of an interrupted search, which were not measured again
  size_t doubted = 0;                      // combinations of the search with too few runs of some model
  size_t disturbed = 0;                    // combinations of the search during which other programs ran
  std::vector<CorunMove> moves;            // of each model; empty: a search found no combination to measure
  lab::CorunResult result;                 // of these moves
  std::vector<std::string> wrong;          // why a model's figures are wrong or not trusted, by model; "": they are
  std::string resources;                   // lab::Resources::text
  std::map<std::string, std::string> held; // lab::HeldResources::readBack
  std::string kept;                        // Recording::line
};

/// Called once: at the end, or with what was measured when a signal ends the process.
using CorunReport = std::function<void(const Corun &corun, bool finished)>;

/// Does the job. Returns false if outputs or figures of a model are wrong or not trusted.
bool corun(const CorunJob &job, const CorunReport &report);

} // namespace lathe::jobs
