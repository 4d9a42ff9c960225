// Carries points to another thread, which works on them while the caller reads the next ones from the store.
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
  /// `use` is called on a thread of this object, for one point after the other, in the order in which they are added.
  explicit PointBelt(std::function<void(const store::Point &point)> use);
  /// Waits for the thread, which drops what is left.
  ~PointBelt();
  PointBelt(const PointBelt &) = delete;
  PointBelt &operator=(const PointBelt &) = delete;

  /// Adds a copy of the point; waits while too many are on the way. Throws what `use` has thrown.
  void add(const store::Point &point);
  /// Waits until all points are used. Throws what `use` has thrown.
  void finish();

private:
  using Batch = std::vector<store::Point>;
  void send();
  void work();

  std::function<void(const store::Point &)> use;
  Batch next;       // of the caller alone
  std::mutex mutex; // of what follows
  std::condition_variable changed;
  std::deque<Batch> batches;
  bool ended = false, stopped = false; // no further batch; nobody wants the rest
  std::exception_ptr thrown;
  std::thread thread;
};

} // namespace lathe::report
