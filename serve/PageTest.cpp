#include "serve/Page.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>

using namespace lathe;
using namespace lathe::serve;
using testing::HasSubstr;

static const std::string html =
    "<head><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\" /><title>t</title></head>"
    "<script type=\"application/json\" id=\"lathe-data\">@LATHE_REPORT_DATA@</script>"
    "<script type=\"module\">run()</script>";

TEST(Page, takesADocumentAndANonce) {
  EXPECT_EQ(Page(html).with("{}", "abc"),
            "<head><title>t</title></head><script type=\"application/json\" id=\"lathe-data\">{}</script>"
            "<script type=\"module\" nonce=\"abc\">run()</script>");
  EXPECT_THAT(Page::policy("abc"), HasSubstr("script-src 'nonce-abc';"));
}

TEST(Page, refusesAnotherTemplate) {
  EXPECT_THAT(errorOf([] { Page(""); }), HasSubstr("never, expected once"));
  EXPECT_THAT(errorOf([] { Page(html + "@LATHE_REPORT_DATA@"); }), HasSubstr("several times, expected once"));
  EXPECT_THAT(errorOf([] { Page(html + "<script type=\"module\">"); }), HasSubstr("several times, expected once"));
  EXPECT_THAT(errorOf([] { Page(html.substr(html.find("<title>"))); }), HasSubstr("no Content-Security-Policy"));
}
