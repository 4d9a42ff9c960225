// Labels that users attach to objects in a store: tags, a note, and a name that is shown instead of an id.
#pragma once

#include "store/Database.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace lathe::store {

enum class LabelTarget { experiment, platform, problem };

/// A tag, a note or a name of one object. An object has one label of each kind. If two labels of the same object and
/// kind meet, the later one stays (for equal dates the greater value). A removed label is a label with an empty value.
/// So stores that merge in any order have the same labels.
struct Label {
  LabelTarget target = LabelTarget::experiment;
  std::string key;     // key of the labelled object: Experiment::uuid, Platform::key() or Problem::key()
  std::string kind;    // kind of label: "name", "note", or "tag WORD"
  std::string value;   // the text; "set" for a tag; "" for a removed label
  std::string changed; // date of the label's change in UTC, as timeNow() returns it
  bool operator==(const Label &) const = default;
};

std::string_view name(LabelTarget target);

/// JSON of a label: {"target": "experiment", "key", "kind", "value", "changed"}.
nlohmann::json toJson(const Label &label);
/// Reads the JSON of a label. Throws Error for a missing field or an impossible value.
Label labelFromJson(const nlohmann::json &document);
/// Throws Error if the key, the kind, the value or the date of a label is not valid.
void checkLabel(const Label &label);

/// The labels of one object, without removed ones.
struct Labels {
  std::string name, note;
  std::vector<std::string> tags; // sorted
  bool empty() const { return name.empty() && note.empty() && tags.empty(); }
  /// True if the object has all of the tags `wanted`.
  bool hasTags(const std::vector<std::string> &wanted) const;
};
using LabelIndex = std::map<std::string, Labels>; // labels by key of the labelled object
LabelIndex indexOf(const std::vector<Label> &labels, LabelTarget target);
/// JSON of an object's labels, with "name", "note" and "tags". Fields without a value are absent.
nlohmann::json toJson(const Labels &labels);

/// Reads all labels of a store, including removed ones, in the order of target, key and kind.
std::vector<Label> readLabels(Database &database);
/// Returns the time of change for a label that is set now: later than the time of the label that it replaces,
/// even if that time comes from a clock ahead of this machine's clock.
std::string timeOfChange(Database &database, const Label &label);
enum class MergedLabel { added, changed, known };
/// Adds a label to a store, or replaces an older label of the same object and kind, in the caller's transaction.
MergedLabel mergeLabel(Database &database, const Label &label);

} // namespace lathe::store
