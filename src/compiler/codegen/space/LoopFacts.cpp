#include "codegen/space/LoopFacts.h"

#include "codegen/space/WorkItems.h"

#include <algorithm>
#include <array>

namespace lathe {
namespace {

/// Work items from a cache line's worth of elements to all of them.
std::vector<int64_t> grains(const KernelFacts &facts) {
  int64_t most = 1;
  for (const std::vector<TensorFacts> *list : {&facts.inputs, &facts.outputs})
    for (const TensorFacts &tensor : *list)
      most = std::max(most, product(tensor.dims).constantOr(int64_t(1) << 20));
  std::vector<int64_t> values;
  for (int64_t value = 512; value < 2 * most && value <= int64_t(1) << 24; value *= 2)
    values.push_back(value);
  if (values.empty())
    values.push_back(512);
  return values;
}

Schedule with(const char *algorithm, std::map<std::string, int64_t> numbers) {
  Schedule schedule = emptySchedule(algorithm);
  schedule.numbers = std::move(numbers);
  return schedule;
}

} // namespace

std::vector<int64_t> LoopFacts::candidates(const Algorithm &, const Parameter &parameter) const {
  return std::string_view(parameter.name) == "grain" ? grains(*this) : powersOfTwo(parameter.most);
}

int64_t evenGrain(const LoopShape &shape, int64_t grain, int64_t threads) {
  int64_t divisor = std::max<int64_t>(1, shape.divisor);
  Units units = cutUnits(shape.extents, std::max<int64_t>(1, grain / divisor), shape.granule, shape.limit);
  int64_t pieces = units.chunks.constantOr(1);
  if (threads < 2 || pieces < 2)
    return grain;
  int64_t outer = 1, extent = shape.extents[units.axis].constantOr(0);
  for (size_t i = 0; i < units.axis; ++i)
    outer *= std::max<int64_t>(1, shape.extents[i].constantOr(1));
  int64_t granule = units.axis + 1 == shape.extents.size() ? shape.granule : 1;
  auto share = [&](int64_t chunk) {
    const std::array items = {WorkAxis{outer}, WorkAxis::cut(extent, chunk)};
    return busiestShare(items, threads);
  };
  // From half as many to twice as many pieces, those near what was asked for first.
  constexpr double worthwhile = 0.02;
  int64_t chunk = units.chunk;
  for (int64_t more = 1; more <= pieces; ++more)
    for (int64_t count : {pieces + more, pieces - more / 2}) {
      int64_t other = ((extent + count - 1) / count + granule - 1) / granule * granule;
      if (count > 1 && share(other) < share(chunk) - worthwhile)
        chunk = other;
    }
  return chunk == units.chunk ? grain : chunk * units.inner * divisor;
}

Schedule GrainFacts::prior() const {
  return with(algorithm, {{"grain", evenGrain(shape, threads > 1 ? shared : alone, threads)}});
}

Schedule MapFacts::prior() const {
  return with("map", {{"grain", evenGrain(shape, threads > 1 ? 8192 : 32768, threads)},
                      {"interleave", operators <= 6 ? 4 : 1}});
}

Schedule PoolFacts::prior() const {
  int64_t grain = std::max<int64_t>(512, (threads > 1 ? 32768 : 131072) / window);
  return with("pool", {{"grain", evenGrain(shape, grain, threads)}, {"interleave", blocked ? 4 : 1}});
}

Schedule ReduceFacts::prior() const {
  // Rows lie as far apart as they are long: each is a stream and often a page of its own, so runs of a row are long.
  int64_t columns = 4;
  while (columns < target.vectorRegisters / 2 && vectors >= 2 * columns * threads)
    columns *= 2;
  return with("reduce", {{"grain", evenGrain(shape, threads > 1 ? 8192 : 65536, threads)}, {"interleave", columns}});
}

void RowFacts::require(const Schedule &schedule) const {
  int64_t rows = schedule.number("interleave");
  if (rows > lanes)
    illegal("lanes", "interleave={} rows beside one another in vectors of {} lanes", rows, lanes);
  if (rows > 1 && !contiguous)
    illegal("axis", "interleave={} where rows are not contiguous", rows);
}

std::vector<int64_t> RowFacts::candidates(const Algorithm &, const Parameter &parameter) const {
  std::string_view name = parameter.name;
  if (name == "grain")
    return grains(*this);
  if (name == "hold") {
    std::vector<int64_t> values = {0};
    for (int64_t held = 4; held <= int64_t(target.vectorRegisters); held *= 2)
      values.push_back(held);
    return values;
  }
  return contiguous ? powersOfTwo(std::min(lanes, parameter.most)) : std::vector<int64_t>{1};
}

int64_t RowFacts::grainFor(int64_t rows, int64_t known) const {
  int64_t grain = threads > 1 ? 4096 : 32768;
  if (known >= rows * threads) // a unit has at least as many rows as stand side by side
    grain = std::max(grain, rows * length.constantOr(64));
  return grain;
}

Schedule SoftmaxFacts::prior() const {
  // Rows stand side by side while they lie in the nearest cache between the passes and their exponentials in registers.
  // How many does not depend on the threads, because it decides the order of sums.
  constexpr int64_t longest = 1024;
  int64_t rows = 1, known = count.constantOr(longest), most = std::min<int64_t>(target.vectorRegisters / 8, lanes);
  while (contiguous && length.constantOr(64) <= longest && rows < most && known >= 2 * rows)
    rows *= 2;
  return with("softmax", {{"grain", grainFor(rows, known)}, {"interleave", rows}});
}

Schedule NormalizeFacts::prior() const {
  // As many rows side by side as lie in the nearest cache between the passes, and not by the number of threads, because
  // it decides the order of sums.
  constexpr int64_t longest = 4096, mostRows = 4; // bytes; rows
  int64_t rows = 1, known = count.constantOr(longest);
  while (contiguous && length.constantOr(64) * bits / 8 <= longest && rows < std::min(mostRows, lanes) &&
         known >= 2 * rows)
    rows *= 2;
  // Held rows leave registers for scale, bias and the epilogue.
  return with("normalize",
              {{"grain", grainFor(rows, known)}, {"hold", target.vectorRegisters / 2}, {"interleave", rows}});
}

Units cutUnits(const Dims &extents, int64_t grain, int64_t granule, size_t limit) {
  Units units;
  int64_t inner = 1; // elements of the axes behind `axis`
  for (size_t i = limit; i < extents.size(); ++i)
    inner *= extents[i].constantOr(64);
  size_t axis = limit;
  while (axis > 0) {
    --axis;
    int64_t extent = extents[axis].constantOr(0);
    if (extent > 0 && inner * extent <= grain) {
      inner *= extent;
      continue;
    }
    units.axis = axis;
    units.inner = inner;
    units.chunk = std::max<int64_t>(1, grain / inner);
    if (axis + 1 == extents.size())
      units.chunk = (units.chunk + granule - 1) / granule * granule;
    units.chunks = ceilDiv(extents[axis], units.chunk);
    units.count = units.chunks;
    for (size_t i = 0; i < axis; ++i)
      units.count = units.count * extents[i];
    return units;
  }
  // Everything fits into one unit.
  units.axis = 0;
  units.chunk = limit ? extents[0].constantOr(1) : 1;
  return units;
}

} // namespace lathe
