// Follows a store for all clients at once: one connection, one thread, which looks while somebody listens.
#pragma once

#include "store/ReadOnly.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lathe::serve {

class Follower {
public:
  /// Opens the store. Throws the errors of store::openReadOnly.
  explicit Follower(std::string path);

  /// Looks at the store now and returns the present position: a text that is equal while nothing changes.
  std::string position();
  /// Number of clients that wait for events now.
  int listeners() const;

  /// What changed after a position, for one client.
  class Events {
  public:
    /// `from`: a position that an earlier server may have given; what it does not know counts as changed.
    Events(Follower &follower, const std::string &from);
    ~Events();
    /// The next event in the form of server-sent events; "" after some seconds without a change, or a comment
    /// that keeps the connection alive.
    std::string next();

  private:
    Follower &follower;
    uint64_t seen = 0;
    bool greeted = false;
    std::chrono::steady_clock::time_point spoke;
  };

  /// Looks again and again while there are listeners. Runs on a thread of its own.
  [[noreturn]] void run();

private:
  struct Entry {
    nlohmann::json document; // null: the experiment is gone
    std::optional<store::Owner> owner;
    uint64_t revision = 0; // when it changed last
  };

  void look();
  void lookAtStore();
  std::string positionText(uint64_t revision) const;
  nlohmann::json changesAfter(uint64_t revision) const;

  const std::string path, run_; // run_: tells this server from an earlier one
  mutable std::mutex mutex;     // of what follows
  std::condition_variable changed, wanted;
  std::map<std::string, Entry> experiments; // by uuid
  std::string trouble;                      // why the store cannot be read now; "": it can
  uint64_t revision = 1, troubleRevision = 0;
  int waiting = 0;

  std::mutex looking; // of the connection
  std::optional<store::Store> store;
  int64_t count = 0;
};

} // namespace lathe::serve
