// Checks that docs/generated/keras.md agrees with the tables.
#include "import/keras/Keras.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace lathe::keras {
namespace {

TEST(Page, IsThatOfTheTables) {
  std::ostringstream text;
  text << std::ifstream(LATHE_SOURCE_DIR "/docs/generated/keras.md").rdbuf();
  EXPECT_TRUE(text.str() == supportPage()) << "run `ninja keras-page`";
}

} // namespace
} // namespace lathe::keras
