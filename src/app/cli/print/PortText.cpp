#include "cli/print/PortText.h"

#include "support/Text.h"

namespace lathe::cli {

std::string describePorts(const char *what, std::span<const runtime::Port> ports, nlohmann::json &list) {
  std::string text;
  for (const runtime::Port &port : ports) {
    std::string type = port.tensor() ? std::string(lathe::name(port.type)) : "no tensor";
    text += fmt::format("{:<6} {}: {} {}", what, printable(port.name), type, str(port.dims));
    list.push_back({{"name", port.name}, {"type", type}, {"dims", str(port.dims)}});
    if (const std::optional<Quantization> &how = port.quantization) {
      text += how->perChannel() ? fmt::format(", a scale for each index of axis {}", how->axis)
                                : ", real numbers " + how->str();
      list.back()["quantization"] = {{"scales", how->scales}, {"zero_points", how->zeroPoints}, {"axis", how->axis}};
    }
    text += "\n";
  }
  return text;
}

} // namespace lathe::cli
