#include "report/PageBytes.h"

#include "support/Error.h"

// Includes the files as bytes: a compiler would need too long for a megabyte as a list of numbers.
asm(R"(
  .section .rodata.lathe_report,"a"
lathe_report_page:
  .incbin ")" LATHE_PAGE R"("
lathe_report_page_end:
lathe_report_plots:
  .incbin ")" LATHE_PLOTS R"("
lathe_report_plots_end:
  .byte 0
  .text
)");
extern "C" const char lathe_report_page[], lathe_report_page_end[], lathe_report_plots[], lathe_report_plots_end[];

namespace lathe::report {

std::string_view pageTemplate() { return {lathe_report_page, lathe_report_page_end}; }
std::string_view plotProgram() { return {lathe_report_plots, lathe_report_plots_end}; }

std::string_view builtPage(std::string_view bytes) {
  require(!bytes.empty(),
          "the page is not in this program: npm was missing or could not be reached when it was built: "
          "install nodejs and npm, run src/laboratory/report/page/build.sh --again and build once more");
  return bytes;
}

} // namespace lathe::report
