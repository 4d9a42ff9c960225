#include "jobs/corun/Moves.h"

#include "jobs/Common.h"
#include "support/JsonError.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace lathe::jobs {

using nlohmann::json;

int CorunMove::threads() const { return std::max(int(slots.size()), instances); }

std::string CorunMove::text() const {
  std::string text = fmt::format("slot{} {}", slots.size() == 1 ? "" : "s", numberListText(slots));
  if (instances > 1)
    text += fmt::format(", {} instances", instances);
  if (batch)
    text += fmt::format(", batch {}", batch);
  if (!streams)
    text += ", no streams";
  if (package)
    text += fmt::format(", package {}", package + 1);
  return text;
}

json CorunMove::json() const {
  nlohmann::json document = {
      {"slots", numberListText(slots)}, {"instances", instances}, {"streams", streams}, {"package", package + 1}};
  if (batch)
    document["batch"] = batch;
  return document;
}

bool canDivide(int slots, int instances) { return slots % instances == 0 || instances % slots == 0; }

std::vector<NumberList> instancesOf(const CorunMove &move) {
  std::vector<NumberList> result;
  auto slots = int(move.slots.size());
  for (int i = 0; i < move.instances; ++i)
    if (move.instances >= slots)
      result.push_back({move.slots[size_t(i % slots)]});
    else {
      auto first = move.slots.begin() + i * (slots / move.instances);
      result.emplace_back(first, first + slots / move.instances);
    }
  return result;
}

static NumberList block(int first, int count) {
  NumberList slots(static_cast<size_t>(count));
  std::iota(slots.begin(), slots.end(), first);
  return slots;
}

std::vector<CorunMove> movesOf(const CorunChoices &model, const CorunSpace &space) {
  std::vector<NumberList> sets;
  for (int size = 1; size < space.slots; size *= 2)
    for (int first = 0; first + size <= space.slots; first += size)
      sets.push_back(block(first, size));
  sets.push_back(block(0, space.slots));
  std::vector<CorunMove> moves;
  for (size_t package = 0; package < model.streams.size(); ++package)
    for (const NumberList &slots : sets)
      for (int64_t instances : space.instances)
        for (int64_t batch : model.openBatch ? space.batches : std::vector<int64_t>{0})
          for (bool streams : {true, false}) {
            bool same =
                !streams && (!model.streams[package] || instances >= int64_t(slots.size())); // one slot has none
            if (!same && canDivide(int(slots.size()), int(instances)))
              moves.push_back({slots, int(instances), batch, streams, package});
          }
  return moves;
}

std::vector<CorunMove> wholeMoves(const std::vector<CorunChoices> &models, const CorunSpace &space) {
  std::vector<CorunMove> moves;
  for (const CorunChoices &model : models)
    moves.push_back({block(0, space.slots), 1, model.openBatch ? space.batches.front() : 0});
  return moves;
}

std::vector<CorunMove> equalMoves(const std::vector<CorunChoices> &models, const CorunSpace &space) {
  std::vector<CorunMove> moves = wholeMoves(models, space);
  auto count = int(models.size());
  int first = 0;
  for (int i = 0; i < count; ++i) {
    int size = space.slots / count + (i < space.slots % count);
    moves[size_t(i)].slots = size ? block(first, size) : block(i % space.slots, 1);
    first += size;
  }
  return moves;
}

namespace {

/// The entry of one model in the file.
class MoveEntry {
public:
  MoveEntry(std::string where, const json &entry, const CorunChoices &model, const CorunSpace &space)
      : where(std::move(where)), entry(entry), model(model), space(space) {}

  /// `free`: the slot from which a number of slots is counted; set behind the slots of this entry.
  CorunMove read(int &free) const {
    require(entry.is_object(), "{}: expected an object, got {}", where, entry.dump());
    static const std::set<std::string> known = {"slots", "instances", "batch", "streams", "package"};
    for (auto &[key, value] : entry.items())
      require(known.contains(key), "{}: unknown key '{}', expected {}", where, key, fmt::join(known, ", "));
    require(entry.contains("slots"), "{}.slots: missing", where);
    CorunMove move{.slots = slots(free)};
    move.instances = int(number("instances", 1, 1, 1024));
    require(canDivide(int(move.slots.size()), move.instances),
            "{}.instances: {} instances do not divide {} slots: expected a divisor or a multiple", where,
            move.instances, move.slots.size());
    require(model.openBatch || !entry.contains("batch"), "{}.batch: the package has no open batch", where);
    move.batch = model.openBatch ? number("batch", space.batches.front(), 1, int64_t(1) << 31) : 0;
    move.package = size_t(number("package", 1, 1, int64_t(model.streams.size())) - 1);
    const json &streams = entry.value("streams", json(true));
    require(streams.is_boolean(), "{}.streams: expected true or false, got {}", where, streams.dump());
    move.streams = streams;
    return move;
  }

private:
  std::string where;
  const json &entry;
  const CorunChoices &model;
  const CorunSpace &space;

  int64_t number(const char *key, int64_t byDefault, int64_t least, int64_t most) const {
    json value = entry.value(key, json(byDefault));
    require(value.is_number_integer() && value >= least && value <= most,
            "{}.{}: expected a whole number from {} to {}, got {}", where, key, least, most, value.dump());
    return value;
  }

  NumberList slots(int &free) const {
    const json &value = entry.at("slots");
    NumberList slots;
    if (value.is_number_integer()) {
      int64_t count = number("slots", 1, 1, 1 << 20);
      require(free + count <= space.slots, "{}.slots: {} slots from slot {} on, but there are {}", where, count, free,
              space.slots);
      slots = block(free, int(count));
    } else {
      auto list = value.is_string() ? numberList(value.get<std::string>()) : std::nullopt;
      require(list && !list->empty(), "{}.slots: expected a number of slots or a list such as \"0-3,8\", got {}", where,
              value.dump());
      slots = *list;
      require(slots.back() < space.slots, "{}.slots: there is no slot {}, expected 0 to {}", where, slots.back(),
              space.slots - 1);
    }
    free = slots.back() + 1;
    return slots;
  }
};

} // namespace

std::vector<CorunMove> movesFromFile(const std::string &path, const std::vector<CorunChoices> &models,
                                     const CorunSpace &space) {
  json document;
  try {
    document = json::parse(readFile(path));
  } catch (const json::exception &error) {
    fail("{}: not JSON: {}", path, messageOf(error));
  }
  require(document.is_object() && document.size() == 1 && document.contains("models") && document["models"].is_array(),
          "{}: expected an object with one key, the array 'models'", path);
  const json &entries = document["models"];
  require(entries.size() == models.size(), "{}: models: expected {} entries, one for each model, got {}", path,
          models.size(), entries.size());
  std::vector<CorunMove> moves;
  int free = 0;
  for (size_t i = 0; i < models.size(); ++i)
    moves.push_back(MoveEntry(fmt::format("{}: models[{}]", path, i), entries[i], models[i], space).read(free));
  return moves;
}

} // namespace lathe::jobs
