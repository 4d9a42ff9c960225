// What the studies of dev/bench share: commands, kernels of models, options of measuring, progress and tables.
#pragma once

#include "compile/KernelTasks.h"
#include "tune/measure/Measure.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace lathe::study {

// Each of these functions adds the command of a study to the program.
void addLatency(CLI::App &program);
void addLegal(CLI::App &program);
void addMeasure(CLI::App &program);
void addModel(CLI::App &program);
void addPrior(CLI::App &program);
void addRank(CLI::App &program);
void addSearch(CLI::App &program);

/// Adds an option that takes a list separated by commas.
template <class Value>
void addList(CLI::App &command, const std::string &name, std::vector<Value> &values, const std::string &help) {
  command.add_option(name, values, help)->delimiter(',')->allow_extra_args(false);
}

/// A distinct kernel of models, planned for a number of threads.
struct ModelKernel {
  std::string label; // model and first kernel of this kind, such as "resnet50 conv1"
  int threads = 1;
  KernelTask task; // the task, with the kernel functions of all models
};

/// Returns the distinct kernels of models (zoo:NAME or a file, with batch 1) for each number of threads, in the order
/// of the models. `family`: only kernels of this family; "": all.
std::vector<ModelKernel> kernelsOf(const std::vector<std::string> &models, const std::vector<int> &threads,
                                   const std::string &family);

/// The options with which candidates are compiled and measured.
tune::MeasureOptions measureOptions(int threads);

/// Prints on the standard error how much of a study is done and how long the rest takes.
class Progress {
public:
  explicit Progress(size_t count);
  void step();

private:
  size_t count, done = 0;
  double start;
};

/// Prints a Markdown table, row by row.
class MarkdownTable {
public:
  /// Prints the head of the table.
  explicit MarkdownTable(const std::vector<std::string> &titles);
  void row(const std::vector<std::string> &cells) const;
};

} // namespace lathe::study
