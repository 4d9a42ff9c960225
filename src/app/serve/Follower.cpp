#include "serve/Follower.h"

#include "serve/Access.h"
#include "serve/Listing.h"

#include <algorithm>
#include <thread>

namespace lathe::serve {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

static constexpr auto pause = milliseconds(400), longestPause = milliseconds(5000);
static constexpr int shareOfTime = 20; // polling takes at most 1/20 of one processor
static constexpr auto patience = milliseconds(2000), silence = milliseconds(10000);

Follower::Follower(std::string path) : path(std::move(path)), run_(randomText(4)) {
  store.emplace(store::openReadOnly(this->path));
  count = store::changeCount(*store) - 1;
  lookAtStore();
}

std::string Follower::positionText(uint64_t at) const { return fmt::format("{}-{}", run_, at); }

int Follower::listeners() const {
  std::lock_guard lock(mutex);
  return waiting;
}

std::string Follower::position() {
  look();
  std::lock_guard lock(mutex);
  return positionText(revision);
}

/// Polls; an error becomes a state that clients receive.
void Follower::look() {
  std::lock_guard one(looking);
  std::string problem;
  try {
    if (!store) {
      store.emplace(store::openReadOnly(path, 0.5));
      count = store::changeCount(*store) - 1;
    }
    lookAtStore();
  } catch (const Error &error) {
    problem = shownMessage(error.what(), path);
    store.reset(); // opened again next time
  }
  std::lock_guard lock(mutex);
  if (problem == trouble)
    return;
  trouble = problem;
  troubleRevision = ++revision;
  changed.notify_all();
}

/// Updates `experiments` if the store has changed or a process has ended.
void Follower::lookAtStore() {
  int64_t present = store::changeCount(*store);
  bool ended = false;
  if (present == count) {
    std::lock_guard lock(mutex);
    ended = std::any_of(experiments.begin(), experiments.end(),
                        [](auto &entry) { return entry.second.owner && !entry.second.owner->mayLive(); });
  }
  if (present == count && !ended)
    return;
  store::Transaction moment(store->connection(), store::Transaction::Kind::read);
  std::vector<store::ExperimentSummary> summaries = store->experiments();
  std::vector<json> documents = experimentsJson(*store, summaries);
  std::lock_guard lock(mutex);
  count = present;
  // The position moves with every change, even if no entry shows it, for example if a point is measured again.
  uint64_t next = ++revision;
  std::map<std::string, bool> there;
  for (size_t i = 0; i < summaries.size(); ++i) {
    const std::string &uuid = summaries[i].experiment.uuid;
    there[uuid] = true;
    Entry &entry = experiments[uuid];
    entry.owner = summaries[i].owner;
    if (documents[i] != entry.document) {
      entry.document = std::move(documents[i]);
      entry.revision = next;
    }
  }
  for (auto &[uuid, entry] : experiments)
    if (!there.contains(uuid) && !entry.document.is_null())
      entry = {.document = {}, .owner = {}, .revision = next};
  changed.notify_all();
}

void Follower::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex);
      wanted.wait(lock, [&] { return waiting > 0; });
    }
    auto begin = Clock::now();
    look();
    auto taken = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    std::this_thread::sleep_for(std::clamp<milliseconds>(taken * shareOfTime, pause, longestPause));
  }
}

/// The data of an event; null if nothing that clients see has changed. The caller holds `mutex`.
json Follower::changesAfter(uint64_t seen) const {
  json list = json::array(), gone = json::array();
  for (auto &[uuid, entry] : experiments)
    if (entry.revision > seen) {
      if (entry.document.is_null())
        gone.push_back(uuid);
      else
        list.push_back(entry.document);
    }
  if (list.empty() && gone.empty() && troubleRevision <= seen)
    return {};
  return {{"experiments", list}, {"gone", gone}, {"trouble", trouble}};
}

Follower::Events::Events(Follower &follower, const std::string &from) : follower(follower), spoke(Clock::now()) {
  std::lock_guard lock(follower.mutex);
  size_t dash = from.rfind('-');
  if (dash != from.npos && from.substr(0, dash) == follower.run_)
    seen = std::strtoull(from.c_str() + dash + 1, nullptr, 10);
  ++follower.waiting;
  follower.wanted.notify_all();
}

Follower::Events::~Events() {
  std::lock_guard lock(follower.mutex);
  --follower.waiting;
}

std::string Follower::Events::next() {
  std::string greeting;
  if (!greeted)
    greeting = "retry: 2000\n: follows\n\n"; // sent at once, so that the client knows that it is connected
  std::unique_lock lock(follower.mutex);
  if (greeted)
    follower.changed.wait_for(lock, patience, [&] { return follower.revision > seen; });
  greeted = true;
  json data;
  if (follower.revision > seen)
    data = follower.changesAfter(seen);
  seen = std::max(seen, follower.revision);
  std::string place = follower.positionText(seen);
  lock.unlock();
  std::string text = greeting;
  if (!data.is_null())
    text += fmt::format("id: {}\nevent: change\ndata: {}\n\n", place,
                        data.dump(-1, ' ', false, json::error_handler_t::replace));
  else if (text.empty() && Clock::now() - spoke > silence)
    text = ": still here\n\n";
  if (!text.empty())
    spoke = Clock::now();
  return text;
}

} // namespace lathe::serve
