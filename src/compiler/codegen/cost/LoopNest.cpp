#include "codegen/cost/LoopNest.h"

#include "codegen/cost/Cost.h"
#include "codegen/cost/LoopRuns.h"
#include "codegen/space/AttentionPlan.h"
#include "codegen/space/RecurrentPlan.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

using enum OperandClass;

// ---- Loop-shaped families: vectors, what runs interleaved, a run, the runs of a work item, the work items ----

struct OperandBytes {
  double input = 0, output = 0;
};

OperandBytes operandBytes(const KernelFacts &facts) {
  OperandBytes bytes;
  for (const TensorFacts &tensor : facts.inputs)
    bytes.input += bytesOf(tensor);
  for (const TensorFacts &tensor : facts.outputs)
    bytes.output += bytesOf(tensor);
  return bytes;
}

struct LoopForm {
  double lanes = 1, interleave = 1;
  double inRun = 1;     // groups of `interleave` vectors, or vectors, of a run
  double reduction = 1; // terms of each result, or vectors of a row
  double runs = 1, units = 1;
};

LoopNest nestOf(const KernelFacts &facts, const LoopForm &form) {
  OperandBytes bytes = operandBytes(facts);
  double perUnit = std::max(1.0, form.runs / form.units);
  double results = form.lanes * form.interleave * form.inRun * perUnit * form.units;
  // Inputs and results are spread evenly over the iterations.
  double iterations = results * form.reduction;
  LoopNest nest{{bytes.input / iterations, 0, bytes.output / results, 0}, {}};
  nest.add(LoopKind::vector, LoopAxis::columns, form.lanes, {input, output});
  nest.add(LoopKind::unrolled, LoopAxis::rows, form.interleave, {input, output});
  nest.add(LoopKind::serial, LoopAxis::reduction, form.reduction, {input});
  nest.add(LoopKind::serial, LoopAxis::rows, form.inRun, {input, output});
  nest.add(LoopKind::serial, LoopAxis::rows, perUnit, {input, output});
  nest.add(LoopKind::parallel, LoopAxis::rows, form.units, {input, output});
  return nest;
}

LoopForm formOf(const LoopRuns &runs, double lanes, double interleave, double vectorsOfRun) {
  return {lanes, interleave, std::max(1.0, vectorsOfRun / interleave), 1, runs.runs, runs.units};
}

LoopForm formOf(const MapFacts &facts, const Schedule &schedule) {
  LoopRuns runs = runsOf(facts.shape, schedule.number("grain"));
  double lanes = double(facts.shape.granule), vectors = runs.length;
  if (facts.shape.limit == facts.shape.extents.size())
    vectors /= lanes;
  return formOf(runs, lanes, double(schedule.number("interleave")), vectors);
}

LoopForm formOf(const PoolFacts &facts, const Schedule &schedule) {
  LoopRuns runs = runsOf(facts.shape, schedule.number("grain"));
  double positions = atLeastOne(facts.shape.extents[facts.shape.limit]);
  runs.runs *= runs.length; // a run is a row of positions, of which work items have whole ones
  LoopForm form = formOf(runs, facts.target.lanes(), double(schedule.number("interleave")),
                         facts.blocked ? positions : positions / facts.target.lanes());
  form.reduction = double(facts.window);
  return form;
}

LoopForm formOf(const ReduceFacts &facts, const Schedule &schedule) {
  LoopRuns runs = runsOf(facts, schedule);
  double terms = atLeastOne(facts.terms), lanes = double(facts.lanes);
  double interleave = facts.vectorLoop ? double(schedule.number("interleave")) : 1;
  LoopForm form =
      formOf(runs, facts.lanesAreResults ? lanes : 1, interleave, facts.vectorLoop ? runs.length / lanes : runs.length);
  form.reduction = terms;
  return form;
}

LoopForm formOf(const RowFacts &facts, const Schedule &schedule) {
  LoopRuns runs = runsOf(facts.shape, schedule.number("grain"));
  double lanes = double(facts.lanes), length = atLeastOne(facts.length);
  LoopForm form =
      formOf(runs, 1, double(schedule.number("interleave")), facts.contiguous ? runs.length : runs.length / lanes);
  form.lanes = lanes;
  form.reduction = facts.contiguous ? std::ceil(length / lanes) : length;
  return form;
}

LoopForm formOf(const GrainFacts &facts, const Schedule &schedule) {
  LoopRuns runs = runsOf(facts.shape, schedule.number("grain"));
  return formOf(runs, 1, 1, runs.length);
}

template <class Facts> bool addIf(const KernelFacts &facts, const Schedule &schedule, std::vector<LoopNest> &nests) {
  auto *own = dynamic_cast<const Facts *>(&facts);
  if (own)
    nests = {nestOf(*own, formOf(*own, schedule))};
  return own != nullptr;
}

} // namespace

void LoopNest::add(LoopKind kind, LoopAxis axis, double extent, const Growth &growth) {
  extent = std::max(1.0, extent);
  Loop loop{kind, axis, extent, {growth.input, growth.weights, growth.output, growth.scratch}};
  for (double &value : loop.growth)
    value = std::clamp(value, 1.0, extent);
  loops.push_back(loop);
}

void LoopNest::add(LoopKind kind, LoopAxis axis, double extent, std::initializer_list<OperandClass> along) {
  Growth growth;
  for (OperandClass one : along)
    (one == input     ? growth.input
     : one == weights ? growth.weights
     : one == output  ? growth.output
                      : growth.scratch) = extent;
  add(kind, axis, extent, growth);
}

double LoopNest::iterations() const {
  double count = 1;
  for (const Loop &loop : loops)
    count *= loop.extent;
  return count;
}

double LoopNest::extent(LoopAxis axis) const {
  double count = 1;
  for (const Loop &loop : loops)
    if (loop.axis == axis)
      count *= loop.extent;
  return count;
}

std::array<double, loopAxes> KernelFacts::problemExtents() const {
  auto elements = [](const std::vector<TensorFacts> &tensors) {
    double count = 0;
    for (const TensorFacts &tensor : tensors)
      count += atLeastOne(product(tensor.dims));
    return std::max(1.0, count);
  };
  return {elements(outputs), 1, elements(inputs) / elements(outputs), 1, 1};
}

std::array<double, loopAxes> AttentionFacts::problemExtents() const {
  return {atLeastOne(geometry.queries), atLeastOne(geometry.keys), double(geometry.depth), 1,
          atLeastOne(product(geometry.outer))};
}

std::array<double, loopAxes> RecurrentFacts::problemExtents() const {
  return {atLeastOne(geometry.batch), double(geometry.hidden * geometry.form.gates()), double(geometry.hidden), 1,
          atLeastOne(geometry.steps) * double(geometry.form.directions())};
}

std::vector<LoopNest> KernelFacts::loopNests(const Schedule &schedule) const {
  std::vector<LoopNest> nests;
  if (addIf<MapFacts>(*this, schedule, nests) || addIf<PoolFacts>(*this, schedule, nests) ||
      addIf<ReduceFacts>(*this, schedule, nests) || addIf<RowFacts>(*this, schedule, nests) ||
      addIf<GrainFacts>(*this, schedule, nests))
    return nests;
  OperandBytes bytes = operandBytes(*this);
  LoopForm whole;
  whole.runs = std::max(1.0, std::max(bytes.input, bytes.output) / 4);
  return {nestOf(*this, whole)};
}

/// The scores q k^T, then the result softmax(...) v: left operands are queries and scores.
std::vector<LoopNest> AttentionFacts::loopNests(const Schedule &schedule) const {
  AttentionPlan plan(*this, schedule);
  double unit = double(plan.format.unitBytes()), queries = atLeastOne(plan.queries), keys = atLeastOne(plan.keys),
         element = bitWidth(plan.compute) / 8.0;
  double block = plan.single() ? keys : std::min(keys, double(plan.kc)), blocks = std::ceil(keys / block);
  double pieces = std::ceil(queries / double(plan.rows)), rows = queries / pieces;
  double perChunk = std::min(pieces, double(plan.mc)), chunks = pieces / perChunk;
  double heads = atLeastOne(plan.heads()), lanes = double(plan.lanes);
  auto outer = [&](LoopNest &nest, LoopAxis keyAxis) {
    nest.add(LoopKind::serial, LoopAxis::rows, perChunk, {input, output});
    nest.add(LoopKind::serial, keyAxis, blocks, {weights});
    nest.add(LoopKind::parallel, LoopAxis::rows, chunks, {input, output});
    nest.add(LoopKind::parallel, LoopAxis::batch, heads, {input, weights, output});
  };
  LoopNest scores{{element, unit, 0, element}, {}};
  double panel = double(plan.vectors) * lanes, steps = double(plan.depthSteps());
  scores.add(LoopKind::vector, LoopAxis::columns, lanes, {weights, scratch});
  scores.add(LoopKind::unrolled, LoopAxis::columns, double(plan.vectors), {weights, scratch});
  scores.add(LoopKind::unrolled, LoopAxis::rows, rows, {input, scratch});
  scores.add(LoopKind::unrolled, LoopAxis::reduction, double(plan.unroll), {input, weights});
  scores.add(LoopKind::serial, LoopAxis::reduction, steps / double(plan.unroll), {input, weights});
  scores.add(LoopKind::serial, LoopAxis::columns, std::ceil(block / panel), {weights, scratch});
  outer(scores, LoopAxis::columns);
  LoopNest results{{0, unit, element, element}, {}}; // the left operand is in scratch
  double wide = double(plan.widthVectors()), vectors = std::min(wide, double(plan.vectors));
  double keySteps = std::max(1.0, block / double(plan.ofStep()));
  results.add(LoopKind::vector, LoopAxis::columns, lanes, {weights, output});
  results.add(LoopKind::unrolled, LoopAxis::columns, vectors, {weights, output});
  results.add(LoopKind::unrolled, LoopAxis::rows, rows, {output, scratch});
  results.add(LoopKind::unrolled, LoopAxis::reduction, double(plan.unroll), {weights, scratch});
  results.add(LoopKind::serial, LoopAxis::reduction, keySteps / double(plan.unroll), {weights, scratch});
  results.add(LoopKind::serial, LoopAxis::columns, std::ceil(wide / vectors), {weights, output});
  outer(results, LoopAxis::reduction);
  return {std::move(scores), std::move(results)};
}

std::vector<LoopNest> RecurrentFacts::loopNests(const Schedule &schedule) const {
  RecurrentPlan plan(*this, schedule);
  double element = double(plan.elementBytes()), phases = double(plan.phases.size()),
         gates = double(plan.form.gates()) / phases;
  double steps = atLeastOne(plan.steps), directions = double(plan.form.directions());
  LoopNest nest{{element, element, element, element}, {}};
  nest.add(LoopKind::vector, LoopAxis::columns, double(plan.lanes), {weights, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::columns, double(plan.vectors) * gates, {weights, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::rows, double(plan.rows), {input, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::reduction, double(plan.unroll), {input, weights});
  nest.add(LoopKind::serial, LoopAxis::reduction, double(plan.hidden) / double(plan.unroll), {input, weights});
  nest.add(LoopKind::serial, LoopAxis::columns, phases, {weights, output, scratch});
  nest.add(plan.split ? LoopKind::parallel : LoopKind::serial, LoopAxis::columns, double(plan.tiles()),
           {weights, output, scratch});
  nest.add(LoopKind::serial, LoopAxis::batch, steps, {output});
  nest.add(LoopKind::parallel, LoopAxis::rows, atLeastOne(plan.chunks()), {input, output});
  nest.add(LoopKind::parallel, LoopAxis::batch, directions, {input, weights, output});
  return {std::move(nest)};
}

} // namespace lathe
