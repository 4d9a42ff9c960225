#include "cli/print/CompilePrint.h"

#include "cli/print/VariantsPrint.h"
#include "support/Text.h"

namespace lathe::cli {

nlohmann::json compiledJson(const CompileJob &job, const CompiledModel &compiled, const LayoutReport &layouts) {
  const CompileReport &report = compiled.report;
  return {{"model", job.model.model},
          {"package", job.output},
          {"original_bytes", compiled.sourceBytes},
          {"record_kernels", compiled.records.kernels},
          {"company", job.model.company},
          {"company_record_kernels", compiled.records.inCompany},
          {"layouts", layoutJson(layouts)},
          {"time_s", report.seconds},
          {"passes_s", report.passSeconds},
          {"code_s", report.codeSeconds},
          {"package_bytes", report.packageBytes},
          {"constant_bytes", report.constantBytes},
          {"code_bytes", report.codeBytes},
          {"source_constant_bytes", report.sourceConstantBytes},
          {"kernels", report.kernels},
          {"distinct_kernels", report.distinctKernels},
          {"cached_kernels", report.cachedKernels},
          {"layout_conversions", report.layoutConversions},
          {"measured_choice_count", report.measuredChoices},
          {"timed_kernels", report.timedBatches},
          {"streams",
           {{"kernels", report.streams.instructions},
            {"phase_count", report.streams.phases},
            {"kernels_on_fewer_threads", report.streams.alone},
            {"predicted_cycles", report.streams.cycles},
            {"sequence_cycles", report.streams.sequenceCycles},
            {"measured_kernels", report.streams.measured},
            {"decision", report.streams.decision},
            {"arena_bytes", compiled.streamArenaBytes},
            {"sequence_arena_bytes", compiled.sequenceArenaBytes}}},
          {"merges",
           {{"convolution_count", report.merges.convolutions},
            {"merged_count", report.merges.merged},
            {"predicted_cycles", report.merges.cycles},
            {"apart_cycles", report.merges.apartCycles}}},
          {"references", referencesJson(report.references)},
          {"notes", report.notes},
          {"flops", report.flops},
          {"compiled_flops", report.compiledFlops},
          {"variants", variantsJson(report)},
          {"target", report.target}};
}

std::string writtenText(const std::vector<nn::WrittenFile> &written) {
  if (written.empty())
    return "";
  std::string line = fmt::format("{}: {} of text", written[0].path, bytesText(static_cast<double>(written[0].bytes)));
  if (written.size() > 1)
    line += fmt::format("; {}: {} of weights, which the text needs beside it", written[1].path,
                        bytesText(static_cast<double>(written[1].bytes)));
  return line + "\n";
}

/// "" if streams were neither given nor searched.
static std::string streamsText(const CompiledModel &compiled) {
  const StreamsReport &streams = compiled.report.streams;
  const std::string source =
      !streams.decision.empty() ? ", compared by lathe tune: " + printable(streams.decision)
      : streams.measured > 0 ? fmt::format(", from times of {} on teams", counted(int64_t(streams.measured), "kernel"))
                             : "";
  if (streams.instructions + streams.alone == 0)
    return streams.sequenceCycles == 0 ? ""
           : source.empty()            ? "streams: none, no kernels are predicted to be faster beside each other\n"
                            : fmt::format("streams: none, no kernels are faster beside each other{}\n", source);
  std::string text = fmt::format("streams: {} beside others in {}", counted(int64_t(streams.instructions), "kernel"),
                                 counted(int64_t(streams.phases), "phase"));
  if (streams.alone > 0)
    text += fmt::format(", {} alone on fewer threads", streams.alone);
  if (streams.sequenceCycles > 0)
    text += fmt::format(", {} {:.3f} times as fast as in sequence{}", source.empty() ? "predicted" : "expected",
                        streams.sequenceCycles / streams.cycles, source);
  if (compiled.streamArenaBytes > 0)
    text += fmt::format("; arena {} instead of {}", bytesText(double(compiled.streamArenaBytes)),
                        bytesText(double(compiled.sequenceArenaBytes)));
  return text + "\n";
}

/// "" if no convolutions were merged.
static std::string mergesText(const MergesReport &merges) {
  if (merges.merged == 0)
    return "";
  std::string text =
      fmt::format("merged: {} into {}", counted(int64_t(merges.convolutions), "convolution"), merges.merged);
  if (merges.apartCycles > 0)
    text += fmt::format(", predicted {:.3f} times as fast as apart", merges.apartCycles / merges.cycles);
  return text + "\n";
}

std::string compiledText(const CompileJob &job, const CompiledModel &compiled) {
  const CompileReport &report = compiled.report;
  std::string text =
      fmt::format("{}: {}, {} distinct, {} of them from the cache, for {}, in {:.2f} s (passes {:.2f}, code {:.2f})\n",
                  job.output, counted(int64_t(report.kernels), "kernel"), report.distinctKernels, report.cachedKernels,
                  report.target, report.seconds, report.passSeconds, report.codeSeconds);
  text += fmt::format(
      "package {} (constants {}, code {}), the original has {}\n", bytesText(static_cast<double>(report.packageBytes)),
      bytesText(static_cast<double>(report.constantBytes)), bytesText(static_cast<double>(report.codeBytes)),
      bytesText(static_cast<double>(compiled.sourceBytes)));
  if (std::string records = compiled.records.line(job.model); !records.empty())
    text += records + "\n";
  if (report.measuredChoices)
    text += fmt::format("measured times of records choose layouts or kernels of {}\n",
                        counted(int64_t(report.measuredChoices), "operator"));
  if (report.timedBatches)
    text += fmt::format("measured times of records say how a batch passes {}\n",
                        counted(int64_t(report.timedBatches), "kernel"));
  text += mergesText(report.merges) + streamsText(compiled);
  text += variantsText(report) + fmt::format("layout conversions kept: {}\n", report.layoutConversions);
  for (const LayoutConversion &conversion : report.conversions)
    text += fmt::format("  {}\n", printable(conversionText(conversion)));
  for (const std::string &note : report.notes)
    text += fmt::format("note: {}\n", printable(note));
  return text + fmt::format("operators left to references: {}\n", report.references.size()) +
         referencesText(report.references);
}

} // namespace lathe::cli
