// Follows the changes of a store for all clients of `lathe serve`: one connection and one thread, which polls while
// there are listeners.
#pragma once

#include "store/ReadOnly.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lathe::serve {

class Follower {
public:
  /// Opens the store to follow. Throws the errors of store::openReadOnly.
  explicit Follower(std::string path);

  /// Polls the store and returns its present position: a text that stays equal until the store changes.
  std::string position();
  /// Number of clients that listen for events at present.
  int listeners() const;

  /// The events for one client: the changes of the store after a position.
  class Events {
  public:
    /// `from` may be a position of an earlier server process; for an unknown position everything counts as changed.
    Events(Follower &follower, const std::string &from);
    ~Events();
    /// Waits for the next event and returns it in the form of server-sent events. After some seconds without a change
    /// it returns "" or a comment, so that the connection stays alive.
    std::string next();

  private:
    Follower &follower;
    uint64_t seen = 0;
    bool greeted = false;
    std::chrono::steady_clock::time_point spoke;
  };

  /// Polls the store again and again while there are listeners; runs in a thread of its own.
  [[noreturn]] void run();

private:
  struct Entry {
    nlohmann::json document; // what clients get about the experiment; null: the experiment is gone
    std::optional<store::Owner> owner;
    uint64_t revision = 0; // number of the revision in which the experiment changed last
  };

  void look();
  void lookAtStore();
  std::string positionText(uint64_t revision) const;
  nlohmann::json changesAfter(uint64_t revision) const;

  // path of the store; name of this run, which distinguishes this server from earlier ones
  const std::string path, run_;
  mutable std::mutex mutex; // protects the members from here to `waiting`
  std::condition_variable changed, wanted;
  std::map<std::string, Entry> experiments; // experiments by uuid
  std::string trouble;                      // the reason why the store cannot be read at present; "": it can
  uint64_t revision = 1, troubleRevision = 0;
  int waiting = 0;

  std::mutex looking; // protects `store` and `count`
  std::optional<store::Store> store;
  int64_t count = 0;
};

} // namespace lathe::serve
