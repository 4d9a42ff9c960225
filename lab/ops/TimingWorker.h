// What runners (whole models) and providers (single operators) have in common: a worker that greets with its version,
// reports an error as an answer, and measures its own times.
//
// All that can go wrong is a process::Failure. An error that it reports itself ({"ok": false}) is of kind `threw` and
// leaves it alive; every other failure, an answer of another shape than the protocol's among them, ends it.
#pragma once

#include "lab/machine/Counts.h"
#include "process/Worker.h"
#include "support/Error.h"

#include <string>
#include <vector>

namespace lathe::lab {

class TimingWorker {
public:
  const std::string &name() const { return statedName; }
  const std::string &version() const { return statedVersion; }
  const nlohmann::json &settings() const { return statedSettings; } // as it states them

  /// Why it does not count everything that Counts has; "" where it does, or says nothing of it.
  const std::string &uncounted() const { return statedUncounted; }

  /// `repetitions` runs after `warmup` others, measured and counted inside the worker.
  process::Result<Timing> time(int warmup, int repetitions) { return timeWith({}, warmup, repetitions); }

  bool alive() const { return worker.alive(); }
  /// A worker that cannot be stopped is ended: the next request tells.
  void pause() { (void)worker.pause(); }
  void resume() { worker.resume(); }
  process::Usage usage() const { return worker.usage(); }
  /// Asks it to leave; ends it if it does not.
  void quit();

protected:
  TimingWorker(process::Worker worker, std::string name, double runTimeout)
      : worker(std::move(worker)), statedName(std::move(name)), runTimeout(runTimeout) {}

  /// Says hello in `protocol` ("runner protocol") of `protocolVersion`; hands back the answer.
  process::Result<nlohmann::json> greet(std::string_view protocol, int protocolVersion, double timeoutSeconds);
  /// Asks, and turns the answer into a value with `read`, which throws json::exception where it has another shape.
  template <class T, class Read>
  process::Result<T> ask(const nlohmann::json &request, double timeoutSeconds, Read read) {
    auto answer = ask(request, timeoutSeconds);
    if (!answer)
      return answer.failure();
    try {
      return T(read(*answer));
    } catch (const nlohmann::json::exception &exception) {
      return garbage("answer to '" + request.at("do").get<std::string>() + "': " + exception.what());
    }
  }
  process::Result<nlohmann::json> ask(const nlohmann::json &request, double timeoutSeconds);
  /// `time` with more fields in the request.
  process::Result<Timing> timeWith(const nlohmann::json &fields, int warmup, int repetitions);
  /// Ends the worker.
  process::Failure garbage(const std::string &detail);

  process::Worker worker;
  std::string statedName, statedVersion, statedUncounted;
  nlohmann::json statedSettings = nlohmann::json::object();
  double runTimeout; // seconds
};

} // namespace lathe::lab
