#include "tune/model/SearchStudy.h"

#include "lab/judging/Statistics.h"

#include <algorithm>
#include <cstdio>

namespace lathe::tune {

constexpr double matters = 1.05; // of the median of random schedules over the best known
constexpr size_t forMedian = 300;

double Studied::randomOff() const {
  std::vector<double> first(random.begin(), random.begin() + std::ptrdiff_t(std::min(forMedian, random.size())));
  return first.empty() ? 0 : lab::median(first) / best;
}

bool Studied::counts() const { return randomOff() > matters; }

double trialsTo(const Search &search, double seconds) {
  for (size_t i = 0; i < search.seconds.size(); ++i)
    if (search.seconds[i] <= seconds)
      return double(i + 1);
  return never;
}

static std::vector<double> trialsOf(const Studied &studied, const std::string &searcher) {
  std::vector<double> needed;
  for (const Search &search : studied.searches.at(searcher))
    needed.push_back(trialsTo(search, near * studied.best));
  return needed;
}

static std::string number(double value) { return value < never ? fmt::format("{:.0f}", value) : "more"; }

void printTasks(const std::vector<Studied> &all) {
  std::printf("| task | network, threads | points | random median over best | prior over best | counts |\n"
              "|---|---|---|---|---|---|\n");
  for (const Studied &studied : all)
    std::printf("| %s | %s, %d | %.3g | %.2f | %.3f | %s |\n", studied.task->task.task.label.c_str(),
                studied.task->network.c_str(), studied.task->threads, studied.points, studied.randomOff(),
                studied.priorOff, studied.counts() ? "yes" : "no");
}

/// Number of the trials of a search that end within so many seconds.
static size_t trialsWithin(const Search &search, double seconds) {
  size_t count = 0;
  for (double spent = 0; count < search.cost.size() && (spent += search.cost[count]) <= seconds;)
    ++count;
  return count;
}

/// The best time after some trials over the best known, over all searches of tasks that count.
template <class Trials>
static std::string bestAfter(const std::vector<Studied> &all, const std::string &searcher, const Trials &trials) {
  std::vector<double> ratios;
  for (const Studied &studied : all) {
    if (!studied.counts())
      continue;
    for (const Search &search : studied.searches.at(searcher)) {
      auto end = search.seconds.begin() + std::ptrdiff_t(std::clamp<size_t>(trials(search), 1, search.seconds.size()));
      ratios.push_back(*std::min_element(search.seconds.begin(), end) / studied.best);
    }
  }
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", lab::median(ratios), lab::percentile(ratios, 10),
                     lab::percentile(ratios, 90));
}

static void printNeeded(const std::vector<Studied> &all, const std::vector<std::string> &searchers) {
  std::printf("\n| searcher | trials to 3 %% | most | searches that did not get there |\n|---|---|---|---|\n");
  for (const std::string &searcher : searchers) {
    std::vector<double> medians, every;
    for (const Studied &studied : all)
      if (studied.counts()) {
        std::vector<double> needed = trialsOf(studied, searcher);
        medians.push_back(lab::median(needed));
        every.insert(every.end(), needed.begin(), needed.end());
      }
    auto missed = std::count(every.begin(), every.end(), never);
    std::printf("| `%s` | %s | %s | %ld of %zu |\n", searcher.c_str(), number(lab::median(medians)).c_str(),
                number(*std::max_element(medians.begin(), medians.end())).c_str(), long(missed), every.size());
  }
}

void printSearchers(const std::vector<Studied> &all, const std::vector<std::string> &searchers) {
  printNeeded(all, searchers);
  constexpr size_t trials[] = {1, 2, 4, 8, 16, 32, 64, 128, 256}, seconds[] = {1, 2, 4, 8, 16, 32};
  auto head = [&](const char *first) {
    std::printf("\n| %s |", first);
    for (const std::string &searcher : searchers)
      std::printf(" `%s` |", searcher.c_str());
    std::printf("\n|---|");
    for (size_t i = 0; i < searchers.size(); ++i)
      std::printf("---|");
    std::printf("\n");
  };
  auto rows = [&](auto &&numbers, auto &&trialsAfter) {
    for (size_t after : numbers) {
      std::printf("| %zu |", after);
      for (const std::string &searcher : searchers)
        std::printf(" %s |",
                    bestAfter(all, searcher, [&](const Search &one) { return trialsAfter(one, after); }).c_str());
      std::printf("\n");
    }
  };
  head("best after so many trials");
  rows(trials, [](const Search &, size_t after) { return after; });
  head("best after so many seconds");
  rows(seconds, [](const Search &search, size_t after) { return trialsWithin(search, double(after)); });
}

void printSearches(const std::vector<Studied> &all, const std::vector<std::string> &searchers) {
  std::printf("\n| task |");
  for (const std::string &searcher : searchers)
    std::printf(" `%s` |", searcher.c_str());
  std::printf("\n|---|");
  for (size_t i = 0; i < searchers.size(); ++i)
    std::printf("---|");
  for (const Studied &studied : all) {
    if (!studied.counts())
      continue;
    std::printf("\n| %s |", studied.task->task.task.label.c_str());
    for (const std::string &searcher : searchers) {
      std::vector<double> needed = trialsOf(studied, searcher);
      std::printf(" %s (%s to %s) |", number(lab::median(needed)).c_str(),
                  number(*std::min_element(needed.begin(), needed.end())).c_str(),
                  number(*std::max_element(needed.begin(), needed.end())).c_str());
    }
  }
  std::printf("\n");
}

} // namespace lathe::tune
