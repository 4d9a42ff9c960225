#include "cli/print/VerifyPrint.h"

#include "support/Text.h"

#include <map>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// The number of kernels that were not compared, by reason.
std::map<std::string, size_t> reasonsOf(const verify::SetResult &result) {
  std::map<std::string, size_t> reasons;
  for (const verify::LeftOut &left : result.leftOut)
    ++reasons[left.reason];
  return reasons;
}

size_t comparedKernels(const verify::SetResult &result) { return result.kernels - result.leftOut.size(); }

std::string coverageText(const VerifiedSet &set) {
  std::string text;
  for (const auto &[reason, count] : reasonsOf(set.result))
    text += fmt::format("{}{} ({})", text.empty() ? "; left out: " : ", ", count, reason);
  text = fmt::format("compared {} of {} kernels ({}){}\n", comparedKernels(set.result), set.result.kernels, set.title,
                     text);
  for (const verify::LeftOut &left : set.result.leftOut)
    text += fmt::format("left out  {} (kernel {}): {}\n", printable(left.value), left.kernel, left.reason);
  return text;
}

void addCoverage(const verify::SetResult &result, json &document) {
  document["kernels"] = result.kernels;
  document["compared_kernels"] = comparedKernels(result);
  document["left_out_reasons"] = reasonsOf(result);
  document["left_out"] = json::array();
  for (const verify::LeftOut &left : result.leftOut)
    document["left_out"].push_back({{"kernel", left.kernel}, {"value", left.value}, {"reason", left.reason}});
}

} // namespace

std::string setText(const VerifiedSet &set, const VerifyJob &job) {
  std::string text;
  for (const verify::Comparison &one : set.result.comparisons)
    text += fmt::format("{}  {} ({}): {}\n", one.passed ? "ok      " : "MISMATCH", printable(one.value), set.title,
                        one.difference.str());
  if (job.compared.all)
    text += coverageText(set);
  if (set.result.divergence)
    text += set.result.divergence->str() + "\n";
  if (!set.extractCommand.empty())
    text += "to cut it out: " + set.extractCommand + "\n";
  return text;
}

json verifiedJson(const Verified &verified, const VerifyJob &job) {
  json document{{"model", job.model.model},
                {"package", verified.package},
                {"precision", name(verified.precision)},
                {"runs", json::array()},
                {"relative_error", verified.worst.relative},
                {"maximum_error", verified.worst.maximum}};
  document.update(cache::toJson(verified.verdict));
  for (const auto &[title, result, command] : verified.sets) {
    document["relative_tolerance"] = result.tolerance.relative;
    document["maximum_tolerance"] = result.tolerance.maximum;
    for (const verify::Comparison &one : result.comparisons)
      document["runs"].push_back({{"inputs", title},
                                  {"value", one.value},
                                  {"relative_error", one.difference.relative},
                                  {"maximum_error", one.difference.maximum},
                                  {"broken", one.difference.broken},
                                  {"nan_count", one.difference.nan},
                                  {"infinite_count", one.difference.infinite},
                                  {"passed", one.passed}});
    if (job.compared.all)
      addCoverage(result, document);
    if (result.divergence)
      document.update({{"extract_command", command},
                       {"first_diverging_node", result.divergence->value},
                       {"first_diverging_kernel", result.divergence->kernel},
                       {"place", result.divergence->str()}});
  }
  return document;
}

} // namespace lathe::cli
