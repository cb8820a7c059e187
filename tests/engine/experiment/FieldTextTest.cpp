#include "engine/experiment/FieldText.h"

#include <gtest/gtest.h>

namespace lockstep::experiment {
namespace {

const Field& field(const char* key) {
  return *findField(key);
}

TEST(FieldText, AFormShowsTextsWithoutQuotesAndListsWithoutBrackets) {
  EXPECT_EQ(typedText(field("model.kind"), "\"mlp\""), "mlp");
  EXPECT_EQ(typedText(field("name"), "'a \"b\"'"), "a \"b\"");
  EXPECT_EQ(typedText(field("model.layers"), "[784,10]"), "784, 10");
  EXPECT_EQ(typedText(field("model.dtypes"), "[\"float32\"]"), "float32");
  EXPECT_EQ(typedText(field("ddp.bucket_cap_mb"), "0.5"), "0.5");
}

TEST(FieldText, WhatIsTypedIsAlwaysAValueInToml) {
  EXPECT_EQ(tomlText(field("name"), "say \"a\\b\""), R"("say \"a\\b\"")");
  EXPECT_EQ(tomlText(field("ddp.bucket_cap_mb"), " 0.5 "), "0.5");
  EXPECT_EQ(tomlText(field("ddp.bucket_cap_mb"), "5 MB"), "\"5 MB\"");
  EXPECT_EQ(tomlText(field("ddp.bucket_cap_mb"), ""), "");
  EXPECT_EQ(tomlText(field("ddp.join"), "true"), "true");
  EXPECT_EQ(tomlText(field("model.layers"), "784 , 128,10,"), "[784, 128, 10]");
  EXPECT_EQ(tomlText(field("model.layers"), "784, ten"), "[784, \"ten\"]");
  EXPECT_EQ(tomlText(field("model.dtypes"), "float32, 8"), "[\"float32\", \"8\"]");
}

TEST(FieldText, TwoWaysToWriteAValueAreTheSame) {
  EXPECT_TRUE(sameValue(field("ddp.bucket_cap_mb"), "25", "25.0"));
  EXPECT_TRUE(sameValue(field("optimizer.learning_rate"), "1e-3", "0.001"));
  EXPECT_TRUE(sameValue(field("model.kind"), "'mlp'", "\"mlp\""));
  EXPECT_TRUE(sameValue(field("model.layers"), "[784,256, 128,10]", "[784, 256, 128, 10]"));
  EXPECT_FALSE(sameValue(field("ddp.bucket_cap_mb"), "25", "24"));
  EXPECT_FALSE(sameValue(field("ddp.bucket_cap_mb"), "25", "\"25\""));
}

TEST(FieldText, TakesAListApart) {
  EXPECT_EQ(listElements("[1, 2.5]"), (std::vector<std::string>{"1", "2.5"}));
  EXPECT_EQ(listElements("[\"a, b\", 'c']"), (std::vector<std::string>{"\"a, b\"", "\"c\""}));
  EXPECT_TRUE(listElements("7").empty());
}

TEST(FieldText, TheFieldsOfAFaultNameTheKindsTheyAreFor) {
  const Field* every = findField("faults.every");
  ASSERT_NE(every, nullptr);
  EXPECT_TRUE(appliesFor(*every, "delay"));
  EXPECT_FALSE(appliesFor(*every, "kill"));
  EXPECT_TRUE(appliesFor(*findField("faults.rank"), "kill"));
}

}  // namespace
}  // namespace lockstep::experiment
