#include "serve/Page.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>

using namespace lathe;
using namespace lathe::serve;
using testing::HasSubstr;

static const std::string html =
    "<head><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\" /><title>t</title></head>"
    "<div><p class=\"loading\">Reading …</p></div>"
    "<script type=\"application/json\" id=\"lathe-data\">@LATHE_REPORT_DATA@</script>"
    "<script type=\"module\">run()</script></body>";

static std::string expected(const std::string &state, const std::string &data) {
  return "<head><title>t</title></head><div><p class=\"loading\">" + state +
         "</p></div><script type=\"module\" nonce=\"abc\">run()</script>"
         "<script type=\"application/json\" id=\"lathe-data\">" +
         data + "</script></body>";
}

TEST(Page, takesADocumentAndANonce) {
  EXPECT_EQ(Page(html).with("{}", "abc"), expected("Reading …", "{}"));
  EXPECT_THAT(Page::policy("abc"), HasSubstr("script-src 'nonce-abc';"));
}

TEST(Page, comesInPieces) {
  Page page(html);
  std::string begin = page.begin("reading <b> & \"c\"", "abc");
  EXPECT_EQ(begin + "[1]" + page.end(), expected("reading &lt;b&gt; &amp; \"c\"", "[1]"));
}

TEST(Page, refusesAnotherTemplate) {
  EXPECT_THAT(errorOf([] { Page(""); }), HasSubstr("never, expected once"));
  EXPECT_THAT(errorOf([] { Page(html + "@LATHE_REPORT_DATA@"); }), HasSubstr("several times, expected once"));
  EXPECT_THAT(errorOf([] { Page(html + "<script type=\"module\">"); }), HasSubstr("several times, expected once"));
  EXPECT_THAT(errorOf([] { Page(html + "</script>"); }), HasSubstr("several times, expected once"));
  EXPECT_THAT(errorOf([] { Page(html.substr(html.find("<title>"))); }), HasSubstr("no Content-Security-Policy"));
  EXPECT_THAT(errorOf([] { Page("<p class=\"loading\">" + html); }), HasSubstr("several times, expected once"));
}
