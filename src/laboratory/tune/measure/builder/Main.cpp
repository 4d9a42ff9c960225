// lathe-tune-builder: makes operands and expected results of tasks, and builds candidates. It answers one JSON message
// per line (docs/notes/tuning-measurement.md), and never runs a candidate.
#include "lab/ServeLines.h"
#include "tune/measure/Protocol.h"
#include "tune/measure/builder/Builder.h"

namespace lathe::tune {

using nlohmann::json;

static json answer(std::optional<Builder> &builder, const json &request) {
  auto what = request.at("do").get<std::string>();
  if (what == "hello")
    return {{"protocol", measureProtocolVersion}};
  if (what == "options") {
    builder.emplace(BuildOptions(request));
    return json::object();
  }
  require(builder.has_value(), "'{}' before 'options'", what);
  if (what == "task")
    return builder->setTask(request);
  if (what == "build")
    return builder->build(request.at("schedule"));
  fail("unknown request '{}'", what);
}

} // namespace lathe::tune

int main() {
  std::optional<lathe::tune::Builder> builder;
  return lathe::lab::serveLines([&](const nlohmann::json &request) { return lathe::tune::answer(builder, request); });
}
