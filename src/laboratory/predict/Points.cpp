#include "predict/Points.h"

#include "store/Lines.h"
#include "support/JsonError.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>
#include <utility>

namespace lathe::predict {
namespace {

using nlohmann::json;

constexpr int archiveVersion = 1;

double positive(const json &value, const char *what) {
  double number = value.get<double>();
  require(std::isfinite(number) && number > 0, "{} is {}, expected a positive number", what, value.dump());
  return number;
}

MachinePoints headerOf(const json &line) {
  require(line.is_object() && line.value("lathe_predictions", 0) == archiveVersion,
          "is no archive of measured networks of version {}", archiveVersion);
  MachinePoints points;
  line.at("machine").get_to(points.machine);
  points.facts = parseMachineFacts(line.at("facts").dump(), "facts");
  line.at("vector_bits").get_to(points.vectorBits);
  points.version = line.value("version", "");
  points.measured = line.value("measured", "");
  require(points.clockHz(1) > 0, "its facts have no 'clock_ghz'");
  return points;
}

MeasuredNetwork networkOf(const json &line) {
  MeasuredNetwork network;
  line.at("network").get_to(network.name);
  line.at("family").get_to(network.family);
  line.at("threads").get_to(network.threads);
  line.at("batch").get_to(network.batch);
  network.heldOut = line.value("held_out", false);
  require(network.threads >= 1, "threads is {}, expected at least 1", network.threads);
  network.seconds = positive(line.at("seconds"), "seconds");
  for (const json &entry : line.at("kernels")) {
    MeasuredKernel kernel;
    entry.at(0).get_to(kernel.algorithm);
    entry.at(1).get_to(kernel.flops);
    entry.at(2).get_to(kernel.bytes);
    kernel.cycles = positive(entry.at(3), "predicted cycles");
    kernel.seconds = positive(entry.at(4), "seconds of a kernel");
    entry.at(5).get_to(kernel.constantBytes);
    require(kernel.flops >= 0 && kernel.bytes >= 0 && kernel.constantBytes >= 0, "a kernel is {}", entry.dump());
    network.kernels.push_back(std::move(kernel));
  }
  require(!network.kernels.empty(), "a network has no kernels");
  return network;
}

} // namespace

MachinePoints readPoints(const std::string &path) {
  store::LineReader reader(path);
  MachinePoints points;
  bool first = true;
  while (std::optional<std::string> line = reader.next())
    try {
      json document = json::parse(*line);
      if (std::exchange(first, false))
        points = headerOf(document);
      else
        points.networks.push_back(networkOf(document));
    } catch (const json::exception &error) {
      fail("{}, line {}: {}", path, reader.number(), messageOf(error));
    } catch (const Error &error) {
      fail("{}, line {}: {}", path, reader.number(), error.what());
    }
  require(!first, "{}: is empty, expected an archive of measured networks", path);
  points.source = path;
  return points;
}

} // namespace lathe::predict
