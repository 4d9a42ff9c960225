// Test helper: files of other programs, which are imported into a store.
#pragma once

#include "lab/foreign/Foreign.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <fstream>

namespace lathe::lab {

class ForeignFolder : public store::StoreFolder {
protected:
  std::string write(const std::string &name, const std::string &text) {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }
  /// Imports a file into the store of the test. Format "": the file's content tells the format.
  store::ImportCounts import(const std::string &path, const std::string &format = "") {
    return store::importSources(store, {importSource(path, format)});
  }
  /// Imports a text that must be refused, and checks that nothing is written to the store. Returns the error message.
  std::string refused(const std::string &text, const std::string &format = "") {
    std::string path = write("refused.log", text);
    store::Store::Counts before = store.counts();
    std::string said = errorOf([&] { import(path, format); });
    EXPECT_EQ(said.find('\n'), said.npos) << said;
    EXPECT_THAT(said, testing::HasSubstr("refused.log"));
    EXPECT_EQ(store.counts(), before);
    return said;
  }

  store::Store store{file("lathe.db")};
};

} // namespace lathe::lab
