#include "codegen/space/AttentionPlan.h"

#include "codegen/space/RegisterBlock.h"

#include <algorithm>

namespace lathe {

static constexpr int64_t mostKeysAtOnce = 1024, keysOfABlock = 512;
static constexpr int64_t fewQueries = 4; // up to as many queries read keys and values where they lie in memory

AttentionPlan::AttentionPlan(const AttentionFacts &facts, const Schedule &schedule)
    : AttentionGeometry(facts.geometry) {
  format = scheduledFormat(schedule, facts.target, {type, type, type});
  if (!format.converts) // operands are converted to `compute` when they are brought into scratch
    format = plainFormat(compute);
  rows = schedule.number("mr");
  if (queries.isConstant())
    rows = std::min(rows, queries.constant());
  vectors = schedule.number("vectors");
  unroll = schedule.number("unroll");
  mc = schedule.number("mc");
  kc = schedule.number("kc");
  if (kc == 0 && !keys.isConstant())
    illegal("kc", "kc=0 with a number of keys that is not static");
  if (kc != 0 && keys.isConstant() && keys.constant() <= kc)
    kc = 0;
  packs = schedule.number("packb") == 1;
  if (!packs && (format.converts || !facts.readsInPlace()))
    illegal("packb", "packb=0 with type={}, lanes {} and {} apart", format.name, k.laneStride.str(),
            v.laneStride.str());
  if (!fitsRegisters(facts.target, rows, vectors))
    illegal("registers", "mr={} vectors={} needs more than {} registers", rows, vectors, facts.target.vectorRegisters);
}

int64_t AttentionPlan::keyCapacity() const {
  int64_t count = single() ? keys.constant() : kc;
  return (count + panel() - 1) / panel() * panel();
}

bool AttentionFacts::readsInPlace() const {
  constexpr int64_t mostVectors = 16; // of a row, unrolled
  const AttentionGeometry &g = geometry;
  return g.lanes > 1 && g.k.laneStride == Dim(1) && g.v.laneStride == Dim(1) &&
         std::max(g.depth, g.width) <= mostVectors * g.lanes;
}

bool AttentionFacts::allowsWord(const Parameter &parameter, std::string_view word) const {
  return std::string_view(parameter.name) != "type" ||
         formatApplies(word, target, {geometry.type, geometry.type, geometry.type});
}

void AttentionFacts::require(const Schedule &schedule) const { AttentionPlan(*this, schedule); }

Schedule AttentionFacts::prior() const {
  bool wide = target.vectorRegisters >= 32;
  Schedule schedule = emptySchedule("attention");
  schedule.numbers = {{"mr", wide ? 14 : 6}, {"vectors", 2}, {"unroll", 4}, {"mc", 1},
                      {"kc", keysOfABlock},  {"packb", 1}};
  AttentionPlan plan(*this, schedule);
  bool rounds = fastestFormat(precision, target, {plan.type, plan.type, plan.type}).converts;
  // Of a decoder: packing would cost more than the products.
  if (!rounds && readsInPlace() && geometry.queries.constantOr(fewQueries + 1) <= fewQueries) {
    schedule.numbers["packb"] = 0;
    schedule.numbers["mr"] = plan.rows;
    if (plan.keys.isConstant() && plan.keys.constant() <= mostKeysAtOnce)
      schedule.numbers["kc"] = 0;
    return schedule;
  }
  if (ContractionFormat format = fastestFormat(precision, target, {plan.type, plan.type, plan.type}); format.converts)
    schedule.words["type"] = format.name;
  if (plan.keys.isConstant() && plan.keys.constant() <= mostKeysAtOnce)
    schedule.numbers["kc"] = 0;
  schedule.numbers["mr"] = plan.rows;
  // Keys and values of a head are brought into order once a slot, or once a unit where they come in blocks: few large
  // units, but enough of them for every thread.
  int64_t heads = 1, slots = std::max(2, threads);
  for (const Dim &extent : plan.outer)
    heads *= extent.constantOr(1);
  int64_t pieces = plan.queries.isConstant() ? plan.pieces().constant() : (256 + plan.rows - 1) / plan.rows;
  int64_t chunks = heads >= 4 * slots ? 1 : (4 * slots + heads - 1) / heads;
  int64_t most = schedule.numbers["kc"] == 0 ? pieces : (256 + plan.rows - 1) / plan.rows;
  schedule.numbers["mc"] = std::clamp<int64_t>((pieces + chunks - 1) / chunks, 1, most);
  return schedule;
}

} // namespace lathe
