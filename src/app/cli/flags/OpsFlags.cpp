#include "cli/flags/OpsFlags.h"

#include "cli/flags/BesideFlags.h"
#include "cli/flags/Describe.h"
#include "cli/flags/ResourceFlags.h"
#include "jobs/ops/ProblemLists.h"

#include <algorithm>

namespace lathe::cli {

void OpsFlags::add(Options &options) {
  addProblems(options);
  addSettings(options);
  addResources(options, resources, true);
  addCompany(options);
  addEffort(options);
  options.add_flag("--list", list, "Print the problems and end");
  options.add_flag("--dry-run", dryRun, "Print the number of points and the expected time, and end");
  options
      .add_option(
          "--via", bench.via,
          "Run the providers through a command that passes pipes: \"ssh board\", \"ip netns exec box\", \"sh -c\"")
      ->type_name("COMMAND");
  options
      .add_option("--via-directory", bench.viaDirectory,
                  "Find lathe-provider-* in this folder at the other end (default: the same as here)")
      ->type_name("DIR");
  options.afterParse([this, &options] { requireHonoured(options); });
  options.add_flag("--fresh", fresh, "Measure everything, also points of an interrupted run of the same command");
  options
      .add_option("--log", log,
                  "Append every measured row to FILE, one JSON object a line; rows that FILE has are read and not "
                  "measured again")
      ->type_name("FILE");
}

void OpsFlags::addProblems(Options &options) {
  std::string kinds = "kind of problem with its own short text (docs/problems.md), or an operator's name:\n";
  std::vector<std::string> names;
  for (const lab::ProblemSyntax &syntax : lab::problemSyntaxes()) {
    kinds += fmt::format("{:<11}{}\n", syntax.kind, syntax.form);
    names.emplace_back(syntax.kind);
  }
  kinds.pop_back();
  options.add_option("operator", kind, kinds)->check(offers(names));
  options.add_option("problem", texts,
                     "short texts with ranges, as ic{16,32}ih{14..56*2}oc64kh3ph1, or operators' own texts:\n"
                     "'conv x=1x64x56x56 w=64x64x3x3:const strides=1,1 dilations=1,1 pads=1,1,1,1 +relu'");
  options
      .add_option("--suite", suites,
                  "Take problems from published lists, as networks/resnet50 or 'deepbench/*' (list: show the suites)")
      ->check(offersList(offeredSuites()))
      ->delimiter(',');
  options.add_option("--problems", problems, "Look for the suites in this problem list only")->type_name("CSV");
  options
      .add_option(
          "--from-model", model,
          "Take the distinct problems that the kernels of a model compute, with what is fused into them; after an "
          "operator's name, only its problems")
      ->type_name("MODEL");
}

void OpsFlags::addSettings(Options &options) {
  HelpSection section(options, "Measuring");
  std::vector<std::string> known = lab::knownProviders();
  known.emplace_back("all");
  options
      .add_option(
          "--provider", providers,
          "Compare the first of these providers with each other one, separated by commas: NAME, NAME:VARIANT or "
          "NAME:all (every variant); all: every installed provider (default: lathe,onednn)")
      ->check(offersList(known));
  options.add_option("--threads", threads, "Measure with these numbers of threads, separated by commas")
      ->capture_default_str();
  options
      .add_option(
          "--type", types,
          "Set element types of short texts, separated by commas: f32, bf16, f16, int8 (u8:s8:s32), i8 (s8:s8:s32)")
      ->check(offersList({"f32", "bf16", "f16", "int8", "i8"}))
      ->capture_default_str();
  options.add_option("--batch", batches, "Replace the problems' batch by these, separated by commas");
  options
      .add_option("--cache", caches, "Measure in these cache states, separated by commas: hot, cold, cold-constants")
      ->check(offersList({"hot", "cold", "cold-constants"}))
      ->capture_default_str();
  options
      .add_option("--layout", layouts,
                  "Measure with activations in these layouts, separated by commas: any, row, blocked, channels_last")
      ->check(offersList({"any", "row", "blocked", "channels_last"}))
      ->capture_default_str();
  options
      .add_option(
          "--schedule", schedules,
          "Measure these schedules of ours, separated by commas: default, records (the fastest known), or a text")
      ->check(offersList({"default", "records"}))
      ->capture_default_str();
  options.add_option("--epilogue", epilogue,
                     "Set the epilogue of short texts of convolutions and fc: none, or bias, add and relu joined by + "
                     "(default: bias+relu; none for integer types)");
}

void OpsFlags::addCompany(Options &options) {
  HelpSection section(options, "Measuring");
  CLI::Option *companions = options.add_option(
      "--beside", beside,
      "Measure each point alone and, in turns with it, while this problem runs without end on other "
      "CPUs: a text like those of the measured problems, or KIND:TEXT; give it again for another one");
  repeatable(companions)->type_name("PROBLEM");
  addBesideSettings(options, besideThreads, besidePlace, besideRuns);
}

void OpsFlags::addEffort(Options &options) {
  HelpSection section(options, "Measuring");
  options
      .add_option("--repetitions", repetitions,
                  "Time at least this many rounds in the first --starts starts; once --max-seconds are used up, three "
                  "rounds per start")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  options
      .add_option(
          "--starts", bench.minStarts,
          "Start every provider at least this often; more follow until the verdict is decided or time is up (1: no "
          "more, and no verdict; `lathe ops diff` needs 6)")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  options
      .add_option("--max-starts", bench.maxStarts,
                  "Start every provider at most this often; the verdict then stays ambiguous")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  options
      .add_option("--max-seconds", bench.maxSeconds,
                  "Time a row for at most this long, preparation and checks excluded, in seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options
      .add_option("--max-minutes", minutes,
                  "Begin no row after this time, in minutes, and make no more starts than --starts (0: no limit)")
      ->check(CLI::NonNegativeNumber);
  options.add_option("--timeout", bench.timeouts.run, "Give up a request to a provider after this time, in seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options
      .add_option(
          "--memory-limit", bench.limits.residentBytes,
          "Stop a provider whose resident memory exceeds this, such as 4GB; its points then fail (default 0: no limit)")
      ->transform(CLI::AsSizeValue(false));
  options.add_option("--seed", bench.seed, "Set the seed of the random operands")->capture_default_str();
  options.add_flag("--check-only", bench.checkOnly, "Compare outputs without timing");
}

void OpsFlags::requireHonoured(const Options &options) const {
  bool open = !suites.empty() || std::any_of(texts.begin(), texts.end(), isShort);
  if (!open && (!model.empty() || !texts.empty()))
    options.refuse({"--type", "--epilogue"},
                   "only short texts and suites leave it open, a model and operators' own texts say it themselves");
  if (suites.empty())
    options.refuse({"--problems"}, "the list is only read with --suite");
  if (!beside.empty())
    options.refuse({"--cpus"}, "--beside binds both sides to CPUs of its own choice (--beside-place)");
  if (!bench.via.empty())
    options.refuse({"--beside"}, "the CPUs at the other end of --via are not known");
  if (bench.via.empty())
    options.refuse({"--via-directory"}, "the providers only run elsewhere with --via");
  else
    options.refuse(resourceFlags, "they are held on this machine, and --via runs the providers elsewhere");
  if (bench.checkOnly) {
    options.refuse({"--cache", "--repetitions", "--starts", "--max-starts", "--max-seconds", "--beside-runs"},
                   "--check-only times nothing");
    options.refuse(resourceFlags, "--check-only times nothing");
  }
  if (list)
    options.refuse({"--dry-run"}, "--list prints the problems and ends");
  if (list || dryRun)
    options.refuse({"--json", "--log", "--fresh"}, "nothing is measured with --list and --dry-run");
  require(!options.given("--max-starts") || bench.maxStarts >= bench.minStarts,
          "--max-starts {}: is less than --starts {}", bench.maxStarts, bench.minStarts);
  require(!options.given("--max-starts") || bench.minStarts > 1,
          "--max-starts {}: --starts 1 is one process and no more", bench.maxStarts);
}

void addNetwork(Options &options, OpsOptions &network, const char *help) {
  auto *model = options.add_option("--from-model", network.model, help)->type_name("MODEL");
  options
      .add_option("--suite", network.suites,
                  "Use a suite of problems instead of a network; its list says how often each problem occurs")
      ->delimiter(',')
      ->excludes(model);
  options.add_option("--problems", network.problems, "Look for the suite in this problem list only")->type_name("CSV");
  options
      .add_option("--epilogue", network.epilogue,
                  "Set the epilogue of the suite's convolutions and fc: none, or bias, add and relu joined by + "
                  "(default: bias+relu)")
      ->capture_default_str();
  options.afterParse([&options, &network] {
    if (network.suites.empty())
      options.refuse({"--problems", "--epilogue"}, "no list of problems is read without --suite");
  });
}

} // namespace lathe::cli
