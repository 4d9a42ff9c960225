// The values worth trying for the parameters of attention and recurrences, from shapes and registers.
#include "codegen/space/AttentionPlan.h"
#include "codegen/space/RecurrentPlan.h"

#include <algorithm>

namespace lathe {

using Numbers = std::vector<int64_t>;

Numbers AttentionFacts::candidates(const Algorithm &, const Parameter &parameter) const {
  std::string_view name = parameter.name;
  int64_t queries = geometry.queries.constantOr(256), keys = geometry.keys.constantOr(1024);
  if (name == "mr")
    return blockRows(target, queries);
  if (name == "vectors")
    return upTo(mostVectors);
  if (name == "mc")
    return evenSizes((queries + 5) / 6);
  if (name == "kc") {
    Numbers values;
    for (int64_t kc = 64; kc < keys && kc <= 4096; kc *= 2)
      values.push_back(kc);
    if (geometry.keys.isConstant())
      values.push_back(0);
    return values;
  }
  if (name == "packb")
    return readsInPlace() ? Numbers{0, 1} : Numbers{1};
  return powersOfTwo(16); // unroll
}

Numbers RecurrentFacts::candidates(const Algorithm &, const Parameter &parameter) const {
  std::string_view name = parameter.name;
  if (listsItself(parameter))
    return geometry.constantR && geometry.batch.isConstant() ? Numbers{0, 1} : Numbers{0};
  if (name == "mr")
    return blockRows(target, geometry.batch.constantOr(32));
  if (name == "vectors")
    return upTo(std::min((geometry.hidden + geometry.lanes - 1) / geometry.lanes, mostVectors));
  return powersOfTwo(16); // unroll
}

} // namespace lathe
