#include "store/ReadOnly.h"

#include "store/Schema.h"
#include "store/SqliteFiles.h"

namespace lathe::store {

Store openReadOnly(const std::string &path, double busySeconds) {
  Database database(path, Database::Mode::readOnly, busySeconds);
  int64_t version = schemaVersion(database);
  auto newest = int64_t(schemaSteps().size());
  require(
      version == newest,
      "{}: has version {} of the schema, reading alone needs version {}: `lathe store list` of a user who may write "
      "it upgrades it",
      database.path(), version, newest);
  // A temporary store whose connection is then replaced, because the constructor would write to the file.
  Store store = Store::temporary(database.path());
  store.connection() = std::move(database);
  return store;
}

Store openForReading(const std::string &path) {
  Location place(path);
  if (place.isServer() || !place.mayExist() || mayWriteFile(path))
    return Store(path, {.create = false});
  storeNotice(fmt::format("{}: {}", place.text(), readAsItIs));
  Database database(place, Database::Mode::readOnly, 2);
  if (schemaVersion(database) == int64_t(schemaSteps().size()))
    return openReadOnly(path);
  return Store::copyOf(path);
}

int64_t changeCount(Store &store) { return store.connection().link().changeCount(); }

std::map<std::string, TuningCount> tuningCounts(Store &store) {
  Statement select(store.connection(),
                   "SELECT experiment.uuid, count(*), sum(CASE WHEN tuning.status = 'passed' THEN 1 ELSE 0 END)\n"
                   "FROM tuning JOIN experiment ON tuning.experiment = experiment.id GROUP BY experiment.uuid");
  std::map<std::string, TuningCount> counts;
  while (select.step())
    counts[select.text(0)] = {size_t(select.integer(1)), size_t(select.integer(2))};
  return counts;
}

} // namespace lathe::store
