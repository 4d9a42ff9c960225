#include "jobs/sweep/RowFile.h"

#include "store/ContentKey.h"

#include <filesystem>
#include <fstream>

namespace lathe::jobs {
namespace {

using nlohmann::json;

/// What PictureOptions::takeRange asks of a port.
json portJson(const runtime::Port &port) {
  json document{{"name", port.name}, {"type", std::string(name(port.type))}, {"dims", json::array()}};
  for (const Dim &dim : port.dims)
    document["dims"].push_back(dim.evaluate([](const std::string &) { return int64_t(1); }));
  if (port.quantization)
    document["quantization"] = {{"scales", port.quantization->scales},
                                {"zero_points", port.quantization->zeroPoints},
                                {"axis", port.quantization->axis}};
  return document;
}

runtime::Port portFrom(const json &document) {
  runtime::Port port;
  port.name = document.at("name");
  port.type = elementTypeFromName(document.at("type").get<std::string>()).value_or(ElementType::invalid);
  for (int64_t dim : document.at("dims"))
    port.dims.emplace_back(dim);
  if (auto how = document.find("quantization"); how != document.end())
    port.quantization = Quantization{how->at("scales"), how->at("zero_points"), how->at("axis")};
  return port;
}

/// A point without an experiment, with placeholders for the fields that the store fills in.
json pointJson(store::Point point) {
  point.experiment = "unstored";
  point.measured = store::timeNow();
  return store::toJson(point);
}

store::Point pointFrom(const json &document) {
  store::Point point = store::pointFromJson(document);
  point.experiment.clear();
  point.measured.clear();
  return point;
}

json toJson(const SweepRow &row) {
  json document{{"failed", row.failed},
                {"reason", row.reason},
                {"package", row.package},
                {"compiled", row.compiled},
                {"verification", row.verification},
                {"title", row.title},
                {"foreign_build", row.foreignBuild},
                {"point", row.point ? pointJson(*row.point) : json()},
                {"inputs", row.inputs},
                {"picture", row.picture ? portJson(*row.picture) : json()},
                {"uncompiled", json::array()},
                {"decisions", row.decisions},
                {"classes", row.classes}};
  for (const UncompiledOperator &one : row.uncompiled)
    document["uncompiled"].push_back({one.node, one.op, one.reason, one.share});
  return document;
}

void take(SweepRow &row, const json &document) {
  row.done = true;
  row.failed = document.at("failed");
  row.reason = document.at("reason");
  row.package = document.at("package");
  row.compiled = document.at("compiled");
  row.verification = document.at("verification");
  row.title = document.at("title");
  row.foreignBuild = document.at("foreign_build");
  row.inputs = document.at("inputs").get<std::map<std::string, std::string>>();
  if (const json &point = document.at("point"); !point.is_null())
    row.point = pointFrom(point);
  if (const json &picture = document.at("picture"); !picture.is_null())
    row.picture = portFrom(picture);
  row.uncompiled.clear();
  for (const json &one : document.at("uncompiled"))
    row.uncompiled.push_back({one.at(0), one.at(1), one.at(2), one.at(3)});
  row.decisions = document.at("decisions").get<std::vector<size_t>>();
  row.classes = document.at("classes");
}

} // namespace

bool readRow(SweepRow &row, const std::string &file) {
  std::ifstream stream(file);
  if (!stream)
    return false;
  try {
    take(row, json::parse(stream));
    return true;
  } catch (const json::exception &) { // a file of another version
    return false;
  }
}

void writeRow(const SweepRow &row, const std::string &file) {
  std::string unfinished = file + ".part";
  writeFile(unfinished, toJson(row).dump(-1, ' ', false, json::error_handler_t::replace));
  std::filesystem::rename(unfinished, file);
}

} // namespace lathe::jobs
