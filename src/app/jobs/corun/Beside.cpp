#include "jobs/corun/Beside.h"

#include "lab/resources/Placement.h"

#include <algorithm>

namespace lathe::jobs {

static InputOptions randomInputs() {
  InputOptions inputs;
  inputs.fill = "random";
  return inputs;
}

static lab::CpusOfBoth chosenCpus(const BesideOptions &options, int measuredThreads) {
  auto cpus = lab::cpusOfBoth(readTopology(), measuredThreads, options.threads, options.place);
  require(cpus.done(), "--beside: {}", cpus.done() ? "" : cpus.reason());
  return *cpus;
}

Beside::Beside(const BesideOptions &options, int measuredThreads)
    : models({options.package}, ModelOptions(), randomInputs()), cpus(chosenCpus(options, measuredThreads)) {
  NumberList all = lab::CpuAffinity::read();
  CorunMove move = wholeMoves(models.choices(), {int(all.size()), {1}, {1}}).front();
  move.slots.clear();
  for (int cpu : cpus.beside)
    move.slots.push_back(int(std::find(all.begin(), all.end(), cpu) - all.begin()));
  std::sort(move.slots.begin(), move.slots.end());
  std::string mistrust = models.mistrusted(0, move);
  require(mistrust.empty(), "--beside {}: its outputs are mistrusted: {}", options.package, mistrust);
  models.addTo(named, 0, move);
  named.place = cpus.place;
  named.leastRuns = options.leastRuns;
  running = std::make_shared<lab::PackageCompanion>(models.member(0, move, all), options.leastRuns);
}

} // namespace lathe::jobs
