#include "cli/print/VariantsPrint.h"

#include "support/Text.h"

#include <fmt/format.h>

namespace lathe::cli {

std::string variantsText(const CompileReport &report) {
  std::string text;
  for (const VariantReport &variant : report.variants) {
    text += fmt::format("variant {}: {}, reference calls: {}\n", printable(variant.extents),
                        counted(int64_t(variant.kernels), "kernel"), variant.references.size());
    for (const ReferenceUse &use : variant.references)
      text += fmt::format("  {}: {} ({}): {}\n", printable(use.node), use.op, use.type, printable(use.reason));
  }
  return text;
}

nlohmann::json variantsJson(const CompileReport &report) {
  nlohmann::json list = nlohmann::json::array();
  for (const VariantReport &variant : report.variants) {
    nlohmann::json references = nlohmann::json::array();
    for (const ReferenceUse &use : variant.references)
      references.push_back({{"node", use.node}, {"op", use.op}, {"type", use.type}, {"reason", use.reason}});
    list.push_back({{"extents", variant.extents}, {"kernels", variant.kernels}, {"references", references}});
  }
  return list;
}

} // namespace lathe::cli
