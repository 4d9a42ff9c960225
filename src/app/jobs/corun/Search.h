// Searches the moves of models for equilibria and for the optimum. Measures nothing by itself.
#pragma once

#include "jobs/corun/Moves.h"
#include "lab/corun/Game.h"

#include <map>
#include <optional>
#include <vector>

namespace lathe::jobs {

/// What a search found. Combinations have indices into `moves`.
struct CorunSearch {
  std::vector<std::vector<CorunMove>> moves;               // of each model
  std::map<lab::Combination, std::vector<double>> payoffs; // of the measured combinations
  size_t combinations = 0;                                 // number of combinations that exist
  bool spent = false;                                      // the largest number of measurements was reached
  lab::Combination equal;
  std::vector<lab::Walk> walks; // of best responses; none if only the optimum was searched
  std::vector<lab::Equilibrium> equilibria;
  bool allEquilibria = false; // every combination is measured, so there are no others
  std::optional<lab::Optimum> optimum;
  lab::Welfare welfare;

  std::vector<CorunMove> movesAt(const lab::Combination &combination) const;
  /// The welfare of a combination; empty: not measured.
  std::optional<double> welfareAt(const lab::Combination &combination) const;
  /// The equilibrium with the highest welfare (`best`) or the lowest; null: none was found.
  const lab::Equilibrium *equilibrium(bool best) const;
  /// Welfare of the optimum / welfare of the worst equilibrium; empty if one of them is not known.
  std::optional<double> priceOfAnarchy() const;
};

struct SearchRequest {
  std::vector<std::vector<CorunMove>> moves; // of each model
  std::vector<CorunMove> equal, whole;       // combinations to begin with, which are added to `moves` if missing
  lab::Welfare welfare;
  bool nash = true; // false: search the optimum only
  double margin = 0;
  size_t most = 0;             // largest number of measured combinations
  lab::PayoffFunction payoffs; // measures a combination; indices into CorunSearch::moves
};

/// Searches. `watch` is called with the state before the first measurement and after each.
CorunSearch search(SearchRequest request, const std::function<void(const CorunSearch &soFar)> &watch);

} // namespace lathe::jobs
