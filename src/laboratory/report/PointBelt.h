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
  /// `use` is called in a thread of this object, for one point after the other, in the order of adding.
  explicit PointBelt(std::function<void(const store::Point &point)> use);
  /// Waits for the thread. Points that it has not used yet are dropped.
  ~PointBelt();
  PointBelt(const PointBelt &) = delete;
  PointBelt &operator=(const PointBelt &) = delete;

  /// Adds a copy of the point; waits if too many points are queued. Rethrows exceptions of `use`.
  void add(const store::Point &point);
  /// Waits until all points are processed. Rethrows exceptions of `use`.
  void finish();

private:
  using Batch = std::vector<store::Point>;
  void send();
  void work();

  std::function<void(const store::Point &)> use;
  Batch next;       // used by the caller only
  std::mutex mutex; // protects the members that follow
  std::condition_variable changed;
  std::deque<Batch> batches;
  /// `ended`: no further batch will come; `stopped`: the remaining points are not needed.
  bool ended = false, stopped = false;
  std::exception_ptr thrown;
  std::thread thread;
};

} // namespace lathe::report
