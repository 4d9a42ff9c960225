// usage: tensorflow_page > docs/generated/tensorflow.md
#include "import/tensorflow/TensorFlow.h"

#include <cstdio>

int main() {
  std::string page = lathe::tensorflow::supportPage();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() && std::fflush(stdout) == 0 ? 0 : 2;
}
