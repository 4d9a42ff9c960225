#include "report/TurningPoint.h"
#include "report/ReportTesting.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace lathe;
using namespace lathe::report;

namespace {

TEST(TurningPoint, ofTwoLinesThatMeetAtAPoint) {
  std::vector<double> x{0, 1, 2, 3, 4, 5}, y;
  for (double at : x)
    y.push_back(at < 3 ? 10 - at : 7 + 2 * (at - 3));
  auto fit = fitTwoSegments(x, y);
  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->breaks);
  EXPECT_NEAR(fit->at, 3, 1e-9);
  EXPECT_NEAR(fit->height, 7, 1e-9);
  EXPECT_NEAR(fit->before, -1, 1e-9);
  EXPECT_NEAR(fit->after, 2, 1e-9);
  EXPECT_NEAR(fit->squares, 0, 1e-18);
}

TEST(TurningPoint, ofTwoLinesThatMeetBetweenPoints) {
  std::vector<double> x{0, 1, 2, 3, 4, 5}, y;
  for (double at : x)
    y.push_back(at < 2.25 ? 0 : 4 * (at - 2.25));
  auto fit = fitTwoSegments(x, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->at, 2.25, 1e-9);
  EXPECT_NEAR(fit->before, 0, 1e-9);
  EXPECT_NEAR(fit->after, 4, 1e-9);
}

TEST(TurningPoint, aLineDoesNotTurn) {
  std::vector<double> x{0, 1, 2, 3, 4, 5, 6, 7}, y, noisy;
  std::mt19937 random{3};
  std::normal_distribution<double> noise(0, 0.05);
  for (double at : x) {
    y.push_back(1 - 0.5 * at);
    noisy.push_back(y.back() + noise(random));
  }
  auto fit = fitTwoSegments(x, y);
  ASSERT_TRUE(fit);
  EXPECT_FALSE(fit->breaks);
  EXPECT_NEAR(fit->lineSlope, -0.5, 1e-12);
  EXPECT_FALSE(fitTwoSegments(x, noisy)->breaks);
  EXPECT_FALSE(fitTwoSegments(std::vector<double>{1, 2, 3, 4}, std::vector<double>{1, 2, 1, 0}));
}

TEST(TurningPoint, noFitIsBetter) {
  // Compares with a search over a fine grid of meeting points, each solved by its normal equations.
  std::mt19937 random{7};
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> x, y;
    for (int i = 0; i < 7; ++i) {
      x.push_back(i + 0.3 * uniform(random));
      y.push_back(uniform(random));
    }
    auto fit = fitTwoSegments(x, y);
    ASSERT_TRUE(fit);
    for (int step = 0; step <= 1000; ++step) {
      double at = x[1] + (x[5] - x[1]) * step / 1000, m[3][4] = {};
      for (size_t i = 0; i < x.size(); ++i) {
        double row[4] = {1, std::min(x[i] - at, 0.0), std::max(x[i] - at, 0.0), y[i]};
        for (int r = 0; r < 3; ++r)
          for (int c = 0; c < 4; ++c)
            m[r][c] += row[r] * row[c];
      }
      for (int p = 0; p < 3; ++p)
        for (int r = 0; r < 3; ++r)
          if (double factor = r == p ? 0 : m[r][p] / m[p][p]; factor != 0)
            for (int c = 0; c < 4; ++c)
              m[r][c] -= factor * m[p][c];
      double squares = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        double off = y[i] - m[0][3] / m[0][0] - m[1][3] / m[1][1] * std::min(x[i] - at, 0.0) -
                     m[2][3] / m[2][2] * std::max(x[i] - at, 0.0);
        squares += off * off;
      }
      ASSERT_LE(fit->squares, squares + 1e-9) << "trial " << trial << ", at " << at;
    }
  }
}

TEST(TurningPoint, theLastThreadThatIsWorthIt) {
  std::vector<double> threads{1, 2, 3, 4};
  EXPECT_EQ(lastWorthwhile(threads, std::vector<double>{12, 6, 5, 4.9}), 3); // speed + 100 %, 20 %, 2 %
  EXPECT_EQ(lastWorthwhile(threads, std::vector<double>{12, 13, 5, 4}), 1);
  EXPECT_EQ(lastWorthwhile(threads, std::vector<double>{12, 6, 4, 3}), std::nullopt);
  // From 2 to 4 threads the speed grows by 1.2, which is 9.5 % per thread.
  EXPECT_EQ(lastWorthwhile(std::vector<double>{1, 2, 4}, std::vector<double>{10, 6, 5}), 2);
}

TEST(TurningPoint, curvesAlongThreadsAndExtents) {
  std::vector<Row> rows;
  for (int threads : {1, 2, 4, 8, 16, 32}) // perfect speedup up to 8 threads, then none
    rows.push_back(report::rowOf(convText(4, 8), "lathe", 1e-3 / std::min(threads, 8), threads));
  for (int out : {16, 32, 64, 128, 256, 512}) // constant, then proportional
    rows.push_back(report::rowOf(convText(4, out), "lathe", 1e-3 * std::max(1, out / 64)));
  for (int batch : {2, 3})
    rows.push_back(report::rowOf(convText(4, 8, batch), "lathe", 1e-3 * batch));
  std::vector<Turning> found = turningPoints(rows).curves;
  std::map<std::string, Turning> by;
  for (auto &turning : found)
    by.emplace(turning.curve.resource, turning);
  ASSERT_EQ(found.size(), 3u);
  const Turning &threads = by.at("threads");
  ASSERT_TRUE(threads.measured.fit && threads.measured.fit->breaks);
  EXPECT_NEAR(std::exp(threads.measured.fit->at), 8, 1e-6);
  EXPECT_NEAR(threads.measured.fit->before, -1, 1e-6);
  EXPECT_NEAR(threads.measured.fit->after, 0, 1e-6);
  EXPECT_EQ(threads.measured.threads, 8); // doubling from 4 to 8 is 19 % per thread
  const Turning &channels = by.at("w[0]");
  EXPECT_EQ(channels.curve.x, (std::vector<double>{8, 16, 32, 64, 128, 256, 512}));
  ASSERT_TRUE(channels.measured.fit && channels.measured.fit->breaks);
  EXPECT_NEAR(std::exp(channels.measured.fit->at), 64, 1e-6);
  EXPECT_NEAR(channels.measured.fit->before, 0, 1e-6);
  EXPECT_NEAR(channels.measured.fit->after, 1, 1e-6);
  const Turning &batch = by.at("x[0]");
  EXPECT_EQ(batch.curve.x, (std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(batch.measured.fit);
  EXPECT_FALSE(batch.measured.threads);
}

TEST(TurningPoint, channelsOfInputAndWeightsAreOneExtent) {
  std::vector<Row> rows;
  for (int in : {3, 5, 7})
    rows.push_back(report::rowOf(convText(in, 8), "lathe", 1e-3 * in));
  auto found = curves(rows);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].resource, "x[1]=w[1]");
}

/// `lathe bench --batch 1,2,4`: the batch is in the inputs in the text and in the setting.
TEST(TurningPoint, modelsAtSeveralSizes) {
  std::vector<Row> rows;
  for (int batch : {1, 2, 4, 8, 16}) {
    Row row;
    row.kind = store::ExperimentKind::bench;
    row.op = "model";
    row.problem = fmt::format("my model@2.onnx@0123456789abcdef x {0}x3x8x8, scale scalar, mask {0}x4", batch);
    row.provider = "lathe";
    row.setting.threads = 1;
    row.setting.batch = batch;
    row.median = 1e-3 * std::max(batch, 4);
    rows.push_back(row);
  }
  rows.back().problem += ", no inputs"; // another form
  auto found = curves(rows);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].resource, "x[0]=mask[0]");
  EXPECT_EQ(found[0].x, (std::vector<double>{1, 2, 4, 8}));
}

TEST(TurningPoint, predictedBesideMeasured) {
  std::vector<Row> rows;
  for (int threads : {1, 2, 4, 8, 16, 32}) { // measured: nothing beyond 8 threads; predicted: nothing beyond 4
    rows.push_back(report::rowOf(convText(4, 8), "lathe", 1e-3 / std::min(threads, 8), threads));
    rows.back().predictedCycles = 1e6 / std::min(threads, 4);
  }
  std::vector<Turning> found = turningPoints(rows).curves;
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].predicted && found[0].predicted->fit && found[0].predicted->fit->breaks);
  EXPECT_NEAR(std::exp(found[0].measured.fit->at), 8, 1e-6);
  EXPECT_NEAR(std::exp(found[0].predicted->fit->at), 4, 1e-6);
  EXPECT_EQ(found[0].measured.threads, 8);
  EXPECT_EQ(found[0].predicted->threads, 4);
  rows[2].predictedCycles = 0; // one is unknown
  EXPECT_FALSE(turningPoints(rows).curves[0].predicted);
}

TEST(TurningPoint, whereTheFastestChanges) {
  std::vector<Row> rows;
  for (int out : {16, 32, 64, 128}) {
    for (int threads : {1, 2}) { // the settings have crossings of their own
      rows.push_back(report::rowOf(convText(4, out), "lathe:direct", 1e-5 * out, threads));
      rows.back().predictedCycles = 100 * out;
      rows.push_back(report::rowOf(convText(4, out), "lathe:gemm", threads == 1 ? 5e-4 : 1e-5, threads));
      rows.back().predictedCycles = 2500;
    }
    if (out > 16)
      rows.push_back(report::rowOf(convText(4, out), "onednn:auto", 1e-6)); // predicts nothing
  }
  TurningPoints points = turningPoints(rows);
  ASSERT_EQ(points.measured.size(), 3u); // with 16 and 32 channels gemm is faster on two threads
  for (size_t i : {0, 1}) {
    EXPECT_EQ(points.measured[i].resource, "threads");
    EXPECT_EQ(points.measured[i].from, "lathe:direct");
    EXPECT_EQ(points.measured[i].to, "lathe:gemm");
  }
  const Crossing &along = points.measured[2];
  EXPECT_EQ(along.resource, "w[0]");
  EXPECT_THAT(along.rest, testing::HasSubstr("1 thread"));
  EXPECT_EQ(along.before, 16);
  EXPECT_EQ(along.after, 32);
  EXPECT_EQ(along.from, "lathe:direct");
  EXPECT_EQ(along.to, "onednn:auto");
  ASSERT_EQ(points.predicted.size(), 2u); // for each number of threads; 1600, 3200, ... cycles cross 2500
  for (const Crossing &one : points.predicted) {
    EXPECT_EQ(one.resource, "w[0]");
    EXPECT_EQ(one.before, 16);
    EXPECT_EQ(one.after, 32);
    EXPECT_EQ(one.from, "lathe:direct");
    EXPECT_EQ(one.to, "lathe:gemm");
  }
  auto document = toJson(points);
  EXPECT_EQ(document["fastest_changes"].size(), 3u);
  EXPECT_EQ(document["predicted_fastest_changes"][0]["to"], "lathe:gemm");
}

} // namespace
