#include "cli/print/measure/SegmentsPrint.h"

#include "cli/print/GroupedWarnings.h"
#include "compile/Checkpoints.h"
#include "support/Text.h"

namespace lathe::cli {

using nlohmann::json;

Table placesTable(const Source &source) {
  Table table(
      {textColumn("node").shrink(20), numberColumn("GFLOP so far").key("flops"), textColumn("one tensor passes")});
  for (const Checkpoint &point : checkpoints(*source.module))
    table.row({point.node, valueCell(fmt::format("{:.3f}", point.flops * 1e-9), point.flops),
               valueCell(point.separates ? "yes" : "", point.separates)});
  return table;
}

namespace {

/// "12.3 +- 0.4"
std::string meanText(const SegmentPart &part, size_t side) {
  const lab::Summary &time = part.time(side);
  if (time.count)
    return fmt::format("{:.3f} +- {:.3f}", time.mean * 1e3, time.standardDeviation * 1e3);
  return part.comparison.sides[side].failure ? "failed" : "-";
}

std::string ratioText(const SegmentPart &part) {
  for (const lab::SideResult &side : part.comparison.sides)
    if (side.failure)
      return side.name + " failed";
  if (!part.comparison.agrees())
    return "outputs differ";
  return part.judged()
             ? fmt::format("{:.3f} {}", *part.ratio(), verdictText(*part.judged(), isDisturbed(part.comparison)))
             : "";
}

json partJson(const SegmentPart &part) {
  json document = lab::toJson(part.comparison);
  document["from"] = part.from;
  document["to"] = part.to;
  document["operators"] = part.operators;
  document["inputs"] = part.inputs;
  return document;
}

/// Where the peer overtakes: sentences about the blocks.
std::string turns(const std::vector<SegmentPart> &cumulative, const std::vector<SegmentPart> &blocks,
                  const std::string &peer) {
  std::string text;
  for (size_t i = 1; i < cumulative.size(); ++i) {
    auto &before = cumulative[i - 1].judged(), &after = cumulative[i].judged();
    if (!before || !after || (before->ratio.ratio > 1) == (after->ratio.ratio > 1))
      continue;
    auto isOneOf = [&](lab::Verdict verdict) { return before->verdict == verdict || after->verdict == verdict; };
    if (!isOneOf(lab::Verdict::same))
      text += fmt::format("From the input to {} the ratio {}: {:.3f} before, {:.3f} with it.\n",
                          cumulative[i].to.empty() ? "the outputs" : cumulative[i].to,
                          isOneOf(lab::Verdict::ambiguous) ? "may turn (ambiguous)" : "turns", before->ratio.ratio,
                          after->ratio.ratio);
  }
  double best = 0; // the speed that one of the blocks shows to be possible
  for (const SegmentPart &block : blocks)
    if (block.ratio())
      best = std::max(best, *block.ratio());
  const SegmentPart *worst = nullptr;
  double lost = 0;
  for (const SegmentPart &block : blocks) {
    if (!block.ratio())
      continue;
    if (block.judged()->verdict == lab::Verdict::slower)
      text += fmt::format("{} is faster between {} and {}: ratio {:.3f}.\n", peer,
                          block.from.empty() ? "the input" : block.from, block.to.empty() ? "the outputs" : block.to,
                          *block.ratio());
    double over = block.time(0).median - block.time(1).median / best;
    if (over > lost) {
      lost = over;
      worst = &block;
    }
  }
  if (worst && blocks.size() > 1)
    text += fmt::format("Most would be gained between {} and {}: {:.3f} ms, were its ratio that of the best block.\n",
                        worst->from.empty() ? "the input" : worst->from, worst->to.empty() ? "the outputs" : worst->to,
                        lost * 1e3);
  return text;
}

std::string partsTable(const Segments &parts, const std::string &with, const TableStyle &style) {
  Table table({textColumn("up to").shrink(10), numberColumn("operators").drop(3), numberColumn("", "ms"),
               numberColumn(with, "ms"), textColumn("ratio"), numberColumn("block: operators").drop(4),
               numberColumn("block: time", "ms").drop(1), numberColumn("block: " + with, "ms").drop(2),
               textColumn("block: ratio")});
  for (size_t i = 0; i < parts.cumulative.size(); ++i) {
    const SegmentPart &part = parts.cumulative[i];
    std::vector<TableCell> cells = {part.to.empty() ? "outputs" : part.to, std::to_string(part.operators),
                                    meanText(part, 0), meanText(part, 1), ratioText(part)};
    if (i < parts.blocks.size()) {
      const SegmentPart &block = parts.blocks[i];
      for (auto &cell : {std::to_string(block.operators), meanText(block, 0), meanText(block, 1), ratioText(block)})
        cells.push_back(cell);
    }
    table.row(cells);
  }
  return table.str(style);
}

/// "between relu1 and relu2"
std::string placeText(const SegmentPart &part) {
  return fmt::format("between {} and {}", part.from.empty() ? "the input" : part.from,
                     part.to.empty() ? "the outputs" : part.to);
}

} // namespace

std::string segmentsText(const Segments &parts, const SegmentJob &flags, const std::string &kept,
                         const TableStyle &style) {
  auto all = [&](auto visit) {
    for (auto *list : {&parts.cumulative, &parts.blocks})
      for (size_t i = list == &parts.blocks ? 1 : 0; i < list->size(); ++i) // the first block is the first part
        visit((*list)[i]);
  };
  std::string text = fmt::format("{}, {}; mean +- standard deviation; a ratio is {}'s time over ours\n",
                                 flags.model.model, counted(flags.model.threads, "thread"), flags.with) +
                     partsTable(parts, flags.with, style) + turns(parts.cumulative, parts.blocks, flags.with) + kept;
  if (std::string line = parts.cumulative.back().records.line(flags.model); !line.empty())
    text += line + "\n";
  std::vector<PlacedWarnings> warnings;
  all([&](const SegmentPart &part) {
    bool agrees = part.comparison.agrees();
    if (!agrees)
      text += placeText(part) + ":\n" + lab::describe(part.comparison, style);
    warnings.push_back({placeText(part), agrees ? lab::warningsOf(part.comparison) : std::vector<std::string>()});
  });
  for (const std::string &line : groupedWarnings(warnings))
    text += fmt::format("warning, {}\n", line);
  return text;
}

json segmentsJson(const Segments &parts, const SegmentJob &flags, bool finished) {
  auto listOf = [](const std::vector<SegmentPart> &list) {
    json documents = json::array();
    for (const SegmentPart &part : list)
      documents.push_back(partJson(part));
    return documents;
  };
  return {{"model", flags.model.model},
          {"with", flags.with},
          {"threads", flags.model.threads},
          {"finished", finished},
          {"cumulative", listOf(parts.cumulative)},
          {"blocks", listOf(parts.blocks)}};
}

} // namespace lathe::cli
