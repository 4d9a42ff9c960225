#include "jobs/predict/StoreNetworks.h"

#include "lab/StoreRecords.h"
#include "lab/judging/Statistics.h"

#include <map>
#include <tuple>

namespace lathe::jobs {
namespace {

/// The kernels of a profile; nothing if cycles of an instruction are not predicted.
std::vector<predict::MeasuredKernel> kernelsOf(store::Store &store, const store::Point &whole) {
  std::vector<size_t> chosen = lab::fastestQuarter(lab::secondsOf(whole));
  store::Filter filter;
  filter.experiments = {whole.experiment};
  filter.op = "kernel";
  std::vector<predict::MeasuredKernel> kernels;
  bool complete = true;
  store.points(filter, true, [&](const store::Point &point) {
    std::vector<double> seconds = lab::secondsOf(point);
    auto cycles = point.figures.find("predicted_cycles");
    if (cycles == point.figures.end() || seconds.size() != whole.rounds[0].size()) {
      complete = false;
      return;
    }
    predict::MeasuredKernel &kernel = kernels.emplace_back();
    kernel.algorithm = predict::algorithmOf(point.setting.schedule);
    kernel.flops = point.problem.detail.at("flops").get<double>();
    kernel.bytes = point.problem.detail.at("bytes").get<double>();
    kernel.cycles = cycles->second;
    if (auto constants = point.figures.find("constant_bytes"); constants != point.figures.end())
      kernel.constantBytes = constants->second;
    kernel.seconds = lab::meanAt(seconds, chosen);
    complete &= kernel.seconds > 0;
  });
  return complete ? kernels : std::vector<predict::MeasuredKernel>();
}

} // namespace

std::vector<predict::MeasuredNetwork> profiledNetworks(store::Store &store, const std::string &platform,
                                                       const std::string &except) {
  store::Filter filter;
  filter.kind = store::ExperimentKind::profile;
  filter.platform = platform;
  filter.op = "model";
  filter.status = store::PointStatus::passed;
  std::map<std::tuple<std::string, int, int64_t>, store::Point> last; // by problem, threads and batch
  store.points(filter, true, [&](const store::Point &point) {
    bool fits = point.setting.company.empty() && !point.setting.extra.contains("until") &&
                lab::resourcesText(point.setting).empty() && point.rounds.size() == 1;
    if (!fits)
      return;
    store::Point &kept = last[{point.problem.text, point.setting.threads, point.setting.batch}];
    if (kept.measured <= point.measured)
      kept = point;
  });
  std::vector<predict::MeasuredNetwork> networks;
  for (const auto &[key, whole] : last) {
    predict::MeasuredNetwork network;
    network.name = network.family = whole.problem.text.substr(0, whole.problem.text.find('@'));
    if (network.family == except)
      continue;
    network.threads = whole.setting.threads;
    network.batch = std::max<int64_t>(whole.setting.batch, 1);
    std::vector<double> seconds = lab::secondsOf(whole);
    network.seconds = lab::meanAt(seconds, lab::fastestQuarter(seconds));
    network.kernels = kernelsOf(store, whole);
    if (!network.kernels.empty() && network.seconds > 0)
      networks.push_back(std::move(network));
  }
  return networks;
}

} // namespace lathe::jobs
