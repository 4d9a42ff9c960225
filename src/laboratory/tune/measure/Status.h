// Handles the answers of the tuner's programs, and records their failures.
#pragma once

#include "process/Worker.h"
#include "store/Records.h"
#include "support/Error.h"

namespace lathe::tune {

/// The status of a trial whose process ended with `failure`.
inline store::PointStatus statusOf(const process::Failure &failure) {
  switch (failure.kind) {
  case process::FailureKind::timedOut:
  case process::FailureKind::cpuExceeded:
    return store::PointStatus::timedOut;
  case process::FailureKind::memoryExceeded:
    return store::PointStatus::memoryExceeded;
  default:
    return store::PointStatus::crashed;
  }
}

/// Throws the error that a worker process reports in its answer, if it reports one.
inline void requireOk(const nlohmann::json &answer) {
  require(answer.value("ok", false), "{}", answer.value("error", "a worker answers neither ok nor an error"));
}

/// Sends a worker a request that should not fail and returns the answer. Throws Error if the process ends or reports
/// an error.
inline nlohmann::json asked(process::Worker &worker, const nlohmann::json &request, double timeoutSeconds) {
  auto answer = worker.request(request, timeoutSeconds);
  require(answer.ok(), "{}", answer ? "" : answer.failure().message());
  requireOk(*answer);
  return std::move(*answer);
}

} // namespace lathe::tune
