#include "compile/streams/Streams.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

using namespace lathe;

namespace {

/// A plan of references in a diamond: 0, then two chains 1, 3 and 2, 4 beside each other, then 5.
plan::PlanT diamond() {
  plan::PlanT plan;
  const std::vector<std::vector<int32_t>> reads = {{0}, {1}, {1}, {2}, {3}, {4, 5}};
  for (size_t i = 0; i <= reads.size(); ++i) {
    auto value = std::make_unique<plan::ValueT>();
    value->dims = {"16"};
    value->bytes = "64";
    value->storage = i == 0 ? plan::Storage::Input : plan::Storage::Temporary;
    plan.values.push_back(std::move(value));
  }
  plan.inputs = {0};
  plan.outputs = {6};
  plan.blocks.push_back(std::make_unique<plan::BlockT>());
  for (size_t i = 0; i < reads.size(); ++i) {
    plan::CallReferenceT call;
    call.inputs = reads[i];
    call.outputs = {static_cast<uint32_t>(i + 1)};
    plan.blocks[0]->instructions.push_back(std::make_unique<plan::InstructionT>());
    plan.blocks[0]->instructions.back()->operation.Set(std::move(call));
  }
  return plan;
}

/// Facts of instructions that are predicted to take 1000 cycles on one slot and 500 on two.
StreamFacts facts() {
  StreamFacts facts;
  facts.cycles = [](size_t, int slots) { return KernelCycles{1000.0 / slots, 0}; };
  facts.seconds = [](size_t, int) { return std::nullopt; };
  facts.identity = [](size_t position) { return std::to_string(position % 2); };
  return facts;
}

StreamsReport place(plan::PlanT &plan, const StreamFacts &facts, const MeasuredStreams &measured,
                    const std::string &streams = "auto") {
  return placeStreams(plan, [](const auto &) { return std::nullopt; }, streamsOption(streams, 2), 2, facts, measured);
}

/// Measured times, which only say that there are some: facts().seconds has them.
MeasuredStreams someTimes() {
  MeasuredStreams measured;
  measured.times = [](const ScheduleTask &, const Schedule &, BatchOrder) { return std::nullopt; };
  return measured;
}

TEST(Streams, measuredTimesReplacePredictions) {
  plan::PlanT plan = diamond();
  EXPECT_EQ(place(plan, facts(), {}).instructions, 0u); // predicted to scale
  StreamFacts measured = facts();
  std::vector<size_t> asked;
  measured.seconds = [&](size_t position, int slots) -> std::optional<double> {
    asked.push_back(position);
    return slots == 1 ? 3e-6 : 2.9e-6; // does not scale
  };
  StreamsReport report = place(plan, measured, someTimes());
  EXPECT_EQ(report.measured, 4u);
  EXPECT_EQ(asked, (std::vector<size_t>{1, 1, 2, 2, 3, 3, 4, 4})); // the others cannot run beside anything
  EXPECT_EQ(report.instructions, 4u);
  EXPECT_EQ(report.phases, 1u);
  EXPECT_NE(plan.blocks[0]->instructions[1]->place, -1);
  EXPECT_EQ(plan.most_stream_slots, 2u);
  // 6000 cycles were measured as 23.6 us. On two slots one after the other 500, 4 times 2.9 us, 500; on teams of one
  // slot 500, twice 3 us and two teams, 500.
  const double unit = 6000 / 23.6;
  EXPECT_NEAR(report.sequenceCycles, 1000 + 4 * 2.9 * unit, 1e-6);
  EXPECT_NEAR(report.cycles, 1000 + 2 * 3 * unit + 2 * forkJoinCycles(2), 1e-6);
}

TEST(Streams, anItemWithOneMeasuredTimeKeepsTheRatioOfItsPredictions) {
  plan::PlanT plan = diamond();
  StreamFacts measured = facts();
  measured.seconds = [](size_t position, int slots) -> std::optional<double> {
    return slots == 2 ? std::optional(position == 1 ? 6e-6 : 2e-6) : std::nullopt;
  };
  StreamsReport report = place(plan, measured, someTimes());
  EXPECT_EQ(report.measured, 4u);
  EXPECT_EQ(report.instructions, 0u);                    // all items are expected to scale as predicted
  EXPECT_NEAR(report.sequenceCycles, 1000 + 2000, 1e-6); // the unit keeps the sum of what was measured
}

TEST(Streams, aDecisionComesBeforeTheSearch) {
  plan::PlanT plan = diamond();
  std::string identity = place(plan, facts(), {}).plan;
  EXPECT_NE(identity, "");
  auto decided = [&](const std::string &text) {
    plan = diamond();
    MeasuredStreams measured = someTimes();
    measured.decision = [&](const std::string &asked) {
      EXPECT_EQ(asked, identity);
      return std::optional(std::pair(text, std::string("a record")));
    };
    StreamFacts slow = facts(); // does not scale: a search would find a phase
    slow.seconds = [](size_t, int) { return std::optional(1e-6); };
    return place(plan, slow, measured);
  };
  StreamsReport given = decided("stream/1 0 2@0+1 1@1+1 3@1+1 4@0+1 5");
  EXPECT_EQ(given.decision, "a record");
  EXPECT_EQ(given.instructions, 4u);
  StreamsReport sequence = decided("");
  EXPECT_EQ(sequence.decision, "a record");
  EXPECT_EQ(sequence.instructions, 0u);
  StreamsReport damaged = decided("stream/1 0 3@1+1 2@0+1 1@1+1 4@0+1 5"); // 3 needs 1
  EXPECT_EQ(damaged.decision, "");
  EXPECT_EQ(damaged.instructions, 4u); // the search's choice
}

TEST(Streams, instructionsAloneOnFewerSlotsAreNotBesideOthers) {
  plan::PlanT plan = diamond();
  MeasuredStreams measured;
  measured.decision = [](const std::string &) {
    return std::optional(std::pair(std::string("stream/1 0@0+1 1 2 3@0+1 4@1+1 5"), std::string("x")));
  };
  StreamsReport report = place(plan, facts(), measured);
  EXPECT_EQ(report.alone, 1u);
  EXPECT_EQ(report.instructions, 2u);
  EXPECT_EQ(report.phases, 1u);
}

TEST(Streams, identitiesTellPlansAndSchedulesApart) {
  plan::PlanT plan = diamond(), other = diamond();
  std::string identity = place(plan, facts(), {}).plan;
  plan = diamond();
  EXPECT_EQ(place(plan, facts(), {}).plan, identity);
  StreamFacts schedules = facts();
  schedules.identity = [](size_t position) { return std::to_string(position % 3); };
  plan = diamond();
  EXPECT_NE(place(plan, schedules, {}).plan, identity);
  plan::CallReferenceT call;
  call.inputs = {4, 4};
  call.outputs = {6};
  other.blocks[0]->instructions[5]->operation.Set(std::move(call));
  EXPECT_NE(place(other, facts(), {}).plan, identity);
}

TEST(Streams, aNumberOfTeamsIgnoresMeasurements) {
  plan::PlanT plan = diamond();
  MeasuredStreams measured = someTimes();
  measured.decision = [](const std::string &) { return std::optional(std::pair(std::string(), std::string("x"))); };
  StreamsReport report = place(plan, facts(), measured, "2");
  EXPECT_EQ(report.decision, "");
  EXPECT_EQ(report.measured, 0u);
  EXPECT_EQ(report.instructions, 4u);
  EXPECT_EQ(plan.most_stream_slots, 0u);
}

} // namespace
