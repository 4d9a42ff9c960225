// usage: tflite_page > docs/generated/tflite.md
#include "import/tflite/Tflite.h"

#include <cstdio>

int main() {
  std::string page = lathe::tflite::supportPage();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() && std::fflush(stdout) == 0 ? 0 : 2;
}
