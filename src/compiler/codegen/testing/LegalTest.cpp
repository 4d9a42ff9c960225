// `legal` predicts for every schedule what `generate` does, and tests break every constraint that algorithms declare.
//
// LATHE_SEED repeats a run; LATHE_SCHEDULES is the number of schedules drawn (2000).
#include "codegen/Generate.h"
#include "codegen/testing/RandomKernels.h"
#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

namespace lathe {
namespace {

/// A random family with constraints; families with more constraints are drawn more often.
std::string randomFamily(Random &random) {
  static const std::vector<std::string> loops = {"elementwise", "pool",      "reduction", "lrn",     "resize",
                                                 "scan",        "selection", "indexed",   "movement"};
  switch (random.in(0, 9)) {
  case 0:
    return loops[random.in(0, int64_t(loops.size()) - 1)];
  case 1:
    return "attention";
  case 2:
    return "recurrent";
  case 3:
    return random.of<std::string>({"softmax", "normalize"});
  default:
    return "contraction";
  }
}

/// A kernel function in a separate context, with the options it is compiled for.
struct RandomProblem {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::string text;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  RandomProblem(Random &random, const std::string &family, const Target &target)
      : text(randomKernel(random, family, target)),
        module(mlir::parseSourceString<mlir::ModuleOp>(text, context.get())) {}
  mlir::func::FuncOp function() { return *module->getOps<mlir::func::FuncOp>().begin(); }
};

const std::vector<Target> &targets() {
  static const std::vector<Target> all = {Target::parse("znver4"), Target::parse("sapphirerapids"),
                                          Target::parse("x86-64-v3"), Target::parse("x86-64-v3,vector-width=512"),
                                          Target::parse("aarch64-linux-gnu,cpu=cortex-a76")};
  return all;
}

struct Tally {
  int schedules = 0, legal = 0, unread = 0;
  std::set<std::string> broken; // "direct: registers"
};

/// Draws schedules for random kernels until there are `count`.
Tally draw(uint64_t seed, int count) {
  Tally tally;
  for (uint64_t number = 0; tally.schedules < count; ++number) {
    Random random(seed + number);
    const Target &target = targets()[random.in(0, int64_t(targets().size()) - 1)];
    std::string family = randomFamily(random);
    RandomProblem drawn(random, family, target);
    if (!drawn.module) {
      ADD_FAILURE() << "no kernel: LATHE_SEED=" << seed + number << "\n" << drawn.text;
      return tally;
    }
    KernelProblem problem{
        {.threads = random.chance(2) ? 1 : 4, .exactMath = random.chance(8), .smallMemory = random.chance(8)},
        drawn.function(),
        target};
    Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(problem);
    if (!facts) {
      ++tally.unread;
      continue;
    }
    for (int i = 0; i < 8; ++i) {
      Schedule schedule = randomSchedule(random, **facts);
      Legality legality = legal(**facts, schedule);
      bool made = true;
      std::string reason;
      if (legality) {
        Outcome<GeneratedKernel> generated = generate(problem, **facts, schedule);
        made = generated.done();
        reason = made ? "" : generated.reason();
      } else {
        tally.broken.insert(
            fmt::format("{}: {}", findAlgorithm(schedule.algorithm, schedule.version)->name, legality.broken->id));
      }
      EXPECT_TRUE(made) << "LATHE_SEED=" << seed + number << ", " << target.str() << ", " << schedule.str()
                        << " is legal, but: " << reason << "\n"
                        << drawn.text;
      EXPECT_EQ(legality.reason.empty(), bool(legality));
      ++tally.schedules;
      tally.legal += bool(legality);
    }
    Outcome<Schedule> prior = priorSchedule(**facts);
    if (prior) {
      Legality legality = legal(**facts, *prior);
      EXPECT_TRUE(bool(legality)) << "LATHE_SEED=" << seed + number << ", the prior's " << prior->str()
                                  << " is not legal: " << legality.reason << "\n"
                                  << drawn.text;
    }
  }
  return tally;
}

/// Draws kernels of the algorithm's family, and schedules of the algorithm, until one breaks the constraint.
bool isMet(uint64_t seed, const Algorithm &algorithm, const Constraint &constraint) {
  for (uint64_t number = 0; number < 4000; ++number) {
    Random random(seed + number);
    const Target &target = targets()[random.in(0, int64_t(targets().size()) - 1)];
    RandomProblem drawn(random, algorithm.family, target);
    Outcome<std::unique_ptr<KernelFacts>> facts =
        readFacts({{.exactMath = random.chance(8), .smallMemory = random.chance(8)}, drawn.function(), target});
    for (int i = 0; facts && i < 30; ++i)
      if (Legality legality = legal(**facts, anySchedule(random, **facts, algorithm)); legality.broken == &constraint)
        return true;
  }
  return false;
}

int wanted(int standard) {
  const char *given = std::getenv("LATHE_SCHEDULES");
  return given ? std::stoi(given) : standard;
}

TEST(Legal, agreesWithGenerate) {
  auto start = std::chrono::steady_clock::now();
  Tally tally = draw(baseSeed(), wanted(2000));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("LATHE_SEED={}: {} schedules, {} legal, {} kernels that no schedule computes, {:.1f} s\n", baseSeed(),
             tally.schedules, tally.legal, tally.unread, seconds);
  EXPECT_GE(tally.legal * 3, tally.schedules);
  EXPECT_GT(tally.broken.size(), 20);
}

TEST(Legal, meetsEveryConstraint) {
  int constraints = 0;
  for (const Algorithm &algorithm : algorithms())
    for (const Constraint &constraint : algorithm.constraints) {
      ++constraints;
      EXPECT_TRUE(isMet(baseSeed(), algorithm, constraint))
          << "LATHE_SEED=" << baseSeed() << ": no schedule breaks '" << constraint.id << "' of " << algorithm.str();
    }
  fmt::print("LATHE_SEED={}: {} constraints, each broken by some schedule\n", baseSeed(), constraints);
}

/// Each value of a knob is legal for its parameter and near the declared default or the prior's value. No parameter has
/// an empty list.
TEST(Legal, everyParameterHasValues) {
  Random random(baseSeed());
  for (const Algorithm &algorithm : algorithms()) {
    if (!*algorithm.family)
      continue;
    for (const Target &target : targets()) {
      RandomProblem drawn(random, algorithm.family, target);
      ASSERT_TRUE(drawn.module) << drawn.text;
      Outcome<std::unique_ptr<KernelFacts>> facts = readFacts({{}, drawn.function(), target});
      if (!facts)
        continue;
      std::vector<Knob> knobs = (*facts)->knobs(algorithm);
      ASSERT_EQ(knobs.size(), algorithm.parameters.size());
      for (const Knob &knob : knobs) {
        EXPECT_GT(knob.size(), 0) << algorithm.str() << " " << knob.parameter->name << "\n" << drawn.text;
        for (int64_t value : knob.numbers)
          EXPECT_TRUE(knob.parameter->allows(value)) << algorithm.str() << " " << knob.parameter->name << "=" << value;
      }
    }
  }
}

} // namespace
} // namespace lathe
