#include "jobs/ops/OpsOptions.h"

#include "jobs/ModelOptions.h"
#include "jobs/Progress.h"
#include "jobs/Self.h"
#include "jobs/Terminal.h"
#include "jobs/ops/ProblemLists.h"
#include "lab/problems/TextRanges.h"
#include "process/ShellWords.h"
#include "process/TemporaryDirectory.h"
#include "schedule/Algorithms.h"
#include "support/Text.h"

#include <algorithm>

namespace lathe::jobs {
namespace {

using nlohmann::json;

std::vector<int64_t> numbers(const char *flag, const std::string &list, int64_t most) {
  std::vector<int64_t> result;
  for (const std::string &word : wordsOf(list)) {
    char *end = nullptr;
    long value = std::strtol(word.c_str(), &end, 10);
    require(!word.empty() && *end == 0 && value >= 1 && value <= most, "{}: '{}' is not a number from 1 to {}", flag,
            word, most);
    result.push_back(value);
  }
  return result;
}

/// Throws Error when the epilogue changes nothing of such a problem.
void requireEpilogueHonoured(const std::string &kind, const std::string &text, const lab::SyntaxOptions &syntax,
                             const std::string &epilogue) {
  lab::SyntaxOptions other = syntax;
  other.bias = !syntax.bias;
  other.epilogue.clear();
  if (syntax.epilogue.empty())
    other.epilogue.push_back("relu");
  require(lab::parseProblem(kind, text, syntax).str() != lab::parseProblem(kind, text, other).str(),
          "--epilogue {}: {} has none; only convolutions and fc do", epilogue, kind);
}

/// The problem with extent `batch` along the batch of its activations.
lab::Problem withBatch(lab::Problem problem, int64_t batch) {
  static const std::vector<std::string> batched = {"conv",   "conv_transpose", "max_pool",   "average_pool",
                                                   "resize", "gemm",           "softmax",    "layer_norm",
                                                   "lrn",    "batch_norm",     "group_norm", "conv_integer"};
  bool isBatched = std::find(batched.begin(), batched.end(), problem.op) != batched.end() ||
                   (problem.op == "matmul_integer" && problem.operands[0].dims.size() == 2);
  bool rows = problem.op == "gemm" && problem.attrsAs<GemmAttrs>().trans_a;
  require(isBatched && !rows && !problem.operands[0].dims.empty(), "--batch: '{}' has no batch", problem.str());
  problem.operands[0].dims[0] = batch;
  problem.check("--batch " + std::to_string(batch));
  return problem;
}

} // namespace

bool isShort(const std::string &text) { return text.find('=') == std::string::npos; }

ListedModel listModel(const std::string &model) {
  process::TemporaryDirectory directory("problems");
  auto file = (directory.path / "problems.json").string();
  runSelf({"ops", "problems", model, "--json", file, quietFlag()});
  ListedModel result;
  json document = json::parse(readFile(file));
  document.at("source").get_to(result.source);
  for (auto &entry : document.at("problems")) {
    lab::ListedProblem listed;
    listed.problem = lab::problemFromJson(entry.at("problem"));
    entry.at("kind").get_to(listed.kind);
    entry.at("text").get_to(listed.text);
    entry.at("name").get_to(listed.name);
    entry.at("count").get_to(listed.count);
    entry.at("nodes").get_to(listed.nodes);
    listed.suites = {model};
    result.problems.push_back(std::move(listed));
  }
  return result;
}

void OpsOptions::finish() {
  bench.maxStarts = bench.minStarts == 1 ? 1 : std::max(bench.maxStarts, bench.minStarts);
  bench.minRounds = repetitions;
  bench.maxRounds = std::max(bench.maxRounds, repetitions);
  notes = {chooseProviders(), startsNote()};
  std::erase(notes, "");
}

void OpsOptions::sayNotes() const {
  for (const std::string &note : notes)
    if (!Progress::isSilent())
      say(fmt::format("lathe ops bench: {}", note));
}

std::string OpsOptions::startsNote() const {
  auto few = [](int starts, size_t least) { return starts < int(least); };
  if (bench.checkOnly || !few(bench.minStarts, lab::leastStartsApart))
    return "";
  if (few(bench.maxStarts, lab::leastStarts))
    return fmt::format("{} at most: ratios have a range and no verdict, which needs {}",
                       counted(bench.maxStarts, "start"), lab::leastStarts);
  return fmt::format("--starts {}: `lathe ops diff` calls no point faster or slower with fewer than {} starts",
                     bench.minStarts, lab::leastStartsApart);
}

std::string OpsOptions::chooseProviders() {
  if (!providers.empty())
    return "";
  const std::string usual = "onednn";
  providers = lab::knownProviders().front() + "," + usual;
  auto missing = lab::findProvider(usual);
  if (missing.done())
    return "";
  std::vector<std::string> installed;
  for (const std::string &name : lab::knownProviders())
    if (name != "reference" && lab::findProvider(name).done())
      installed.push_back(name);
  if (installed.empty())
    fail("no provider is installed: {}", lab::findProvider(lab::knownProviders().front()).reason());
  providers = fmt::format("{}", fmt::join(installed, ","));
  return fmt::format("without {}: {}. Measured: {}", usual, missing.reason(), providers);
}

lab::SyntaxOptions OpsOptions::syntaxOf(const std::string &typeName) const {
  lab::SyntaxOptions syntax;
  try {
    setTypes(syntax, typeName);
  } catch (const Error &error) {
    fail("--type: {}", error.what());
  }
  setEpilogue(syntax, epilogue.empty() ? syntax.bytes() ? "none" : "bias+relu" : epilogue);
  require(!syntax.bytes() || !syntax.bias, "--epilogue {}: a product of {} has no bias", epilogue, typeName);
  return syntax;
}

std::vector<lab::ListedProblem> OpsOptions::ofKind(std::vector<lab::ListedProblem> entries, const std::string &source,
                                                   const lab::SyntaxOptions &syntax) const {
  const lab::ProblemSyntax *known = lab::findSyntax(kind);
  std::string wanted = known ? lab::parseProblem(kind, known->form, syntax).op : kind;
  require(kind.empty() || findOp(wanted),
          "'{}' is neither a kind of problem nor an operator (lathe ops bench --help has a list)", kind);
  if (!kind.empty())
    std::erase_if(entries, [&](const lab::ListedProblem &entry) { return entry.problem.op != wanted; });
  require(!entries.empty(), "{} has no {}", source, kind);
  return entries;
}

std::vector<lab::ListedProblem> OpsOptions::ofType(const std::string &typeName) const {
  lab::SyntaxOptions syntax = syntaxOf(typeName);
  auto shortOrOwn = [&](const lab::Problem &problem, const std::string &text) {
    if (syntax.type != ElementType::f32)
      return problem.str();
    return problem.op == "conv" && isShort(text) ? lab::shortText(problem) : text;
  };
  std::vector<lab::ListedProblem> entries;
  for (const std::string &given : texts)
    for (const std::string &text : lab::expandRanges(given)) {
      lab::Problem problem = lab::parseProblem(kind, text, syntax);
      if (!epilogue.empty() && !syntax.bytes() && isShort(text))
        requireEpilogueHonoured(kind, text, syntax, epilogue);
      entries.push_back({problem, kind, shortOrOwn(problem, text), text, {}, 1});
    }
  if (suites.empty())
    return entries;
  auto listed = lab::readProblems(problemLists(problems), suites, syntax);
  for (auto &entry : listed)
    entry.text = shortOrOwn(entry.problem, entry.text);
  for (auto &entry : ofKind(std::move(listed), fmt::format("--suite {}", fmt::join(suites, ",")), syntax))
    entries.push_back(std::move(entry));
  return entries;
}

std::vector<lab::ListedProblem> OpsOptions::listed() const {
  require(!kind.empty() || !model.empty() || !suites.empty(), "expected an operator, --suite or --from-model");
  std::vector<lab::ListedProblem> entries;
  if (!model.empty())
    entries = ofKind(listModel(model).problems, model, {});
  for (const std::string &typeName : wordsOf(types))
    for (lab::ListedProblem &entry : ofType(typeName))
      entries.push_back(std::move(entry));
  const lab::ProblemSyntax *known = lab::findSyntax(kind);
  require(!entries.empty(), "give problems (such as {}), --suite or --from-model",
          known ? known->form : "'conv x=1x64x56x56 w=64x64x3x3:const strides=1,1 dilations=1,1 pads=1,1,1,1'");
  lab::ProblemList list;
  if (batches.empty())
    for (auto &entry : entries)
      list.add(std::move(entry));
  else
    for (int64_t batch : numbers("--batch", batches, 1 << 20))
      for (lab::ListedProblem entry : entries) {
        entry.problem = withBatch(entry.problem, batch);
        entry.text = entry.problem.op == "conv" && types == "f32" && model.empty() ? lab::shortText(entry.problem)
                                                                                   : entry.problem.str();
        list.add(std::move(entry));
      }
  return list.take();
}

std::vector<lab::OpsSetting> OpsOptions::settings() const {
  std::vector<store::CacheState> states;
  for (const std::string &cache : wordsOf(caches))
    try {
      states.push_back(store::cacheState(cache));
    } catch (const Error &error) {
      fail("--cache: {}", error.what());
    }
  // Hot comes last: it uses what another state has prepared.
  std::stable_partition(states.begin(), states.end(), [](auto state) { return state != store::CacheState::hot; });
  std::vector<lab::ActivationLayout> wanted;
  for (const std::string &layout : wordsOf(layouts))
    try {
      wanted.push_back(lab::activationLayout(layout));
    } catch (const Error &error) {
      fail("--layout: {}", error.what());
    }
  std::vector<lab::OpsSetting> result;
  for (const lab::Resources &held : resources.all())
    for (int64_t count : numbers("--threads", threads, 1024)) {
      sayIfCrowded(count, held.cpus.size());
      for (lab::ActivationLayout layout : wanted)
        for (store::CacheState state : states) {
          lab::OpsSetting &setting = result.emplace_back();
          setting.threads = int(count);
          setting.cache = state;
          setting.layout = layout;
          setting.resources = held;
          addCompany(setting);
        }
    }
  return result;
}

std::vector<lab::Problem> OpsOptions::companionsOf(const std::string &word) const {
  size_t colon = word.find(':');
  std::string prefix = word.substr(0, colon);
  bool isNamed = colon != std::string::npos && (lab::findSyntax(prefix) || findOp(prefix));
  const std::string given = isNamed ? word.substr(colon + 1) : word, &of = isNamed ? prefix : kind;
  std::vector<lab::Problem> result;
  try {
    for (const std::string &text : lab::expandRanges(given))
      result.push_back(lab::parseProblem(of, text, syntaxOf("f32")));
  } catch (const Error &error) {
    fail("--beside {}: {}", word, error.what());
  }
  return result;
}

void OpsOptions::addCompany(lab::OpsSetting &setting) const {
  if (beside.empty())
    return;
  auto provider = lab::findProvider(lab::knownProviders().front());
  require(provider.done(), "--beside: {}", provider.done() ? "" : provider.reason());
  lab::OpsColumn column;
  column.provider = *provider;
  column.variant = "auto";
  auto cpus = lab::cpusOfBoth(readTopology(), setting.threads, besideThreads, besidePlace);
  require(cpus.done(), "--beside: {}", cpus.done() ? "" : cpus.reason());
  setting.cpus = *cpus;
  for (const std::string &word : beside)
    for (lab::Problem &problem : companionsOf(word)) {
      store::Company company{problem.str(), column.name(), besideThreads, cpus->place, besideRuns};
      require(std::none_of(setting.beside.begin(), setting.beside.end(),
                           [&](auto &other) { return other.company.problem == company.problem; }),
              "--beside {}: is given twice", word);
      setting.beside.push_back({std::move(company), std::move(problem), column});
    }
}

std::vector<std::string> OpsOptions::scheduleList() const {
  std::vector<std::string> result;
  for (const std::string &word : wordsOf(schedules))
    try {
      bool named = word == "default" || word == lab::recordedSchedule;
      result.push_back(word == "default" ? "" : named ? word : readSchedule(word).str());
    } catch (const Error &error) {
      fail("--schedule: {}; or default, or {}", error.what(), lab::recordedSchedule);
    }
  require(!result.empty(), "--schedule: expected default, {} or a schedule", lab::recordedSchedule);
  return result;
}

bool OpsOptions::readsRecords() const {
  auto list = scheduleList();
  return std::find(list.begin(), list.end(), lab::recordedSchedule) != list.end();
}

std::vector<lab::OpsColumn> OpsOptions::columns(const std::string &op) const {
  auto words = wordsOf(providers);
  if (providers == "all") {
    words.clear();
    std::string missing;
    for (auto &name : lab::knownProviders())
      if (auto found = lab::findProvider(name))
        words.push_back(name);
      else
        missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", name, found.reason());
    if (!missing.empty() && !Progress::isSilent())
      sayOnce("LATHE_MISSING_PROVIDERS_SAID", "--provider all leaves out " + missing);
  }
  std::vector<std::string> asked = scheduleList();
  std::vector<lab::OpsColumn> columns = lab::opsColumns(op, words, bench, asked);
  auto isOne = [](const std::string &schedule) { return !schedule.empty(); };
  require(std::none_of(asked.begin(), asked.end(), isOne) ||
              std::any_of(columns.begin(), columns.end(), [&](const lab::OpsColumn &c) { return isOne(c.schedule); }),
          "--schedule {}: none of {} takes schedules", schedules, providers);
  return columns;
}

std::string OpsOptions::repro(const lab::ListedProblem &entry, const lab::OpsSetting &setting,
                              const std::string &store) const {
  const OpsOptions defaults;
  std::vector<std::string> words = {"lathe", "ops", "bench", entry.kind, entry.text};
  auto add = [&](const char *flag, const std::string &value) { words.insert(words.end(), {flag, value}); };
  add("--provider", providers);
  add("--threads", std::to_string(setting.threads));
  add("--seed", std::to_string(bench.seed));
  for (const std::string &word : setting.resources.request.arguments())
    words.push_back(word);
  if (setting.cache != store::CacheState::hot)
    add("--cache", std::string(store::name(setting.cache)));
  if (setting.layout != lab::ActivationLayout::any)
    add("--layout", std::string(name(setting.layout)));
  if (schedules != defaults.schedules)
    add("--schedule", schedules);
  for (const lab::OpsBeside &one : setting.beside)
    add("--beside", one.company.problem);
  if (!setting.beside.empty()) {
    add("--beside-threads", std::to_string(besideThreads));
    add("--beside-place", setting.cpus.place);
    if (!bench.checkOnly)
      add("--beside-runs", std::to_string(besideRuns));
  }
  if (readsRecords() && !store.empty())
    add("--store", store);
  // A text that states an epilogue needs no flag, and a problem without epilogue accepts none.
  if (!epilogue.empty() && lab::parseProblem(entry.kind, entry.text).str() != entry.problem.str())
    add("--epilogue", epilogue);
  if (bench.checkOnly) {
    words.push_back("--check-only");
  } else { // also for default values, which may differ between versions
    add("--repetitions", std::to_string(repetitions));
    add("--starts", std::to_string(bench.minStarts));
    if (bench.minStarts > 1)
      add("--max-starts", std::to_string(bench.maxStarts));
    add("--max-seconds", fmt::format("{}", bench.maxSeconds));
  }
  if (bench.timeouts.run != defaults.bench.timeouts.run)
    add("--timeout", fmt::format("{}", bench.timeouts.run));
  if (bench.limits.residentBytes != defaults.bench.limits.residentBytes)
    add("--memory-limit", std::to_string(bench.limits.residentBytes));
  if (!bench.via.empty())
    add("--via", bench.via);
  if (!bench.viaDirectory.empty())
    add("--via-directory", bench.viaDirectory);
  return process::shellCommand(words);
}

} // namespace lathe::jobs
