#include "report/PointBelt.h"

#include <utility>

namespace lathe::report {

static constexpr size_t batchSize = 128, mostBatches = 8;

PointBelt::PointBelt(std::function<void(const store::Point &point)> use)
    : use(std::move(use)), thread([this] { work(); }) {}

PointBelt::~PointBelt() {
  {
    std::lock_guard lock(mutex);
    stopped = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void PointBelt::add(const store::Point &point) {
  next.push_back(point);
  if (next.size() == batchSize)
    send();
}

void PointBelt::send() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return thrown || batches.size() < mostBatches; });
  if (thrown)
    std::rethrow_exception(thrown);
  batches.push_back(std::exchange(next, {}));
  next.reserve(batchSize);
  lock.unlock();
  changed.notify_all();
}

void PointBelt::finish() {
  send();
  {
    std::lock_guard lock(mutex);
    ended = true;
  }
  changed.notify_all();
  thread.join();
  if (thrown)
    std::rethrow_exception(thrown);
}

void PointBelt::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ended || stopped || !batches.empty(); });
    if (stopped || batches.empty())
      return;
    Batch batch = std::move(batches.front());
    batches.pop_front();
    lock.unlock();
    changed.notify_all();
    try {
      for (const store::Point &point : batch)
        use(point);
    } catch (...) {
      lock.lock();
      thrown = std::current_exception();
      batches.clear();
      changed.notify_all();
      return;
    }
    lock.lock();
  }
}

} // namespace lathe::report
