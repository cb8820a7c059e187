#include "engine/export/JsonText.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace lockstep::exports {
namespace {

std::string asJson(std::string_view text) {
  std::string out;
  appendQuoted(out, text);
  return out;
}

TEST(JsonText, WhatHasAMeaningInJsonIsEscaped) {
  EXPECT_EQ(asJson("a\"b\\c\nd\te\rf"), R"("a\"b\\c\nd\te\rf")");
  EXPECT_EQ(asJson(std::string_view("\0\x1b\x7f", 3)), R"("\u0000\u001b\u007f")");
  EXPECT_EQ(nlohmann::json::parse(asJson("a\"b\\c\nd")), "a\"b\\c\nd");
}

TEST(JsonText, Utf8StaysAsItIs) {
  const std::string text = "Überlapp ≤ 3 µs 🙂 \xEF\xBF\xBF \xF4\x8F\xBF\xBF";
  EXPECT_EQ(asJson(text), '"' + text + '"');
}

TEST(JsonText, WhateverIsNoUtf8BecomesTheReplacementCharacter) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(asJson("a\xFFz"), "\"a" + mark + "z\"");
  EXPECT_EQ(asJson("cut off \xE2\x89"), "\"cut off " + mark + mark + '"');
  EXPECT_EQ(asJson("\xC0\xAF"), '"' + mark + mark + '"') << "longer than it needs to be";
  EXPECT_EQ(asJson("\xE0\x80\xAF"), '"' + mark + mark + mark + '"');
  EXPECT_EQ(asJson("\xED\xA0\x80"), '"' + mark + mark + mark + '"') << "a surrogate";
  EXPECT_EQ(asJson("\xF4\x90\x80\x80"), '"' + mark + mark + mark + mark + '"') << "beyond the end";
  EXPECT_EQ(asJson("\xE2\x28\xA1"), '"' + mark + "(" + mark + '"') << "the ( is one of its own";
}

TEST(JsonText, TextIsValidWhateverItHolds) {
  std::string out;
  appendText(out, std::string("a\0b\xFF\n\"\x1B ", 8) + "\xC3\xA9");
  EXPECT_EQ(out, "ab\xEF\xBF\xBD\n\"\x1B \xC3\xA9");
}

TEST(JsonText, NanosecondsBecomeMicrosecondsWithThreeDecimals) {
  std::string out;
  for (const std::int64_t ns : {0L, 7L, 89L, 1'234L, 5'000L}) {
    appendMicroseconds(out, ns);
    out += ' ';
  }
  EXPECT_EQ(out, "0.000 0.007 0.089 1.234 5.000 ");
}

// Perfetto reads a double, multiplies it by 1000 and cuts: three decimals alone would make 1.001 µs
// 1000 ns, and slices that touch would overlap.
TEST(JsonText, NoNanosecondIsLostToAReaderThatCuts) {
  int longer = 0;
  const auto check = [&](std::int64_t ns) {
    std::string out;
    appendMicroseconds(out, ns);
    EXPECT_EQ(static_cast<std::int64_t>(std::strtod(out.c_str(), nullptr) * 1000), ns) << out;
    longer += out.size() - out.find('.') > 4 ? 1 : 0;
  };
  for (std::int64_t ns = 0; ns < 20'000; ++ns) {
    check(ns);
    check(86'400'000'000'000 + 7'919 * ns);
  }
  EXPECT_GT(longer, 0) << "or the test tests nothing";
}

TEST(JsonText, RealsAreReadBackAsTheSameInAnyLocale) {
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  for (const double number : {0.1, 1.0 / 3, 1e300, -2.5e-8, 3.0}) {
    std::string out;
    appendReal(out, number);
    EXPECT_EQ(nlohmann::json::parse(out).get<double>(), number) << out;
  }
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace lockstep::exports
