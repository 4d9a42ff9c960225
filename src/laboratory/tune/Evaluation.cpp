#include "tune/Evaluation.h"

#include "tune/Space.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

namespace lathe::tune {
namespace {

/// The least of every second sample, from sample `first` on; a single sample itself.
double leastOfHalf(const std::vector<double> &seconds, size_t first) {
  double least = seconds.size() == 1 ? seconds[0] : INFINITY;
  for (size_t i = first; i < seconds.size(); i += 2)
    least = std::min(least, seconds[i]);
  return least;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double average(std::span<const double> values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return sum / double(values.size());
}

void shuffle(std::vector<size_t> &values, Random &random) {
  for (size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[drawn(random, i)]);
}

/// `count` numbers from 0 to parts - 1, equally often, in random order.
std::vector<size_t> randomParts(size_t count, size_t parts, Random &random) {
  std::vector<size_t> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(i % parts);
  shuffle(result, random);
  return result;
}

/// Trains and scores part by part. `scoresOf` gives the scores for the examples of one task, after a training without
/// them.
template <class Train, class Score>
Evaluation evaluateParts(const std::vector<MeasuredTask> &tasks, const EvaluationOptions &options, const Train &train,
                         const Score &scoresOf) {
  Evaluation evaluation;
  RankingSum sum;
  std::vector<std::vector<size_t>> parts = partsOf(tasks, options);
  size_t scored = 0;
  std::set<size_t> tested; // tasks
  for (size_t part = 0; part < options.trainings(); ++part) {
    double start = now();
    train([&](size_t task, size_t schedule) { return parts[task][schedule] != part; });
    evaluation.fitSeconds += (now() - start) / double(options.trainings());
    for (size_t task = 0; task < tasks.size(); ++task) {
      std::vector<const MeasuredSchedule *> held;
      for (size_t i = 0; i < tasks[task].schedules.size(); ++i)
        if (parts[task][i] == part)
          held.push_back(&tasks[task].schedules[i]);
      if (held.size() > 1)
        tested.insert(task);
      start = now();
      std::vector<double> scores = scoresOf(task, held);
      evaluation.scoreSeconds += now() - start;
      scored += held.size();
      sum.add(held, scores);
    }
  }
  evaluation.scoreSeconds /= double(std::max<size_t>(1, scored));
  evaluation.ranking = sum.mean();
  evaluation.ranking.tasks = tested.size(); // not once for each part
  return evaluation;
}

std::vector<Example> examplesOf(const Features &features, const std::vector<const MeasuredSchedule *> &schedules) {
  std::vector<Example> examples;
  for (const MeasuredSchedule *one : schedules)
    examples.push_back(features.example(one->schedule));
  return examples;
}

} // namespace

double MeasuredSchedule::best() const { return *std::min_element(seconds.begin(), seconds.end()); }

bool differ(const MeasuredSchedule &fast, const MeasuredSchedule &slow) {
  constexpr double apart = 1.05;
  return leastOfHalf(slow.seconds, 0) > apart * leastOfHalf(fast.seconds, 0) &&
         leastOfHalf(slow.seconds, 1) > apart * leastOfHalf(fast.seconds, 1);
}

void RankingSum::add(std::span<const MeasuredSchedule *const> schedules, std::span<const double> scores) {
  size_t count = schedules.size();
  if (count < 2)
    return;
  double weight = double(count), right = 0;
  size_t pairs = 0;
  std::vector<double> speeds;
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i) {
    speeds.push_back(-std::log(schedules[i]->best()));
    order.push_back(i);
    for (size_t j = 0; j < count; ++j)
      if (differ(*schedules[i], *schedules[j])) {
        ++pairs;
        right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
      }
  }
  if (pairs) {
    sums.accuracy += weight * right / double(pairs);
    pairWeights += weight;
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  double fastest = *std::max_element(speeds.begin(), speeds.end()), reached = -INFINITY, peaks = 0;
  size_t most = std::min<size_t>(5, count);
  for (size_t i = 0; i < most; ++i) {
    reached = std::max(reached, speeds[order[i]]);
    peaks += std::exp(reached - fastest);
    if (i == 0)
      sums.peak1 += weight * peaks;
  }
  sums.peak5 += weight * peaks / double(most);
  double scoreMean = average(scores), speedMean = average(speeds);
  for (size_t i = 0; i < count; ++i) // the mean over the task, times its weight
    sums.rmse += std::pow(scores[i] - scoreMean - speeds[i] + speedMean, 2);
  weights += weight;
  sums.pairs += pairs;
  sums.schedules += count;
  ++sums.tasks;
}

Ranking RankingSum::mean() const {
  Ranking result = sums;
  result.accuracy = pairWeights > 0 ? sums.accuracy / pairWeights : NAN;
  result.peak1 /= weights;
  result.peak5 /= weights;
  result.rmse = std::sqrt(sums.rmse / weights);
  return result;
}

std::vector<std::vector<size_t>> partsOf(const std::vector<MeasuredTask> &tasks, const EvaluationOptions &options) {
  Random random(options.seed);
  std::vector<std::vector<size_t>> parts;
  if (options.heldOut == HeldOut::schedules) {
    for (const MeasuredTask &task : tasks)
      parts.push_back(randomParts(task.schedules.size(), options.parts, random));
    return parts;
  }
  if (options.heldOut == HeldOut::chosen) {
    for (const MeasuredTask &task : tasks)
      parts.emplace_back(task.schedules.size(), options.chosen.contains(task.group) ? 0 : options.trainings());
    return parts;
  }
  std::map<std::string, size_t> groups; // by name, so that the order of tasks does not matter
  for (const MeasuredTask &task : tasks)
    groups[task.group];
  std::vector<size_t> ofGroups = randomParts(groups.size(), options.parts, random);
  size_t next = 0;
  for (auto &[group, part] : groups)
    part = ofGroups[next++];
  for (const MeasuredTask &task : tasks)
    parts.emplace_back(task.schedules.size(), groups.at(task.group));
  return parts;
}

Evaluation evaluate(const std::vector<MeasuredTask> &tasks, FeatureSet set, const LearnedModelOptions &options,
                    const EvaluationOptions &split) {
  std::vector<TrainingExample> all = trainingExamples(tasks, set);
  std::vector<Features> features;
  for (const MeasuredTask &task : tasks)
    features.emplace_back(*task.facts, set);
  LearnedModel model(options);
  auto train = [&](const auto &isKnown) {
    std::vector<TrainingExample> known;
    size_t next = 0;
    for (size_t task = 0; task < tasks.size(); ++task)
      for (size_t i = 0; i < tasks[task].schedules.size(); ++i, ++next)
        if (isKnown(task, i))
          known.push_back(all[next]);
    model.fit(known);
  };
  return evaluateParts(tasks, split, train,
                       [&](size_t task, const auto &held) { return model.score(examplesOf(features[task], held)); });
}

Evaluation evaluateAnalytic(const std::vector<MeasuredTask> &tasks, const EvaluationOptions &options) {
  return evaluateParts(
      tasks, options, [](const auto &) {},
      [&](size_t task, const auto &held) {
        std::vector<double> scores;
        for (const MeasuredSchedule *one : held)
          scores.push_back(-std::log(tasks[task].facts->predict(one->schedule).total()));
        return scores;
      });
}

std::vector<TrainingExample> trainingExamples(const std::vector<MeasuredTask> &tasks, FeatureSet set) {
  std::vector<TrainingExample> examples;
  for (size_t task = 0; task < tasks.size(); ++task) {
    Features features(*tasks[task].facts, set);
    for (const MeasuredSchedule &one : tasks[task].schedules)
      examples.push_back({features.example(one.schedule, task), one.best()});
  }
  return examples;
}

} // namespace lathe::tune
