#include "tune/LearnedModel.h"

#include "support/Error.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace lathe::tune {
namespace {

void check(int code) {
  if (code != 0)
    fail("xgboost: {}", XGBGetLastError());
}

/// Owns an XGDMatrix.
class Matrix {
public:
  /// `columns`: the features in the matrix; empty: all.
  explicit Matrix(const std::vector<const Example *> &rows, const std::vector<size_t> &columns = {})
      : count(rows.size()) {
    size_t given = rows.front()->features.size(), width = columns.empty() ? given : columns.size();
    std::vector<float> values;
    values.reserve(rows.size() * width);
    for (const Example *row : rows) {
      require(row->features.size() == given, "a schedule has {} features, expected {}", row->features.size(), given);
      if (columns.empty())
        values.insert(values.end(), row->features.begin(), row->features.end());
      for (size_t column : columns)
        values.push_back(row->features.at(column));
    }
    check(XGDMatrixCreateFromMat(values.data(), rows.size(), width, std::numeric_limits<float>::quiet_NaN(), &handle));
  }
  ~Matrix() { XGDMatrixFree(handle); }
  Matrix(const Matrix &) = delete;
  Matrix &operator=(const Matrix &) = delete;

  void set(const char *field, const std::vector<float> &values) {
    check(XGDMatrixSetFloatInfo(handle, field, values.data(), values.size()));
  }
  void setGroups(const std::vector<unsigned> &sizes) {
    check(XGDMatrixSetUIntInfo(handle, "group", sizes.data(), sizes.size()));
  }

  DMatrixHandle handle = nullptr;
  size_t count;
};

/// The values minus the mean over the row's task.
std::vector<float> aroundMeans(const std::vector<const Example *> &rows, const std::vector<double> &values) {
  struct Sum {
    double value = 0, count = 0;
  };
  std::map<size_t, Sum> sums;
  for (size_t i = 0; i < rows.size(); ++i) {
    sums[rows[i]->task].value += values[i];
    sums[rows[i]->task].count += 1;
  }
  std::vector<float> result;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Sum &sum = sums[rows[i]->task];
    result.push_back(float(values[i] - sum.value / sum.count));
  }
  return result;
}

} // namespace

struct LearnedModel::State {
  LearnedModelOptions options;
  BoosterHandle booster = nullptr;
  std::vector<size_t> columns; // of loaded trees, as in load()

  ~State() { release(); }
  void release() {
    if (booster)
      XGBoosterFree(booster);
    booster = nullptr;
    columns.clear();
  }
  /// Scores without the trees.
  std::vector<double> margins(const std::vector<const Example *> &rows) const {
    if (options.start)
      return options.start->state->scores(rows);
    std::vector<double> margins;
    for (const Example *row : rows)
      margins.push_back(-std::log(std::max(row->cycles, 1.0)));
    return margins;
  }
  std::vector<double> scores(const std::vector<const Example *> &rows) const {
    std::vector<double> scores = margins(rows);
    if (!booster || rows.empty())
      return scores;
    Matrix data(rows, columns);
    bst_ulong count = 0;
    const float *added = nullptr;
    constexpr int margin = 1; // the sum of the trees without a transformation
    check(XGBoosterPredict(booster, data.handle, margin, 0, 0, &count, &added));
    for (size_t i = 0; i < rows.size(); ++i)
      scores[i] += added[i];
    return scores;
  }
  void create(const Matrix *data) {
    release();
    check(XGBoosterCreate(data ? &data->handle : nullptr, data ? 1 : 0, &booster));
    set("booster", "gbtree");
    set("objective", options.objective == Objective::ranking ? "rank:pairwise" : "reg:squarederror");
    if (options.objective == Objective::ranking)
      set("num_pairsample", "16"); // pairs per schedule in each round
    set("max_depth", std::to_string(options.depth));
    set("eta", std::to_string(options.rate));
    set("subsample", "0.9");
    set("min_child_weight", "2");
    // Both methods give the same trees for the same examples, but exact splits take seconds for many examples.
    constexpr size_t many = 2000;
    set("tree_method", data && data->count > many ? "hist" : "exact");
    set("base_score", "0");
    set("seed", std::to_string(options.seed % 2147483647));
    set("nthread", std::to_string(options.threads));
    set("verbosity", "0");
  }
  void set(const char *name, const std::string &value) { check(XGBoosterSetParam(booster, name, value.c_str())); }
};

LearnedModel::LearnedModel(const LearnedModelOptions &options) : state(new State{options}) {}
LearnedModel::~LearnedModel() = default;
LearnedModel::LearnedModel(LearnedModel &&) noexcept = default;
LearnedModel &LearnedModel::operator=(LearnedModel &&) noexcept = default;

bool LearnedModel::trained() const { return state->booster != nullptr; }

void LearnedModel::fit(const std::vector<TrainingExample> &examples) {
  state->release();
  if (examples.empty())
    return;
  std::vector<const TrainingExample *> rows; // sorted by task, as XGBoost's groups require
  for (const TrainingExample &example : examples)
    rows.push_back(&example);
  std::sort(rows.begin(), rows.end(), [](auto *a, auto *b) { return a->task != b->task ? a->task < b->task : a < b; });
  std::vector<const Example *> plain(rows.begin(), rows.end());
  std::vector<double> speeds;
  for (const TrainingExample *row : rows)
    speeds.push_back(-std::log(row->seconds));
  Matrix data(plain);
  data.set("label", aroundMeans(plain, speeds));
  data.set("base_margin", aroundMeans(plain, state->margins(plain)));
  if (state->options.objective == Objective::ranking) {
    std::vector<unsigned> sizes;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 || rows[i]->task != rows[i - 1]->task)
        sizes.push_back(0);
      ++sizes.back();
    }
    data.setGroups(sizes);
  }
  state->create(&data);
  for (int round = 0; round < state->options.rounds; ++round)
    check(XGBoosterUpdateOneIter(state->booster, round, data.handle));
}

std::vector<double> LearnedModel::score(const std::vector<Example> &examples) const {
  std::vector<const Example *> rows;
  for (const Example &example : examples)
    rows.push_back(&example);
  return state->scores(rows);
}

std::string LearnedModel::save() const {
  require(trained() && state->columns.empty(), "the learned cost model is not trained here");
  bst_ulong size = 0;
  const char *text = nullptr;
  check(XGBoosterSaveModelToBuffer(state->booster, R"({"format": "json"})", &size, &text));
  return {text, size};
}

void LearnedModel::load(const std::string &text, std::vector<size_t> columns) {
  state->create(nullptr);
  if (XGBoosterLoadModelFromBuffer(state->booster, text.data(), text.size()) != 0) {
    state->release();
    fail("not a learned cost model: {}", std::string(XGBGetLastError()).substr(0, 200));
  }
  bst_ulong features = 0;
  check(XGBoosterGetNumFeature(state->booster, &features));
  if (!columns.empty() && features != columns.size()) {
    state->release();
    fail("a learned cost model of {} features, expected {}", features, columns.size());
  }
  state->columns = std::move(columns);
}

} // namespace lathe::tune
