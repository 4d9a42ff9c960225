#include "cli/print/DiffModelsPrint.h"

#include "support/Table.h"
#include "support/Text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// Shortens a name or a value for a line of text. Nodes of TFLite files may have the names of all nodes fused into
/// them.
std::string brief(const std::string &text) {
  constexpr size_t longest = 56; // characters
  return shortened(printable(text), longest);
}

/// "'conv1' (conv)", or "'conv1' / 'conv2d_1' (conv)" if the names differ.
std::string nodesText(const GraphDiff::Nodes &nodes) {
  std::string names = nodes.a == nodes.b ? fmt::format("'{}'", brief(nodes.a))
                                         : fmt::format("'{}' / '{}'", brief(nodes.a), brief(nodes.b));
  return names + " (" + nodes.kind + ")";
}

json nodesJson(const GraphDiff::Nodes &nodes) { return {{"a", nodes.a}, {"b", nodes.b}, {"operator", nodes.kind}}; }

std::string aloneText(const GraphDiff::Alone &alone, const char *side) {
  std::string text = fmt::format("only in {}: '{}' ({})", side, brief(alone.name), alone.kind);
  if (!alone.before.empty())
    text += fmt::format(", behind '{}'", brief(alone.before));
  if (!alone.behind.empty())
    text += fmt::format(", before '{}'", brief(alone.behind));
  return text + (alone.port.empty() ? "" : ": prepares the input");
}

std::string constantText(const GraphDiff::Constant &constant) {
  std::string text = fmt::format("{} constant {}: ", nodesText(constant.nodes), constant.operand);
  if (!constant.largest)
    return text + (constant.dimsA == constant.dimsB ? constant.dimsA + " with other elements"
                                                    : fmt::format("{} against {}", constant.dimsA, constant.dimsB));
  if (constant.dimsA != constant.dimsB)
    text += fmt::format("{} against {}, ", constant.dimsA, constant.dimsB);
  return text +
         fmt::format("largest difference {:.3g} at [{}] ({:.6g} against {:.6g}), relative L2 {:.2e}, {} of {} elements",
                     *constant.largest, fmt::join(constant.position, ", "), constant.a, constant.b, constant.relative,
                     constant.differing, constant.elements);
}

std::string portText(const GraphDiff::Port &port) {
  std::string text = fmt::format("{} {}: {} against {}", brief(port.port), port.what, brief(port.a), brief(port.b));
  return port.axes.empty() ? text : text + fmt::format(", its axes are {} of A's", fmt::join(port.axes, ", "));
}

std::vector<std::string> linesOf(const GraphDiff &diff) {
  std::vector<std::string> lines;
  for (const GraphDiff::Port &port : diff.ports)
    lines.push_back(portText(port));
  for (const GraphDiff::Alone &alone : diff.onlyA)
    lines.push_back(aloneText(alone, "A"));
  for (const GraphDiff::Alone &alone : diff.onlyB)
    lines.push_back(aloneText(alone, "B"));
  for (const GraphDiff::Connection &connection : diff.connections)
    lines.push_back(fmt::format("{} operand {}: reads '{}' against '{}'", nodesText(connection.nodes),
                                connection.operand, brief(connection.a), brief(connection.b)));
  for (const GraphDiff::Attribute &attribute : diff.attributes)
    lines.push_back(fmt::format("{} {}: {} against {}", nodesText(attribute.nodes), attribute.name, brief(attribute.a),
                                brief(attribute.b)));
  for (const GraphDiff::Constant &constant : diff.differing)
    lines.push_back(constantText(constant));
  return lines;
}

double share(size_t part, size_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 100;
}

/// A number as JSON; infinity becomes a text.
json numberJson(double number) { return std::isfinite(number) ? json(number) : json(fmt::format("{}", number)); }

} // namespace

std::string graphDiffText(const GraphDiff &diff, const std::string &a, const std::string &b, size_t lines) {
  std::string text;
  for (auto &[side, model, nodes] : {std::tuple("A", &a, diff.nodesA), std::tuple("B", &b, diff.nodesB)})
    text += fmt::format("{} {}: {}, {:.1f} % with a partner\n", side, printable(*model),
                        counted(static_cast<int64_t>(nodes), "node"), share(diff.partners, nodes));
  text += fmt::format("{} of {} {} the same bits", diff.equalConstants,
                      counted(static_cast<int64_t>(diff.constants), "constant"), diff.constants == 1 ? "has" : "have");
  if (size_t near = diff.constants - diff.equalConstants - diff.differing.size())
    text += fmt::format(", {} {} by a relative L2 of at most {:.1e}", near, near == 1 ? "differs" : "differ",
                        diff.largestAccepted);
  text += diff.count() ? fmt::format("\n{}{}:\n", counted(static_cast<int64_t>(diff.count()), "difference"),
                                     diff.countOfContent() ? "" : ", of names, positions and layouts alone")
                       : "\nno differences\n";
  std::vector<std::string> all = linesOf(diff);
  for (size_t i = 0; i < std::min(lines, all.size()); ++i)
    text += all[i] + "\n";
  if (all.size() > lines)
    text += fmt::format("... and {} more (--all)\n", all.size() - lines);
  return text;
}

json graphDiffJson(const GraphDiff &diff) {
  json document{{"nodes_a", diff.nodesA},
                {"nodes_b", diff.nodesB},
                {"partners", diff.partners},
                {"constants", diff.constants},
                {"equal_constants", diff.equalConstants},
                {"differences", diff.count()},
                {"content_differences", diff.countOfContent()}};
  for (const char *list : {"ports", "only_a", "only_b", "connections", "attributes", "differing_constants"})
    document[list] = json::array();
  for (const GraphDiff::Port &port : diff.ports) {
    json entry{{"port", port.port}, {"what", port.what}, {"a", port.a}, {"b", port.b}};
    if (!port.axes.empty())
      entry["axes"] = port.axes;
    document["ports"].push_back(std::move(entry));
  }
  auto addAlone = [](const std::vector<GraphDiff::Alone> &list, json &to) {
    for (const GraphDiff::Alone &alone : list)
      to.push_back({{"node", alone.name},
                    {"operator", alone.kind},
                    {"behind", alone.before},
                    {"before", alone.behind},
                    {"prepares_input", alone.port}});
  };
  addAlone(diff.onlyA, document["only_a"]);
  addAlone(diff.onlyB, document["only_b"]);
  for (const GraphDiff::Connection &connection : diff.connections)
    document["connections"].push_back({{"nodes", nodesJson(connection.nodes)},
                                       {"operand", connection.operand},
                                       {"a", connection.a},
                                       {"b", connection.b}});
  for (const GraphDiff::Attribute &attribute : diff.attributes)
    document["attributes"].push_back(
        {{"nodes", nodesJson(attribute.nodes)}, {"attribute", attribute.name}, {"a", attribute.a}, {"b", attribute.b}});
  for (const GraphDiff::Constant &constant : diff.differing) {
    json entry{{"nodes", nodesJson(constant.nodes)},
               {"operand", constant.operand},
               {"a", constant.dimsA},
               {"b", constant.dimsB}};
    if (constant.largest)
      entry.update({{"largest", numberJson(*constant.largest)},
                    {"relative_l2", numberJson(constant.relative)},
                    {"position", constant.position},
                    {"element_a", numberJson(constant.a)},
                    {"element_b", numberJson(constant.b)},
                    {"differing_elements", constant.differing},
                    {"elements", constant.elements}});
    document["differing_constants"].push_back(entry);
  }
  return document;
}

std::string valueDiffText(const ValueDiff &diff, const std::string &a, const std::string &b, double least,
                          const TableStyle &style) {
  Table table({textColumn("value").shrink(20), textColumn("extents").drop(2), numberColumn("relative L2"),
               numberColumn("largest").drop(1), numberColumn("before"), textColumn("")});
  const ValueError *worst = diff.worst(least);
  for (const ValueError &value : diff.values) {
    std::string name = value.a == value.b ? value.a : value.a + " = " + value.b;
    table.row({printable(name), dimsText(value.dims),
               value.broken.empty() ? fmt::format("{:.2e}", value.relativeL2) : "-",
               fmt::format("{:.2e}", value.maxDifference), fmt::format("{:.2e}", value.before),
               !value.broken.empty() ? value.broken
               : &value == worst     ? "grows most"
                                     : ""});
  }
  std::string text =
      fmt::format("A {}\nB {}\n{}{} that both have, by {}; {} of A and {} of B alone\n", a, b, table.str(style),
                  counted(int64_t(diff.values.size()), "value"),
                  diff.byName ? "the names of nodes" : "the places in the graphs", diff.onlyA, diff.onlyB);
  if (!worst)
    return text + fmt::format("no error grows beyond {:.2g}\n", least);
  return text + fmt::format("the error grows most at {}: {:.2e} before it, {:.2e} behind it\n", printable(worst->a),
                            worst->before, worst->relativeL2);
}

nlohmann::json valueDiffJson(const ValueDiff &diff, double least) {
  nlohmann::json values = nlohmann::json::array();
  for (const ValueError &value : diff.values)
    values.push_back({{"a", value.a},
                      {"b", value.b},
                      {"dims", value.dims},
                      {"relative_l2", value.relativeL2},
                      {"max_difference", value.maxDifference},
                      {"before", value.before},
                      {"reason", value.broken}});
  const ValueError *worst = diff.worst(least);
  return {{"by", diff.byName ? "name" : "graph"},
          {"values", values},
          {"only_a", diff.onlyA},
          {"only_b", diff.onlyB},
          {"grows_most_at", worst ? nlohmann::json(worst->a) : nlohmann::json()}};
}

} // namespace lathe::cli
