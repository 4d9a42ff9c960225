// Text and JSON of `lathe verify`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/verify/Verify.h"

namespace lathe::cli {

/// The comparisons of one set, the coverage of `--all`, and the first divergence.
std::string setText(const VerifiedSet &set, const VerifyJob &job);
nlohmann::json verifiedJson(const Verified &verified, const VerifyJob &job);

} // namespace lathe::cli
