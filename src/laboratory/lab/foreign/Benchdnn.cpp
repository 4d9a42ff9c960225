#include "lab/foreign/BenchdnnProblem.h"
#include "lab/foreign/Gathered.h"
#include "lab/problems/Problem.h"
#include "store/Lines.h"
#include "support/Text.h"

#include <charconv>
#include <cmath>

namespace lathe::lab {

namespace {

constexpr const char *usualTemplate =
    "perf,%engine%,%impl%,%name%,%prb%,%Gops%,%Gfreq%,%-time%,%-Gflops%,%0time%,%0Gflops%";

/// The fields of a line, separated by commas.
struct Template {
  struct Field {
    std::string literal; // "": a value
    std::string name;    // "time"
    char mode = 0;       // '-', '0' or '+'; 0: none
  };
  std::string text;
  std::vector<Field> fields;

  explicit Template(const std::string &text) : text(text) {
    for (const std::string &piece : split(text, ','))
      fields.push_back(fieldOf(piece));
    require(!fields[0].literal.empty(), "the template '{}' begins with a value, expected a word such as perf", text);
    require(has("prb"), "the template '{}' has no %prb%", text);
    require(has("time"), "the template '{}' has no %-time% or %0time%", text);
  }
  bool has(std::string_view name) const {
    return std::any_of(fields.begin(), fields.end(), [&](const Field &field) { return field.name == name; });
  }
  bool begins(const std::string &line) const { return line.starts_with(fields[0].literal + ","); }

private:
  static Field fieldOf(const std::string &piece) {
    if (piece.find('%') == piece.npos && !piece.empty())
      return {piece, "", 0};
    bool isValue = piece.size() > 2 && piece.front() == '%' && piece.back() == '%';
    std::string name = isValue ? piece.substr(1, piece.size() - 2) : "";
    Field field;
    while (!name.empty() && std::string_view("-0+KMG").find(name[0]) != std::string_view::npos) {
      if (std::string_view("-0+").find(name[0]) != std::string_view::npos)
        field.mode = name[0];
      else
        require(!name.ends_with("time"), "the template has a scaled time '{}', expected ms", piece);
      name.erase(0, 1);
    }
    require(!name.empty(), "the template has '{}', expected a word or a value such as %prb%", piece);
    field.name = name;
    return field;
  }
};

struct Line {
  std::string engine, implementation, problem;
  std::optional<int64_t> least, average, largest, prepare; // ns
};

int64_t timeOf(const std::string &text, const std::string &name) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size(), "%{}% is '{}', expected a time in ms", name,
          text.substr(0, 100));
  return foreignNanoseconds(value, 1e6, name.c_str());
}

/// The value of each field. Only a problem may contain commas.
Line lineOf(const Template &format, const std::string &text) {
  auto words = split(text, ',');
  const auto &fields = format.fields;
  require(words.size() >= fields.size(), "{} values, expected {} of the template '{}'", words.size(), fields.size(),
          format.text);
  size_t more = words.size() - fields.size(), at = 0;
  Line line;
  for (const Template::Field &field : fields) {
    std::string word = words[at++];
    if (field.name == "prb")
      for (size_t i = 0; i < more; ++i)
        word += "," + words[at++];
    if (!field.literal.empty())
      require(word == field.literal, "'{}', expected '{}' of the template '{}'", word.substr(0, 100), field.literal,
              format.text);
    else if (field.name == "engine")
      line.engine = foreignText(word, "%engine%");
    else if (field.name == "impl")
      line.implementation = foreignText(word, "%impl%");
    else if (field.name == "prb")
      line.problem = foreignText(word, "%prb%");
    else if (field.name == "time")
      (field.mode == '0' ? line.average : field.mode == '+' ? line.largest : line.least) = timeOf(word, field.name);
    else if (field.name == "ctime" && field.mode != '+')
      line.prepare = timeOf(word, field.name);
  }
  require(line.problem.find_first_not_of(' ') != std::string::npos, "%prb% is empty");
  return line;
}

store::Point pointOf(const Line &line, const std::string &version) {
  BenchdnnProblem problem = benchdnnProblem(line.problem);
  store::Point point;
  point.problem = problem.problem;
  point.provider = "benchdnn";
  point.variant = point.implementation = line.implementation;
  point.providerVersion = version;
  point.setting = unstatedThreads();
  point.setting.type = problem.type;
  point.setting.layout = problem.layout;
  if (!line.engine.empty() && line.engine != "cpu")
    point.setting.extra["engine"] = line.engine;
  if (!line.average) // another quantity, which must not be compared with averages
    point.setting.extra["time"] = line.least ? "minimum" : "maximum";
  return point;
}

class BenchdnnLog {
public:
  explicit BenchdnnLog(ForeignPoints &points) : points(points) {}

  void add(const std::string &text) {
    if (text.starts_with("Output template:")) {
      size_t from = text.find_first_not_of(' ', text.find(':') + 1);
      format = Template(foreignText(from == text.npos ? "" : text.substr(from), "the template"));
      return;
    }
    if (text.starts_with("onednn_verbose,"))
      readVerbose(foreignText(text, "the line"));
    if (format.begins(text))
      addLine(text);
  }

private:
  void addLine(const std::string &text) {
    Line line = lineOf(format, text);
    points.identify(std::string_view(text));
    std::string key = line.engine + "\n" + line.implementation + "\n" + line.problem + (line.average ? "" : "\nleast");
    Gathered &gathered = points.at(key, [&] { return pointOf(line, version); });
    std::optional<int64_t> time = line.average ? line.average : line.least ? line.least : line.largest;
    points.addSample(gathered, *time, uint32_t(gathered.wallNs.size()));
    auto &figures = gathered.point.figures;
    if (line.least && line.average) {
      double least = double(*line.least) * 1e-6;
      auto [known, isNew] = figures.try_emplace("least_ms", least);
      known->second = std::min(known->second, least);
    }
    if (line.prepare && !gathered.point.prepareSeconds)
      gathered.point.prepareSeconds = double(*line.prepare) * 1e-9;
  }
  /// "onednn_verbose,info,oneDNN v3.1.1 (commit ...)", "...,info,cpu,isa:Intel AVX-512 ...".
  void readVerbose(const std::string &text) {
    if (size_t at = text.find(",oneDNN v"); at != text.npos && version.empty()) {
      size_t from = at + std::string_view(",oneDNN v").size();
      version = text.substr(from, text.find_first_of(" ,", from) - from);
      points.platform.libraries["onednn"] = version;
    }
    if (size_t at = text.find(",info,cpu,isa:"); at != text.npos)
      points.platform.cpu =
          fmt::format("unknown (benchdnn), {}", text.substr(at + std::string_view(",info,cpu,isa:").size()));
  }

  ForeignPoints &points;
  Template format{usualTemplate};
  std::string version; // of oneDNN
};

} // namespace

void readBenchdnn(const std::string &path, const RecordVisitor &visit, std::vector<std::string> &notes) {
  ForeignPoints points(path, "benchdnn");
  store::LineReader reader(path);
  BenchdnnLog log(points);
  while (auto line = reader.next()) {
    if (line->ends_with('\r'))
      line->pop_back();
    try {
      log.add(*line);
    } catch (const Error &error) {
      std::string place = fmt::format("{}:{}", path, reader.number());
      if (reader.lineEnded())
        fail("{}: {}", place, printable(error.what()));
      notes.push_back(place + ": the file ends in the middle of this line, which is left out");
    }
  }
  points.emit(visit, notes);
}

} // namespace lathe::lab
