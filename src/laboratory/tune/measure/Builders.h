// The builder processes of a tuner (tune/measure/builder/). Each has a thread that starts it, talks to it and
// restarts it.
#pragma once

#include "process/Worker.h"
#include "tune/measure/Measure.h"
#include "tune/measure/Task.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace lathe::tune {

/// The prefix of the names of a task's files, and the seed from which its operands are made.
struct TaskFiles {
  std::string prefix;
  uint64_t seed = 1;
};

/// The outcome of building one schedule into a candidate.
struct Built {
  store::PointStatus status = store::PointStatus::failed;
  std::string reason;       // reason for a status other than passed
  nlohmann::json candidate; // the member "candidate" of the runner's message "measure"
  double seconds = 0;       // seconds spent on building
  double generate = 0, lower = 0, pack = 0;
};

class Builders {
public:
  /// `program`: path of lathe-tune-builder. `packedFolder`: folder for packed constants of all tasks.
  Builders(const MeasureOptions &options, std::string program, std::string packedFolder);
  ~Builders();
  Builders(const Builders &) = delete;
  Builders &operator=(const Builders &) = delete;

  /// Makes one builder prepare the data of a task (operands, expected results); it uses all CPUs. Returns the message
  /// "task" for the runner. Declines a task that cannot be measured, also if the builder process ends.
  Outcome<nlohmann::json> prepare(const Task &task, const TaskFiles &files);
  /// Builds the schedules of a task; all builders share the work. Returns the outcomes in the order of `schedules`.
  std::vector<Built> build(const Task &task, const TaskFiles &files, const std::vector<std::string> &schedules);

private:
  /// A builder process. Only one thread uses this object.
  struct Process {
    std::optional<process::Worker> worker;
    std::string task; // TaskFiles::prefix of the task that the process has at present
  };
  using Job = std::function<void(Process &)>;

  const MeasureOptions &options;
  std::string program, packedFolder;
  size_t cpus = 1;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable wake, idle;
  std::deque<Job> jobs;
  size_t running = 0;
  bool over = false;
  std::exception_ptr error; // the first error that a job has thrown

  void work();
  /// Runs all jobs on the builder processes and waits for their end. Rethrows the first error.
  void run(std::deque<Job> all);
  void start(Process &process) const;
  /// Sends a builder process its task. Throws Error for a task that does not belong to the options.
  process::Result<nlohmann::json> setTask(Process &process, const Task &task, const TaskFiles &files,
                                          bool withData) const;
  Built buildOne(Process &process, const Task &task, const TaskFiles &files, const std::string &schedule) const;
};

} // namespace lathe::tune
