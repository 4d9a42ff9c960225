// usage: keras_page > docs/generated/keras.md
#include "import/keras/Keras.h"

#include <cstdio>

int main() {
  std::string page = lathe::keras::supportPage();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() && std::fflush(stdout) == 0 ? 0 : 2;
}
