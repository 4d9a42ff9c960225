#include "jobs/corun/Search.h"

#include <algorithm>

namespace lathe::jobs {

using lab::Combination;

std::vector<CorunMove> CorunSearch::movesAt(const Combination &combination) const {
  std::vector<CorunMove> chosen;
  for (size_t i = 0; i < combination.size(); ++i)
    chosen.push_back(moves[i][combination[i]]);
  return chosen;
}

std::optional<double> CorunSearch::welfareAt(const Combination &combination) const {
  auto found = payoffs.find(combination);
  return found == payoffs.end() ? std::nullopt : std::optional(welfare(found->second));
}

const lab::Equilibrium *CorunSearch::equilibrium(bool best) const {
  auto less = [&](const lab::Equilibrium &a, const lab::Equilibrium &b) {
    return welfare(a.payoffs) < welfare(b.payoffs);
  };
  auto found = best ? std::max_element(equilibria.begin(), equilibria.end(), less)
                    : std::min_element(equilibria.begin(), equilibria.end(), less);
  return found == equilibria.end() ? nullptr : &*found;
}

std::optional<double> CorunSearch::priceOfAnarchy() const {
  const lab::Equilibrium *worst = equilibrium(false);
  return optimum && worst ? std::optional(optimum->welfare / welfare(worst->payoffs)) : std::nullopt;
}

namespace {

/// The combination of these moves, which are added to those of their models if missing.
Combination indicesOf(CorunSearch &search, const std::vector<CorunMove> &moves) {
  Combination combination;
  for (size_t i = 0; i < moves.size(); ++i) {
    auto &known = search.moves[i];
    auto found = std::find(known.begin(), known.end(), moves[i]);
    combination.push_back(size_t(found - known.begin()));
    if (found == known.end())
      known.push_back(moves[i]);
  }
  return combination;
}

void findEquilibria(CorunSearch &found, const lab::Game &game) {
  auto add = [&](const Combination &at) {
    bool known = std::any_of(found.equilibria.begin(), found.equilibria.end(),
                             [&](const lab::Equilibrium &one) { return one.combination == at; });
    if (auto equilibrium = known ? std::nullopt : lab::equilibriumAt(game, at))
      found.equilibria.push_back(*equilibrium);
  };
  for (const lab::Walk &walk : found.walks)
    if (walk.ending == lab::Ending::equilibrium)
      add(walk.path.back());
  if (found.allEquilibria)
    lab::forEachCombination(game.moves, add);
}

} // namespace

CorunSearch search(SearchRequest request, const std::function<void(const CorunSearch &soFar)> &watch) {
  CorunSearch found;
  found.moves = std::move(request.moves);
  found.welfare = request.welfare;
  found.equal = indicesOf(found, request.equal);
  Combination whole = indicesOf(found, request.whole), first(found.equal.size(), 0), last;
  lab::Game game;
  for (const auto &moves : found.moves) {
    game.moves.push_back(moves.size());
    last.push_back(moves.size() - 1);
  }
  found.combinations = game.combinations();
  game.margin = request.margin;
  lab::PayoffMemo memo(
      [&](const Combination &at) {
        watch(found);
        lab::Payoffs measured = request.payoffs(at);
        if (measured)
          found.payoffs[at] = *measured;
        return measured;
      },
      request.most);
  game.payoffs = [&](const Combination &at) { return memo(at); };
  memo(found.equal);
  std::vector<Combination> beginnings{found.equal, whole, first, last};
  if (request.nash)
    for (const Combination &from : beginnings)
      found.walks.push_back(lab::bestResponses(game, from));
  for (const lab::Walk &walk : found.walks)
    beginnings.push_back(walk.path.back());
  found.optimum = lab::cooperative(game, found.welfare, beginnings, request.most);
  found.allEquilibria = request.nash && found.payoffs.size() == found.combinations;
  found.spent = memo.spent();
  findEquilibria(found, game);
  watch(found);
  return found;
}

} // namespace lathe::jobs
