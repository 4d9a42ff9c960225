// Passes points to another thread, which processes them while the caller reads further points from the store.
#pragma once

#include "store/Records.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe::report {

class PointBelt {
public:
  /// Starts a thread of this object that calls `use` for one point after the other, in the order of adding.
  explicit PointBelt(std::function<void(const store::Point &point)> use);
  /// Waits for the thread. Points that the thread has not used yet are dropped.
  ~PointBelt();
  PointBelt(const PointBelt &) = delete;
  PointBelt &operator=(const PointBelt &) = delete;

  /// Adds a copy of the point to the queue; waits if too many points are queued. Rethrows exceptions of `use`.
  void add(const store::Point &point);
  /// Waits until all points are processed. Rethrows exceptions of `use`.
  void finish();

private:
  using Batch = std::vector<store::Point>;
  void send();
  void work();

  std::function<void(const store::Point &)> use;
  Batch next;       // batch that is being filled; used by the caller's thread only
  std::mutex mutex; // protects the members that follow
  std::condition_variable changed;
  std::deque<Batch> batches;
  /// `ended`: no further batch will come; `stopped`: the remaining points are not needed.
  bool ended = false, stopped = false;
  std::exception_ptr thrown;
  std::thread thread;
};

} // namespace lathe::report
