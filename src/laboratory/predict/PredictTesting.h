// Synthetic measurements for tests of predictions.
#pragma once

#include "predict/Points.h"
#include "store/Lines.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <unistd.h>

namespace lathe::predict {

/// A file of lines that is removed at the end.
struct PointsFile {
  std::string path;

  PointsFile(const std::string &name, const std::vector<std::string> &lines)
      : path((std::filesystem::temp_directory_path() / fmt::format("lathe-{}-{}", getpid(), name)).string()) {
    store::LineWriter writer(path);
    for (const std::string &line : lines)
      writer.line(line);
    writer.commit();
  }
  ~PointsFile() { std::filesystem::remove(path); }
};

/// How times of synthetic networks follow from predictions.
struct Truth {
  double factor = 1;       // of all kernels
  double gemmFactor = 1;   // of kernels of the algorithm "gemm" on two threads, in addition
  double bytesPower = 0;   // times grow with this power of the bytes, in addition
  double callCycles = 0;   // for each kernel, outside of it
  double kernelNoise = 0;  // standard deviation of logarithms, for each kernel
  double networkNoise = 0; // for each network as a whole
  double familyNoise = 0;  // for each family as a whole
};

/// `families` families of `each` networks of 20 kernels, on 1 and 2 threads in turns, on a machine at 4 GHz.
inline MachinePoints synthetic(const Truth &truth, int families, int each, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  MachinePoints points;
  points.machine = "synthetic";
  points.source = "synthetic";
  points.facts = machineFromTable("znver4", "x86_64", {});
  points.facts.clocks = {{512, {4}}};
  for (int family = 0; family < families; ++family) {
    double shift = truth.familyNoise * normal(random);
    for (int i = 0; i < each; ++i) {
      MeasuredNetwork network;
      network.name = fmt::format("f{}n{}", family, i);
      network.family = fmt::format("f{}", family);
      network.threads = 1 + i % 2;
      double noise = shift + truth.networkNoise * normal(random), seconds = 0;
      double size = 1e4 * std::exp(4 * uniform(random));
      for (int k = 0; k < 20; ++k) {
        MeasuredKernel kernel;
        kernel.algorithm = k % 3 ? "direct" : "gemm";
        kernel.cycles = size * std::exp(uniform(random));
        kernel.flops = kernel.cycles * 20;
        kernel.bytes = kernel.cycles * std::exp(2 * uniform(random) - 1);
        kernel.seconds = kernel.cycles * truth.factor * (k % 3 == 0 && network.threads == 2 ? truth.gemmFactor : 1) *
                         std::pow(kernel.bytes / 1e5, truth.bytesPower) *
                         std::exp(noise + truth.kernelNoise * normal(random)) / 4e9;
        seconds += kernel.seconds + truth.callCycles / 4e9;
        network.kernels.push_back(std::move(kernel));
      }
      network.seconds = seconds;
      points.networks.push_back(std::move(network));
    }
  }
  return points;
}

} // namespace lathe::predict
