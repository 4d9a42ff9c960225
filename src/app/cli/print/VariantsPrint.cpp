#include "cli/print/VariantsPrint.h"

#include "support/Text.h"

#include <fmt/format.h>

namespace lathe::cli {

std::string referencesText(const std::vector<ReferenceUse> &references) {
  std::string text;
  for (const ReferenceUse &use : references)
    text += fmt::format("  {}: {} ({}): {}\n", printable(use.node), use.op, use.type, printable(use.reason));
  return text;
}

nlohmann::json referencesJson(const std::vector<ReferenceUse> &references) {
  nlohmann::json list = nlohmann::json::array();
  for (const ReferenceUse &use : references)
    list.push_back({{"node", use.node}, {"op", use.op}, {"type", use.type}, {"reason", use.reason}});
  return list;
}

std::string variantsText(const CompileReport &report) {
  std::string text;
  for (const VariantReport &variant : report.variants) {
    text += fmt::format("variant {}: {}, reference calls: {}\n", printable(variant.extents),
                        counted(int64_t(variant.kernels), "kernel"), variant.references.size());
    text += referencesText(variant.references);
  }
  return text;
}

nlohmann::json variantsJson(const CompileReport &report) {
  nlohmann::json list = nlohmann::json::array();
  for (const VariantReport &variant : report.variants)
    list.push_back({{"extents", variant.extents},
                    {"kernels", variant.kernels},
                    {"references", referencesJson(variant.references)}});
  return list;
}

} // namespace lathe::cli
