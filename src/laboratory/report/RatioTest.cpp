#include "lab/judging/Turns.h"
#include "report/ReportTesting.h"

using namespace lathe;
using namespace lathe::report;

namespace {

const std::string small = convText(4, 8);

TEST(Ratio, followsTheRoundsOnlyWhereTheyWereMeasuredInTurns) {
  // Every start has another slowdown of the machine; our time is always twice the peer's time.
  Row ours = report::rowOf(small, "lathe", 1), peer = report::rowOf(small, "onednn", 1);
  for (size_t round = 0; round < ours.rounds.size(); ++round) {
    double speed = double(1 << round / 2);
    ours.rounds[round] = {2 * speed, 2 * speed};
    peer.rounds[round] = {speed, speed};
  }
  lab::RatioEstimate inTurns = judgeTimes(ours, peer).ratio;
  EXPECT_DOUBLE_EQ(inTurns.ratio, 2);
  EXPECT_NEAR(inTurns.interval.low, 2, 1e-12);
  EXPECT_NEAR(inTurns.interval.high, 2, 1e-12);
  peer.experiment = "another";
  lab::RatioEstimate apart = judgeTimes(ours, peer).ratio;
  EXPECT_DOUBLE_EQ(apart.ratio, 2);
  EXPECT_LT(apart.interval.low, 1);
  EXPECT_GT(apart.interval.high, 4);
}

TEST(Ratio, takesAStartOfTheProcessForOneObservation) {
  // No variation within a start; between starts our time is 1, 2 and 4 times the peer's.
  Row ours = report::rowOf(small, "lathe", 1), peer = report::rowOf(small, "onednn", 1);
  ours.rounds.resize(6), peer.rounds.resize(6);
  for (size_t round = 0; round < 6; ++round) {
    ours.rounds[round] = {double(1 << round / 2)};
    peer.rounds[round] = {1};
  }
  ours.starts = peer.starts = {2, 2, 2};
  lab::RatioEstimate inTurns = judgeTimes(ours, peer).ratio;
  EXPECT_NEAR(inTurns.ratio, 2, 1e-12);
  double half = 4.302653 * std::log(2.0) / std::sqrt(3.0); // Student's t for two degrees of freedom
  EXPECT_NEAR(inTurns.interval.low, 2 / std::exp(half), 1e-5);
  peer.experiment = "another";
  lab::RatioEstimate apart = judgeTimes(ours, peer).ratio;
  EXPECT_DOUBLE_EQ(apart.ratio, 2);
  EXPECT_TRUE(apart.isRange); // three starts each prove nothing
  EXPECT_DOUBLE_EQ(apart.interval.low, 1);
  EXPECT_DOUBLE_EQ(apart.interval.high, 4);
}

/// Without turns, the ratio includes what other programs did while one side ran.
TEST(Ratio, ofADisturbedSideHasNoVerdictWithoutTurns) {
  Row ours = report::rowOf(small, "lathe", 1), peer = report::rowOf(small, "onednn", 2);
  ours.disturbed = true;
  EXPECT_EQ(judgeTimes(peer, ours).verdict, lab::Verdict::faster); // in turns the disturbance affects both
  peer.experiment = "another";
  EXPECT_EQ(judgeTimes(peer, ours).verdict, lab::Verdict::ambiguous);
  EXPECT_EQ(judgeTimes(ours, peer).verdict, lab::Verdict::ambiguous);
  ours.disturbed = false;
  EXPECT_EQ(judgeTimes(peer, ours).verdict, lab::Verdict::faster);
}

/// One or two starts give a range and no verdict, for any number of rounds and any judge.
TEST(Ratio, ofFewStartsIsARange) {
  Row ours = report::rowOf(small, "lathe", 1), peer = report::rowOf(small, "onednn", 1);
  for (bool turns : {true, false}) {
    peer.experiment = turns ? ours.experiment : "another";
    for (size_t starts : {1, 2}) {
      SCOPED_TRACE(fmt::format("{} starts, turns {}", starts, turns));
      for (double factor : {1.0, 2.0}) {
        ours.rounds.assign(20, {1.0, 1.0}), peer.rounds.assign(20, {factor, factor});
        ours.starts = peer.starts = starts == 1 ? std::vector<size_t>() : std::vector<size_t>{10, 10};
        lab::JudgedRatio judged = judgeTimes(peer, ours);
        EXPECT_EQ(judged.verdict, lab::Verdict::ambiguous);
        EXPECT_TRUE(judged.ratio.isRange);
        EXPECT_TRUE(judged.tooFewStarts);
        EXPECT_DOUBLE_EQ(judged.ratio.ratio, factor);
      }
      peer.rounds.front() = {3}, peer.rounds.back() = {1.5};
      EXPECT_DOUBLE_EQ(judgeTimes(peer, ours).ratio.interval.low, 1.5);
      EXPECT_DOUBLE_EQ(judgeTimes(peer, ours).ratio.interval.high, 3);
    }
  }
}

TEST(Ratio, takesTurnsFromTheSettingsOfTheExperiment) {
  using store::ExperimentKind;
  nlohmann::json six = {{"starts", 6}};
  EXPECT_TRUE(tookTurns(ofKind(ExperimentKind::bench, six))); // a sweep
  EXPECT_FALSE(tookTurns(ofKind(ExperimentKind::bench)));
  EXPECT_TRUE(tookTurns(ofKind(ExperimentKind::segments, six)));
  EXPECT_TRUE(tookTurns(ofKind(ExperimentKind::compare)));
  EXPECT_TRUE(tookTurns(ofKind(ExperimentKind::corun)));
  EXPECT_TRUE(tookTurns(ofKind(ExperimentKind::ops)));                      // a document without this setting
  EXPECT_FALSE(tookTurns(ofKind(ExperimentKind::bench, nlohmann::json()))); // from a damaged store
  for (ExperimentKind kind : {ExperimentKind::profile, ExperimentKind::evaluate, ExperimentKind::imported})
    EXPECT_FALSE(tookTurns(ofKind(kind, six)));
}

TEST(Ratio, isThatOfTheVerbWhichMeasured) {
  // For sweeps and segments as well: the machine is slower in every round, and one side takes twice as long.
  Row ours = report::rowOf(small, "lathe", 1), peer = report::rowOf(small, "onnxruntime", 1);
  for (size_t round = 0; round < ours.rounds.size(); ++round) {
    ours.rounds[round] = {double(2 << round), double(2 << round)};
    peer.rounds[round] = {double(1 << round), double(1 << round)};
  }
  ASSERT_EQ(ours.rounds.size(), 12u);
  for (auto kind : {store::ExperimentKind::bench, store::ExperimentKind::segments}) {
    ours.kind = peer.kind = kind;
    ours.tookTurns = peer.tookTurns = tookTurns(ofKind(kind, {{"starts", 6}}));
    // The variation between starts is unknown, for any number of rounds.
    ours.starts = peer.starts = {7, 5};
    EXPECT_EQ(judgeTimes(ours, peer).verdict, lab::Verdict::ambiguous);
    ours.starts = peer.starts = {4, 4, 4};
    lab::JudgedRatio judged = judgeTimes(ours, peer);
    EXPECT_EQ(judged.verdict, lab::Verdict::faster);
    lab::JudgedPair pair = lab::judgePair({ours.rounds, {}}, {peer.rounds, {}}, ours.starts, {});
    EXPECT_EQ(pair.ratio.interval.low, judged.ratio.interval.low);
    EXPECT_NEAR(judged.ratio.interval.high, 2, 1e-9);
  }
}

} // namespace
