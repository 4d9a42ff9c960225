#include "cli/flags/BesideFlags.h"

namespace lathe::cli {

void addBesideSettings(Options &options, int &threads, std::string &place, int &leastRuns) {
  options.add_option("--beside-threads", threads, "Run what --beside names with this number of threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  std::vector<std::string> places(lab::placeNames().begin(), lab::placeNames().end());
  places.emplace_back("any");
  options
      .add_option("--beside-place", place,
                  "Run it on CPUs that share this with those of the measured side: core (the other threads of its "
                  "cores), cache (the last level), socket, machine (another socket); any: the first of cache, socket, "
                  "machine and core with enough CPUs")
      ->check(CLI::IsMember(places))
      ->capture_default_str();
  options
      .add_option("--beside-runs", leastRuns,
                  "Mistrust what was measured if fewer of its runs than this end beside the timed runs of a start")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  options.afterParse([&options] {
    if (!options.given("--beside"))
      options.refuse({"--beside-threads", "--beside-place", "--beside-runs"}, "nothing runs beside without --beside");
  });
}

void addBeside(Options &options, BesideOptions &beside, const char *help) {
  HelpSection section(options, "Company");
  options.add_option("--beside", beside.package, help)->type_name("F.lathe");
  options.reads([&beside] { return beside.package.empty() ? Arguments{} : Arguments{beside.package}; });
  addBesideSettings(options, beside.threads, beside.place, beside.leastRuns);
}

} // namespace lathe::cli
