#include "store/Labels.h"

#include "store/ContentKey.h"
#include "support/Text.h"

#include <algorithm>
#include <chrono>

namespace lathe::store {

using nlohmann::json;

static constexpr std::string_view targets[] = {"experiment", "platform", "problem"};
static constexpr std::string_view tagPrefix = "tag ";
static constexpr size_t longest = 10000; // bytes of a text

std::string_view name(LabelTarget target) { return targets[size_t(target)]; }

static LabelTarget labelTarget(const std::string &text) {
  auto found = std::find(std::begin(targets), std::end(targets), text);
  require(found != std::end(targets), "'{:.40}' has no labels, expected {}", printable(text), fmt::join(targets, ", "));
  return LabelTarget(found - std::begin(targets));
}

/// True for a word that commands can list with commas and spaces.
static bool isWord(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text.front() != '-' && text.front() != '+' &&
         std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > ' ' && c != ','; });
}

void checkLabel(const Label &label) {
  require(!label.key.empty(), "a label without a key");
  bool isTag = label.kind.starts_with(tagPrefix);
  require(isTag || label.kind == "name" || label.kind == "note",
          "'{:.40}' is no kind of label, expected name, note or tag WORD", printable(label.kind));
  if (isTag) {
    std::string word = label.kind.substr(tagPrefix.size());
    require(isWord(word),
            "'{:.80}' is no tag: expected at most 64 characters without spaces and commas, not beginning with + or -",
            printable(word));
    require(label.value.empty() || label.value == "set", "the value of a tag is '{:.40}', expected set or nothing",
            printable(label.value));
  }
  require(label.value.size() <= longest, "a {} of {} bytes, expected at most {}", label.kind, label.value.size(),
          longest);
  require(isTime(label.changed), "'{:.40}' is no date", printable(label.changed));
}

json toJson(const Label &label) {
  return {{"target", name(label.target)},
          {"key", label.key},
          {"kind", label.kind},
          {"value", label.value},
          {"changed", label.changed}};
}

Label labelFromJson(const json &document) {
  auto text = [&](const char *field) {
    require(document.is_object() && document.contains(field) && document[field].is_string(), "a label has no text '{}'",
            field);
    return document[field].get<std::string>();
  };
  Label label{labelTarget(text("target")), text("key"), text("kind"), text("value"), text("changed")};
  checkLabel(label);
  return label;
}

bool Labels::hasTags(const std::vector<std::string> &wanted) const {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const std::string &tag) { return std::binary_search(tags.begin(), tags.end(), tag); });
}

LabelIndex indexOf(const std::vector<Label> &labels, LabelTarget target) {
  LabelIndex index;
  for (const Label &label : labels) {
    if (label.target != target || label.value.empty())
      continue;
    Labels &of = index[label.key];
    if (label.kind == "name")
      of.name = label.value;
    else if (label.kind == "note")
      of.note = label.value;
    else
      of.tags.push_back(label.kind.substr(tagPrefix.size()));
  }
  for (auto &[key, of] : index)
    std::sort(of.tags.begin(), of.tags.end());
  return index;
}

json toJson(const Labels &labels) {
  json document = json::object();
  if (!labels.name.empty())
    document["name"] = labels.name;
  if (!labels.note.empty())
    document["note"] = labels.note;
  if (!labels.tags.empty())
    document["tags"] = labels.tags;
  return document;
}

std::vector<Label> readLabels(Database &database) {
  std::vector<Label> labels;
  Statement select(database, "SELECT target, key, kind, value, changed FROM label ORDER BY target, key, kind");
  while (select.step()) {
    labels.push_back({labelTarget(select.text(0)), select.text(1), select.text(2), select.text(3), select.text(4)});
    checkLabel(labels.back());
  }
  return labels;
}

/// The time one microsecond after `time`, which must satisfy isTime.
static std::string timeAfter(std::string_view time) {
  auto number = [&](size_t at, size_t digits) { return std::stoi(std::string(time.substr(at, digits))); };
  auto month = std::chrono::year(number(0, 4)) / number(5, 2);
  int64_t days = std::chrono::sys_days(month / 1).time_since_epoch().count() + number(8, 2) - 1;
  int64_t seconds = ((days * 24 + number(11, 2)) * 60 + number(14, 2)) * 60 + number(17, 2);
  return timeText(seconds * 1000000 + number(20, 6) + 1);
}

std::string timeOfChange(Database &database, const Label &label) {
  std::string now = timeNow();
  Statement known(database, "SELECT changed FROM label WHERE target = ? AND key = ? AND kind = ?");
  if (!known.bind(name(label.target), label.key, label.kind).step())
    return now;
  std::string before = known.text(0);
  require(isTime(before), "'{:.40}' is no date", printable(before));
  return std::max(now, timeAfter(before));
}

MergedLabel mergeLabel(Database &database, const Label &label) {
  checkLabel(label);
  Statement known(database, "SELECT 1 FROM label WHERE target = ? AND key = ? AND kind = ?");
  bool isKnown = known.bind(name(label.target), label.key, label.kind).step();
  known.reset();
  Statement(database,
            "INSERT INTO label(target, key, kind, value, changed) VALUES (?, ?, ?, ?, ?)\n"
            "ON CONFLICT (target, key, kind) DO UPDATE SET value = excluded.value, changed = excluded.changed\n"
            "WHERE label.changed < excluded.changed\n"
            "  OR (label.changed = excluded.changed AND label.value < excluded.value)")
      .bind(name(label.target), label.key, label.kind, label.value, label.changed)
      .run();
  return database.changes() == 0 ? MergedLabel::known : isKnown ? MergedLabel::changed : MergedLabel::added;
}

} // namespace lathe::store
