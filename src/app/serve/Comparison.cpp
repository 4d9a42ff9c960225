#include "serve/Comparison.h"

#include "report/Diff.h"
#include "report/PlatformNames.h"

namespace lathe::serve {

using nlohmann::json;

static json sideJson(const store::Experiment &experiment, const std::map<std::string, std::string> &names,
                     size_t points) {
  json side = store::toJson(experiment);
  side.erase("detail"); // the page does not show it
  side["platform_name"] = names.at(experiment.platform);
  side["points"] = points;
  return side;
}

json comparisonJson(store::Store &store, const std::string &before, const std::string &after) {
  store::Experiment old = store.experiment(before), now = store.experiment(after);
  std::vector<report::Row> oldRows = report::rowsOf(store, {.experiments = {old.uuid}}),
                           nowRows = report::rowsOf(store, {.experiments = {now.uuid}});
  report::Diff diff = report::diff(oldRows, nowRows);
  json document = toJson(diff);
  // The fields of each point that the page shows, with the texts of the command line's tables.
  json &points = document["points"];
  for (size_t i = 0; i < points.size(); ++i) {
    const report::Row &row = diff.points[i].after ? *diff.points[i].after : *diff.points[i].before;
    points[i]["column"] = report::columnOf(row);
    points[i]["setting_text"] = report::settingText(row.setting);
    points[i]["schedule"] = row.setting.schedule;
    points[i].erase("setting");
    points[i].erase("platform");
  }
  auto names = report::platformNames(
      {{old.platform, store.platform(old.platform)}, {now.platform, store.platform(now.platform)}},
      indexOf(store.labels(), store::LabelTarget::platform));
  document["before"] = sideJson(old, names, oldRows.size());
  document["after"] = sideJson(now, names, nowRows.size());
  return document;
}

} // namespace lathe::serve
