#include "codegen/testing/KernelBenchSuite.h"

#include "codegen/builder/KernelBuilder.h"
#include "codegen/testing/KernelTesting.h"
#include "support/Error.h"

#include <charconv>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>

namespace lathe {
namespace {

std::vector<std::string> cells(std::string line) {
  if (!line.empty() && line.back() == '\r')
    line.pop_back();
  std::vector<std::string> result;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');)
    result.push_back(cell);
  return result;
}

} // namespace

std::vector<SuiteProblem> readSuite(const std::string &path, const std::string &suite) {
  std::ifstream file(path);
  require(file.good(), "{}: cannot be read", path);
  std::string line;
  require(bool(std::getline(file, line)), "{}: is empty, expected a line of column names", path);
  std::map<std::string, size_t> columns;
  for (const std::string &name : cells(line))
    columns.emplace(name, columns.size());

  std::vector<SuiteProblem> problems;
  std::set<std::vector<int64_t>> seen;
  for (int64_t number = 2; std::getline(file, line); ++number) {
    std::vector<std::string> row = cells(line);
    if (row.empty())
      continue;
    require(row.size() == columns.size(), "{}:{}: {} cells, expected {}", path, number, row.size(), columns.size());
    auto cell = [&](const char *name) -> const std::string & {
      auto found = columns.find(name);
      require(found != columns.end(), "{}: has no column '{}'", path, name);
      return row[found->second];
    };
    auto value = [&](const char *name) {
      const std::string &text = cell(name);
      int64_t result = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
      require(error == std::errc() && end == text.data() + text.size(), "{}:{}: {} '{}' is not a number", path, number,
              name, text);
      return result;
    };
    if (cell("suite").find(suite) == std::string::npos)
      continue;
    SuiteProblem problem{value("in_channels"), value("in_height"), value("out_channels"), value("kernel_height"), {}};
    problem.more = {{"n", value("batch")},           {"w", value("in_width")},
                    {"kw", value("kernel_width")},   {"stride", value("stride_height")},
                    {"sw", value("stride_width")},   {"pad", value("pad_height")},
                    {"pw", value("pad_width")},      {"dilation", value("dilation_height")},
                    {"dw", value("dilation_width")}, {"group", value("groups")}};
    // A network's first convolution reads the model's input, which is not blocked.
    if (problem.channels <= 4)
      problem.more["rowin"] = 1;
    std::vector<int64_t> key = {problem.channels, problem.height, problem.outChannels, problem.kernel};
    for (auto &[name, number] : problem.more)
      key.push_back(number);
    if (seen.insert(key).second)
      problems.push_back(std::move(problem));
  }
  require(!problems.empty(), "{}: no problem of a suite named like '{}'", path, suite);
  return problems;
}

double peakGflops(mlir::MLIRContext *context, const Target &target) {
  KernelBuilder k(context, target, "kernel", {true}, 0);
  int64_t lanes = target.lanes(32), chains = 12;
  auto type = KernelBuilder::vectorOf(k.b.getF32Type(), lanes);
  KernelBuilder::Values state;
  mlir::Value x = k.load(k.buffer(0), k.constant(0), ElementType::f32, lanes);
  for (int64_t i = 0; i < chains; ++i)
    state.push_back(k.constantF(i, type));
  state = k.loop(k.begin(), k.end(), 1, state, [&](mlir::Value, mlir::ValueRange carried) {
    KernelBuilder::Values next(carried.begin(), carried.end());
    for (int repeat = 0; repeat < 4; ++repeat)
      for (mlir::Value &value : next)
        value = k.fma(value, x, x);
    return next;
  });
  for (int64_t i = 0; i < chains; ++i)
    k.store(state[i], k.buffer(0), k.constant(i * lanes), ElementType::f32);
  auto module = k.finish();
  LoadedKernel kernel(*module, target);
  std::vector<float> memory(1024, 0.5f);
  void *buffers[] = {memory.data()};
  double best = 0;
  for (int i = 0; i < 100; ++i) { // short ones: the machine may be shared
    auto start = std::chrono::steady_clock::now();
    kernel.call(buffers, nullptr, 0, 50000, nullptr);
    best = std::max(best, 5e4 * 4 * chains * lanes * 2 /
                              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 1e9);
  }
  return best;
}

} // namespace lathe
