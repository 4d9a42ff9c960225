#include "report/RooflineShares.h"

namespace lathe::report {

std::optional<RooflineShare> rooflineShare(const Row &row, const lab::MachineCeilings *machine) {
  if (!row.counts() || row.bytes <= 0)
    return std::nullopt;
  RooflineShare share;
  share.row = &row;
  share.gflops = row.flops * 1e-9 / row.median;
  share.gbytesPerSecond = row.bytes * 1e-9 / row.median;
  share.intensity = row.flops / row.bytes;
  if (machine) {
    ElementType type = elementTypeFromName(row.setting.type).value_or(ElementType::f32);
    share.limit = lab::roofline(*machine, type, row.flops, row.bytes, row.median, row.setting.threads);
  }
  return share;
}

std::vector<RooflineShare>
rooflineShares(const std::vector<Row> &rows,
               const std::function<const lab::MachineCeilings *(const std::string &platform)> &ceilings) {
  std::vector<RooflineShare> shares;
  for (const Row &row : rows)
    if (auto share = rooflineShare(row, ceilings(row.platform)))
      shares.push_back(*std::move(share));
  return shares;
}

bool isMachine(const store::Platform &platform, const lab::MachineCeilings &machine) {
  return platform.cpu == machine.cpu && platform.cores == machine.cores &&
         platform.hardwareThreads == machine.hardwareThreads;
}

nlohmann::json toJson(const RooflineShare &share) {
  nlohmann::json document = identityJson(*share.row);
  document["median_ms"] = share.row->median * 1e3;
  document["gflops"] = share.gflops;
  document["gb_s"] = share.gbytesPerSecond;
  document["flops_per_byte"] = share.intensity;
  if (share.limit) {
    document["roofline_share"] = share.limit->share;
    document["limit_ms"] = share.limit->limitSeconds * 1e3;
    document["bound"] = share.limit->bound;
  }
  return document;
}

} // namespace lathe::report
