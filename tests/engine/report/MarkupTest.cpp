#include "engine/report/html/Markup.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "engine/report/html/LinePlot.h"

namespace lockstep::report::html {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Markup, ATextBeginsNoTagAndEndsNoAttribute) {
  EXPECT_EQ(escaped("<script>a && \"b\" 'c'</script>"),
            "&lt;script&gt;a &amp;&amp; &quot;b&quot; &#39;c&#39;&lt;/script&gt;");
}

TEST(Markup, WhatIsNoTextIsSpeltOut) {
  EXPECT_EQ(escaped("a\x1b[2J\xff"), "a\\x1b[2J\\xff");
}

TEST(Markup, ACellKeepsTheNumberThatItIsSortedBy) {
  Table table({{"rank", true, "which \"one\""}, {"name"}});
  table.add({msCell(1234.5678), textCell("<b>")}, "wrong");
  table.add({msCell({}), textCell("")});
  const std::string html = table.html();
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\" class=\"number\" title=\"which &quot;one&quot;\">"
                              "rank</th>"));
  EXPECT_THAT(html,
              HasSubstr("<tr class=\"wrong\"><td class=\"number\" data-order=\"1234.5678\">"));
  EXPECT_THAT(html, HasSubstr("<td>&lt;b&gt;</td>"));
  EXPECT_THAT(html, HasSubstr("<tr><td class=\"number\"></td><td></td></tr>"));
}

TEST(Markup, WhatHasNothingToSayIsLeftOut) {
  EXPECT_EQ(Table({{"a"}}).html(), "");
  EXPECT_EQ(section("id", "Title", ""), "");
  EXPECT_EQ(figure("Title", "about", ""), "");
  EXPECT_EQ(svgOf({}), "");
}

TEST(Markup, ACurveHasAGapWhereNothingIsKnown) {
  LinePlot plot{.unit = "ms", .series = {{"rank 0", "series0", {1, 2, NAN, 3, 4}}}};
  const std::string svg = svgOf(plot);
  const std::size_t begin = svg.find("class=\"curve series0\" d=\"");
  ASSERT_NE(begin, std::string::npos);
  const std::string path = svg.substr(begin + 24, svg.find('>', begin) - begin - 24);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2) << path;
  EXPECT_THAT(path, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("<i class=\"swatch series0\"></i>rank 0"));
}

}  // namespace
}  // namespace lockstep::report::html
