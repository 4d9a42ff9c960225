#include "quantize/LayerTimes.h"

#include <algorithm>

namespace lathe::quantize {

std::map<std::string, double> layerTimes(runtime::Context &context, const std::set<std::string> &nodes) {
  std::vector<runtime::ProfileRow> least;
  for (size_t run = 0; run < timedRuns; ++run) {
    context.run({.profile = true});
    std::vector<runtime::ProfileRow> rows = context.profileRows();
    if (least.empty())
      least = rows;
    for (size_t i = 0; i < rows.size(); ++i)
      least[i].nanoseconds = std::min(least[i].nanoseconds, rows[i].nanoseconds);
  }
  std::map<std::string, double> times;
  for (const std::string &node : nodes)
    times[node] = 0;
  std::vector<std::string> last;
  for (const runtime::ProfileRow &row : least) {
    std::vector<std::string> layers;
    for (const std::string &node : row.info.nodes)
      if (nodes.contains(node))
        layers.push_back(node);
    if (!layers.empty())
      last = layers;
    for (const std::string &layer : last)
      times[layer] += static_cast<double>(row.nanoseconds) * 1e-9 / static_cast<double>(last.size());
  }
  return times;
}

} // namespace lathe::quantize
