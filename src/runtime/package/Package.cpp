#include "package/Package.h"

#include <algorithm>

namespace lathe::package {
namespace {
struct Row {
  CpuFeature feature;
  const char *name;
};
constexpr Row rows[] = {
#define X(bit, id, text) {CpuFeature::id, text},
    LATHE_CPU_FEATURES(X)
#undef X
};
} // namespace

std::string featureNames(uint64_t bits) {
  std::string result;
  for (const Row &row : rows)
    if (bits & featureBit(row.feature))
      result += (result.empty() ? "" : " ") + std::string(row.name);
  return result;
}

uint64_t featureBits(const std::vector<std::string> &llvmNames) {
  uint64_t bits = 0;
  for (const Row &row : rows)
    if (std::find(llvmNames.begin(), llvmNames.end(), row.name) != llvmNames.end())
      bits |= featureBit(row.feature);
  return bits;
}
} // namespace lathe::package
