// How close predicted latencies of networks are to measured ones.
#include "Study.h"

#include "predict/Evaluation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace lathe::study {
namespace {

using predict::Errors;
using predict::Evaluated;
using Networks = std::vector<const Evaluated *>;

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }
std::string milliseconds(double seconds) { return fmt::format("{:.4g} ms", seconds * 1e3); }

std::string errorText(const Evaluated &one) {
  return fmt::format("{:+.1f} %", (one.seconds / one.network->seconds - 1) * 100);
}

void printMethods(const Networks &networks) {
  MarkdownTable table({"prediction", "runs", "mean error", "within 10 %", "predicted / measured", "in the interval"});
  auto row = [&](const char *what, double Evaluated::*of) {
    Errors errors = predict::errorsOf(networks, of);
    table.row({what, std::to_string(errors.count), percent(errors.mean), percent(errors.within10),
               fmt::format("{:.3f}", errors.bias), of == &Evaluated::seconds ? percent(errors.covered) : ""});
  };
  row("`lathe predict`", &Evaluated::seconds);
  row("cost model alone", &Evaluated::costModelSeconds);
  row("operations at peak", &Evaluated::peakSeconds);
}

void printBy(const char *what, const Networks &networks,
             const std::function<std::string(const predict::MeasuredNetwork &)> &groupOf) {
  std::map<std::string, Networks> groups;
  for (const Evaluated *one : networks)
    groups[groupOf(*one->network)].push_back(one);
  fmt::print("\n");
  MarkdownTable table({what, "runs", "mean error", "within 10 %", "predicted / measured", "in the interval",
                       "mean error of the cost model alone"});
  for (const auto &[group, members] : groups) {
    Errors errors = predict::errorsOf(members);
    table.row({group, std::to_string(errors.count), percent(errors.mean), percent(errors.within10),
               fmt::format("{:.3f}", errors.bias), percent(errors.covered),
               percent(predict::errorsOf(members, &Evaluated::costModelSeconds).mean)});
  }
}

std::string sizeOf(const predict::MeasuredNetwork &network) {
  return network.seconds < 1e-4   ? "below 0.1 ms"
         : network.seconds < 1e-3 ? "from 0.1 ms"
         : network.seconds < 1e-2 ? "from 1 ms"
                                  : "from 10 ms";
}

void printRuns(const Networks &networks) {
  MarkdownTable table({"network", "family", "batch", "threads", "measured", "predicted", "90 % interval", "error",
                       "inside", "cost model alone"});
  for (const Evaluated *one : networks)
    table.row({one->network->name, one->network->family, std::to_string(one->network->batch),
               std::to_string(one->network->threads), milliseconds(one->network->seconds), milliseconds(one->seconds),
               fmt::format("{} to {}", milliseconds(one->seconds * std::exp(-one->spread)),
                           milliseconds(one->seconds * std::exp(one->spread))),
               errorText(*one), one->isCovered() ? "yes" : "no", milliseconds(one->costModelSeconds)});
}

void printLatencies(const std::string &archive) {
  predict::MachinePoints points = predict::readPoints(archive);
  std::vector<Evaluated> all = predict::evaluate(points);
  Networks generated, named;
  for (const Evaluated &one : all)
    (one.network->heldOut ? named : generated).push_back(&one);
  require(!generated.empty(), "{}: has no networks that take part in fits", archive);
  fmt::print(
      "# How close are predicted latencies to measured ones?\n\n"
      "`lathe predict` predicts each network here by a fit, and with an interval, in which no network of its "
      "family took part\n([predict.md](../predict.md)).\n\n- **Machine**: {}\n- **Version**: {}, measured {}\n\n",
      points.machine, points.version, points.measured);
  printMethods(generated);
  printBy("family", generated, [](const predict::MeasuredNetwork &network) { return network.family; });
  printBy("measured", generated, sizeOf);
  printBy("threads", generated, [](const auto &network) { return std::to_string(network.threads); });
  std::stable_sort(generated.begin(), generated.end(), [](const Evaluated *a, const Evaluated *b) {
    return std::abs(std::log(a->seconds / a->network->seconds)) > std::abs(std::log(b->seconds / b->network->seconds));
  });
  generated.resize(std::min<size_t>(generated.size(), 10));
  fmt::print("\nThe ten worst:\n\n");
  printRuns(generated);
  if (named.empty())
    return;
  fmt::print("\nNetworks that took part in no fit:\n\n");
  printMethods(named);
  fmt::print("\n");
  printRuns(named);
}

} // namespace

void addLatency(CLI::App &program) {
  auto archive = std::make_shared<std::string>();
  CLI::App *command = program.add_subcommand(
      "latency", "How close `lathe predict` comes to measured networks, each family held out (dev/predict_eval.py)");
  command->add_option("archive", *archive, "archive of measured networks")->required();
  command->callback([archive] { printLatencies(*archive); });
}

} // namespace lathe::study
