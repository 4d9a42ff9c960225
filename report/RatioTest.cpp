#include "lab/judging/Turns.h"
#include "report/ReportTesting.h"

using namespace lathe;
using namespace lathe::report;

namespace {

const std::string small = convText(4, 8);

TEST(Ratio, followsTheRoundsOnlyWhereTheyWereMeasuredInTurns) {
  // The machine is slower by a factor of its own in every round; we always take twice the peer's time.
  Row ours = report::rowOf(small, "lathe", 1), peer = report::rowOf(small, "onednn", 1);
  for (size_t round = 0; round < ours.rounds.size(); ++round) {
    double speed = double(1 << round);
    ours.rounds[round] = {2 * speed, 2 * speed};
    peer.rounds[round] = {speed, speed};
  }
  lab::RatioEstimate inTurns = judgeTimes(ours, peer).ratio;
  EXPECT_DOUBLE_EQ(inTurns.ratio, 2);
  EXPECT_DOUBLE_EQ(inTurns.interval.low, 2);
  EXPECT_DOUBLE_EQ(inTurns.interval.high, 2);
  peer.experiment = "another";
  lab::RatioEstimate apart = judgeTimes(ours, peer).ratio;
  EXPECT_DOUBLE_EQ(apart.ratio, 2);
  EXPECT_LT(apart.interval.low, 1);
  EXPECT_GT(apart.interval.high, 4);
}

TEST(Ratio, takesAStartOfTheProcessForOneObservation) {
  // Within a start nothing varies; between starts ours takes 1, 2 and 4 times what the peer takes.
  Row ours = report::rowOf(small, "lathe", 1), peer = report::rowOf(small, "onednn", 1);
  ours.rounds.resize(6), peer.rounds.resize(6);
  for (size_t round = 0; round < 6; ++round) {
    ours.rounds[round] = {double(1 << round / 2)};
    peer.rounds[round] = {1};
  }
  ours.starts = peer.starts = {2, 2, 2};
  lab::RatioEstimate inTurns = judgeTimes(ours, peer).ratio;
  EXPECT_NEAR(inTurns.ratio, 2, 1e-12);
  double half = 4.302653 * std::log(2.0) / std::sqrt(3.0); // Student's t of two degrees of freedom
  EXPECT_NEAR(inTurns.interval.low, 2 / std::exp(half), 1e-5);
  peer.experiment = "another";
  lab::RatioEstimate apart = judgeTimes(ours, peer).ratio;
  EXPECT_DOUBLE_EQ(apart.ratio, 2);
  EXPECT_DOUBLE_EQ(apart.interval.low, 1); // of three values, each may be drawn twice
  EXPECT_DOUBLE_EQ(apart.interval.high, 4);
}

TEST(Ratio, takesTurnsFromTheSettingsOfTheExperiment) {
  using store::ExperimentKind;
  nlohmann::json six = {{"starts", 6}};
  EXPECT_EQ(verdictStartsOf(ofKind(ExperimentKind::bench, six)), 3); // a sweep
  EXPECT_EQ(verdictStartsOf(ofKind(ExperimentKind::bench)), 0);
  EXPECT_EQ(verdictStartsOf(ofKind(ExperimentKind::segments, {{"starts", 2}})), 2);
  EXPECT_EQ(verdictStartsOf(ofKind(ExperimentKind::ops)), 1); // a document that does not say it
  for (const char *starts : {"\"6\"", "-1", "6.5", "null"})   // of a damaged store
    EXPECT_EQ(verdictStartsOf(ofKind(ExperimentKind::compare, {{"starts", nlohmann::json::parse(starts)}})), 1);
  for (ExperimentKind kind : {ExperimentKind::profile, ExperimentKind::evaluate, ExperimentKind::imported})
    EXPECT_EQ(verdictStartsOf(ofKind(kind, six)), 0);
}

TEST(Ratio, isThatOfTheVerbWhichMeasured) {
  // Of sweeps and segments as well: the machine is slower in every round, and one side takes twice as long.
  Row ours = report::rowOf(small, "lathe", 1), peer = report::rowOf(small, "onnxruntime", 1);
  for (size_t round = 0; round < ours.rounds.size(); ++round) {
    ours.rounds[round] = {double(2 << round), double(2 << round)};
    peer.rounds[round] = {double(1 << round), double(1 << round)};
  }
  for (auto kind : {store::ExperimentKind::bench, store::ExperimentKind::segments}) {
    ours.kind = peer.kind = kind;
    ours.verdictStarts = peer.verdictStarts = verdictStartsOf(ofKind(kind, {{"starts", 6}}));
    // Nobody knows yet how much starts differ, however many rounds they have.
    ours.starts = peer.starts = {5, 4};
    EXPECT_EQ(judgeTimes(ours, peer).verdict, lab::Verdict::ambiguous);
    ours.starts = peer.starts = {3, 3, 3};
    lab::JudgedRatio judged = judgeTimes(ours, peer);
    EXPECT_EQ(judged.verdict, lab::Verdict::faster);
    lab::JudgedPair pair = lab::judgePair({ours.rounds, {}}, {peer.rounds, {}}, ours.starts, {});
    EXPECT_EQ(pair.ratio.interval.low, judged.ratio.interval.low);
    EXPECT_NEAR(judged.ratio.interval.high, 2, 1e-9);
    ours.starts = peer.starts = {5, 4};
    ours.verdictStarts = peer.verdictStarts = verdictStartsOf(ofKind(kind, {{"starts", 2}})); // as asked for
    EXPECT_EQ(judgeTimes(ours, peer).verdict, lab::Verdict::faster);
  }
}

} // namespace
