#include "predict/Evaluation.h"

#include <cmath>

namespace lathe::predict {

bool Evaluated::isCovered() const { return std::abs(std::log(network->seconds / seconds)) <= spread; }

std::vector<Evaluated> evaluate(const MachinePoints &points) {
  Residual residual(points);
  std::vector<Evaluated> result;
  std::map<std::string, Spread> spreads; // by family: of what is predicted without it
  for (const Residual::HeldOut &one : residual.heldOut()) {
    const MeasuredNetwork &network = *one.network;
    auto spread = spreads.find(network.family);
    if (spread == spreads.end())
      spread = spreads.emplace(network.family, residual.heldOut({network.family})).first;
    Evaluated &entry = result.emplace_back();
    entry.network = &network;
    entry.seconds = one.seconds;
    double clock = points.clockHz(network.threads), cycles = 0, flops = 0;
    for (const MeasuredKernel &kernel : network.kernels) {
      cycles += kernel.cycles;
      flops += kernel.flops;
    }
    entry.costModelSeconds = cycles / clock;
    entry.peakSeconds = peakSeconds(flops, points.facts, points.vectorBits, network.threads, clock);
    entry.spread = spread->second.of(network.threads, intervalShare);
  }
  return result;
}

Errors errorsOf(std::span<const Evaluated *const> networks, double Evaluated::*of) {
  Errors errors{networks.size()};
  auto each = 1 / static_cast<double>(networks.size());
  for (const Evaluated *one : networks) {
    double ratio = one->*of / one->network->seconds, error = std::abs(ratio - 1);
    errors.mean += error * each;
    errors.within10 += error <= 0.1 ? each : 0;
    errors.bias += std::log(ratio) * each;
    errors.covered += one->isCovered() ? each : 0;
  }
  errors.bias = std::exp(errors.bias);
  return errors;
}

} // namespace lathe::predict
