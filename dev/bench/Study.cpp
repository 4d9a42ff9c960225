#include "Study.h"

#include "compile/Options.h"
#include "import/Import.h"
#include "ir/Context.h"
#include "lab/judging/Turns.h"
#include "zoo/Zoo.h"

#include <cmath>

namespace lathe::study {

std::vector<ModelKernel> kernelsOf(const std::vector<std::string> &models, const std::vector<int> &threads,
                                   const std::string &family) {
  std::vector<ModelKernel> kernels;
  std::map<std::pair<int, std::string>, size_t> known;
  for (const std::string &model : models)
    for (int count : threads) {
      auto context = makeContext();
      bool zoo = model.starts_with("zoo:");
      auto module = zoo ? buildZoo(*context, model.substr(4)) : importModel(*context, model);
      CompileOptions options;
      options.threads = count;
      for (KernelTask &task : kernelTasks(*module, options)) {
        if (!family.empty() && task.facts->family != family)
          continue;
        auto [found, added] = known.try_emplace({count, task.task}, kernels.size());
        if (added) {
          std::string label =
              fmt::format("{} {}", model.substr(model.rfind(zoo ? ':' : '/') + 1), task.kernels.front());
          kernels.push_back({std::move(label), count, std::move(task)});
          continue;
        }
        std::vector<std::string> &functions = kernels[found->second].task.kernels;
        functions.insert(functions.end(), task.kernels.begin(), task.kernels.end());
      }
    }
  return kernels;
}

tune::MeasureOptions measureOptions(int threads) {
  CompileChoices compiling;
  compiling.threads = threads;
  tune::MeasureOptions options;
  options.compiling = nlohmann::json(compiling).dump();
  return options;
}

Progress::Progress(size_t count) : count(count), start(lab::steadySeconds()) {}

void Progress::step() {
  ++done;
  double left = (lab::steadySeconds() - start) / double(done) * double(count - done);
  fmt::print(stderr, "{} of {} done, about {:.0f} min left\n", done, count, std::ceil(left / 60));
}

MarkdownTable::MarkdownTable(const std::vector<std::string> &titles) {
  row(titles);
  fmt::print("|");
  for (size_t i = 0; i < titles.size(); ++i)
    fmt::print("---|");
  fmt::print("\n");
}

void MarkdownTable::row(const std::vector<std::string> &cells) const {
  fmt::print("|");
  for (const std::string &cell : cells)
    fmt::print(" {} |", cell);
  fmt::print("\n");
  std::fflush(stdout);
}

} // namespace lathe::study

int main(int argc, char **argv) {
  CLI::App program("Measures the compiler and the tuner for those who change them.");
  program.require_subcommand(1);
  program.option_defaults()->always_capture_default();
  for (auto add : {lathe::study::addLatency, lathe::study::addLegal, lathe::study::addMeasure, lathe::study::addModel,
                   lathe::study::addPrior, lathe::study::addRank, lathe::study::addSearch})
    add(program);
  try {
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError &error) {
    return program.exit(error) ? 2 : 0;
  } catch (const std::exception &error) {
    fmt::print(stderr, "study: {}\n", error.what());
    return 2;
  }
}
