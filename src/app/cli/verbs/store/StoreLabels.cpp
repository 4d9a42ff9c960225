// `lathe store tag`, `note` and `name`: labels on experiments, platforms and problems (docs/store.md).
#include "cli/flags/StoreFlags.h"
#include "cli/print/store/StorePrint.h"
#include "cli/verbs/store/StoreVerbs.h"
#include "jobs/store/Labels.h"
#include "store/ContentKey.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {
namespace {

using store::Label;

constexpr const char *objectHelp = "an experiment's id or its beginning; platform:KEY (the beginning of its key, or "
                                   "here); problem:TEXT";

struct LabelFlags {
  StoreFlags store;
  std::string object;

  void add(Options &options) {
    options.add_option("object", object, objectHelp)->required();
    store.add(options);
    options.addJson();
  }
};

/// Writes the labels, and prints all labels of the object.
int write(const LabelFlags &flags, const Options &options, store::Store &store, const std::vector<Label> &labels) {
  store.addLabels(labels);
  const Label &any = labels.front();
  store::LabelIndex index = indexOf(store.labels(), any.target);
  const store::Labels &now = index[any.key];
  if (options.printsText())
    std::cout << fmt::format("{}: {}\n", printable(flags.object),
                             now.empty() ? "has no labels" : printable(labelText(now)));
  nlohmann::json document = toJson(now);
  document["target"] = name(any.target);
  document["key"] = any.key;
  options.writeJson(document);
  return success;
}

int writeText(const char *kind, const char *verb, const char *about, const char *examples, const Arguments &arguments) {
  LabelFlags flags;
  std::string text;
  Options options(std::string("store ") + verb, about, examples);
  flags.add(options);
  options.add_option("text", text, fmt::format("the {}; '': remove it", kind))->required();
  options.parseAll(arguments);
  store::Store store = flags.store.openToWrite();
  Label label = labelFor(store, flags.object);
  label.kind = kind;
  label.value = kind == std::string_view("name") ? nameFrom(text) : store::validUtf8(text);
  return write(flags, options, store, {label});
}

} // namespace

int storeTag(const Arguments &arguments) {
  LabelFlags flags;
  std::vector<std::string> tags;
  bool remove = false;
  Options options("store tag",
                  "Tag an experiment, a platform or a problem, or remove tags. `--tag` of other verbs selects tagged "
                  "experiments.",
                  "  lathe store tag 3f2a nightly avx512\n"
                  "  lathe store tag 3f2a nightly --remove\n"
                  "  lathe store tag platform:here laptop\n");
  flags.add(options);
  options.add_option("word", tags, "words without spaces and commas")->required()->delimiter(',');
  options.add_flag("--remove", remove, "Remove these tags");
  options.parseAll(arguments);
  store::Store store = flags.store.openToWrite();
  Label label = labelFor(store, flags.object);
  std::vector<Label> labels;
  for (const std::string &tag : tags) {
    label.kind = "tag " + store::validUtf8(tag);
    label.value = remove ? "" : "set";
    labels.push_back(label);
  }
  return write(flags, options, store, labels);
}

int storeNote(const Arguments &arguments) {
  return writeText("note", "note", "Attach a note to an experiment, a platform or a problem, or replace it.",
                   "  lathe store note 3f2a 'fans at full speed'\n  lathe store note 3f2a ''\n", arguments);
}

int storeName(const Arguments &arguments) {
  return writeText(
      "name", "name",
      "Name an experiment, a platform or a problem. Tables and reports show the name of a platform instead "
      "of its processor's.",
      "  lathe store name 3f2a 'before the new allocator'\n"
      "  lathe store name platform:here 'build server'\n"
      "  lathe store name 'problem:conv x=1x64x56x56 w=64x64x3x3:const ...' stem\n",
      arguments);
}

} // namespace lathe::cli
