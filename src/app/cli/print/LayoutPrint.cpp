#include "cli/print/LayoutPrint.h"

#include "lab/machine/Machine.h"
#include "support/Text.h"

#include <fmt/format.h>

namespace lathe::cli {
namespace {

std::string readerOf(const LayoutConversion &conversion) {
  return conversion.reader.empty() ? "a result of the model" : conversion.reader;
}

std::string nameOf(const LayoutConversion &conversion) {
  return conversion.node.empty() ? "an input" : conversion.node;
}

double cyclesOf(const CompileReport &report) {
  double cycles = 0;
  for (const LayoutConversion &conversion : report.conversions)
    cycles += conversion.cycles;
  return cycles;
}

/// The share of conversions in the predicted time of all kernels.
double shareOf(const CompileReport &report) {
  return report.predictedCycles > 0 ? cyclesOf(report) / report.predictedCycles : 0;
}

double microseconds(double cycles, double clockGhz) { return cycles / (clockGhz * 1e3); }

std::string costText(double cycles, const std::optional<double> &clockGhz) {
  return clockGhz ? fmt::format("{:.1f} us", microseconds(cycles, *clockGhz)) : fmt::format("{:.0f} cycles", cycles);
}

Table conversionsTable(const LayoutReport &layouts) {
  Table table({textColumn("value").shrink(16).key("node"), textColumn("from").shrink(12), textColumn("to").shrink(12),
               textColumn("for").shrink(12).drop(1).key("reader"), numberColumn("moved").drop(2).key("bytes"),
               numberColumn("predicted", layouts.clockGhz ? "us" : "cycles")});
  for (const LayoutConversion &one : layouts.report.conversions)
    table.row({nameOf(one), one.from, one.to, readerOf(one), bytesText(double(one.bytes)),
               layouts.clockGhz ? fmt::format("{:.1f}", microseconds(one.cycles, *layouts.clockGhz))
                                : fmt::format("{:.0f}", one.cycles)});
  return table;
}

/// Why all operators keep the model's layout, if no layout was chosen; otherwise "".
std::string unchosenText(const LayoutReport &layouts) {
  bool chosen = layouts.level >= 3 || layouts.choice != "auto";
  return chosen ? ""
                : fmt::format("-O {} chooses no layouts: every operator has the layout of the model\n", layouts.level);
}

} // namespace

LayoutReport layoutReport(const CompileReport &report, const ModelOptions &flags, bool timed) {
  LayoutReport result{report, name(flags.layout), flags.level, {}};
  if (timed && flags.target == "native" && flags.machine.name.empty())
    result.clockGhz = lab::measureClock();
  return result;
}

std::string conversionText(const LayoutConversion &conversion) {
  return fmt::format("{}: {} -> {} for {}, {} bytes, {:.0f} cycles predicted", nameOf(conversion), conversion.from,
                     conversion.to, readerOf(conversion), conversion.bytes, conversion.cycles);
}

std::string layoutText(const LayoutReport &layouts, const TableStyle &style) {
  const CompileReport &report = layouts.report;
  std::string text =
      fmt::format("--layout {}: {} kept, {} of {} predicted ({:.2f} %){}\n", layouts.choice,
                  counted(int64_t(report.conversions.size()), "conversion"),
                  costText(cyclesOf(report), layouts.clockGhz), costText(report.predictedCycles, layouts.clockGhz),
                  100 * shareOf(report), layouts.clockGhz ? fmt::format(", at {:.2f} GHz", *layouts.clockGhz) : "");
  if (!report.conversions.empty())
    text += conversionsTable(layouts).str(style);
  text += unchosenText(layouts);
  if (report.unconverted.empty())
    return text;
  Table kept({textColumn("operator in the model's layout").shrink(16).key("node"), textColumn("kind").key("op").drop(1),
              textColumn("reason").shrink(24)});
  for (const UnconvertedOperator &one : report.unconverted)
    kept.row({one.node, one.op, one.reason});
  return text + fmt::format("{} in the model's layout\n", counted(int64_t(report.unconverted.size()), "operator")) +
         kept.str(style);
}

nlohmann::json layoutJson(const LayoutReport &layouts) {
  nlohmann::json conversions = nlohmann::json::array(), unconverted = nlohmann::json::array();
  for (const LayoutConversion &one : layouts.report.conversions) {
    conversions.push_back({{"node", one.node},
                           {"from", one.from},
                           {"to", one.to},
                           {"reader", one.reader},
                           {"bytes", one.bytes},
                           {"predicted_cycles", one.cycles}});
    if (layouts.clockGhz)
      conversions.back()["predicted_us"] = microseconds(one.cycles, *layouts.clockGhz);
  }
  for (const UnconvertedOperator &one : layouts.report.unconverted)
    unconverted.push_back({{"node", one.node}, {"op", one.op}, {"reason", one.reason}});
  return {{"choice", layouts.choice},
          {"conversions", std::move(conversions)},
          {"unconverted", std::move(unconverted)},
          {"predicted_cycles", layouts.report.predictedCycles},
          {"conversions_share", shareOf(layouts.report)}};
}

} // namespace lathe::cli
