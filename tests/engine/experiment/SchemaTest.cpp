#include "engine/experiment/Schema.h"

#include <gmock/gmock.h>

#include <set>

#include "engine/experiment/Parse.h"

namespace lockstep::experiment {
namespace {

TEST(Schema, NamesEveryKeyOnceAndKeepsTablesTogether) {
  std::set<std::string> keys;
  std::set<std::string> closedTables;
  std::string table;
  for (const Field& field : schema()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    const auto dot = field.key.find('.');
    const std::string own = dot == std::string::npos ? "" : field.key.substr(0, dot);
    if (own != table) {
      EXPECT_TRUE(closedTables.insert(table).second) << own;
      EXPECT_FALSE(closedTables.contains(own)) << own;
      table = own;
    }
  }
  EXPECT_EQ(keys.size(), 110U);  // as many as Experiment has members
}

TEST(Schema, SaysForEveryKeyWhatItIs) {
  for (const Field& field : schema()) {
    EXPECT_FALSE(field.label.empty()) << field.key;
    EXPECT_THAT(field.help, testing::EndsWith(".")) << field.key;
    if (field.type != FieldType::kTextList) {  // whose elements may be chosen from some
      EXPECT_EQ(field.type == FieldType::kChoice, !field.choices.empty()) << field.key;
    }
  }
}

TEST(Schema, TakesDefaultsFromTheStruct) {
  EXPECT_EQ(findField("ddp.bucket_cap_mb")->initial, "25");
  EXPECT_EQ(findField("model.layers")->initial, "[784, 256, 128, 10]");
  EXPECT_EQ(findField("model.kind")->initial, "\"mlp\"");
  EXPECT_EQ(findField("train.steps")->initial, "");
  EXPECT_EQ(findField("capture.enabled")->initial, "true");
}

TEST(Schema, HasDefaultsThatItWouldTake) {
  Experiment experiment;
  experiment.train.steps = 1;
  for (const Mistake& mistake : parseText(toToml(experiment), "defaults", {}).mistakes) {
    ADD_FAILURE() << mistake.message();
  }
}

TEST(Schema, SaysWhatAValueMayBe) {
  EXPECT_EQ(allowedValues(*findField("processes.world_size")), "an integer from 1 to 1024");
  EXPECT_EQ(allowedValues(*findField("ddp.bucket_cap_mb")), "a number above 0 and up to 1048576");
  EXPECT_EQ(allowedValues(*findField("optimizer.beta1")), "a number from 0 and below 1");
  EXPECT_EQ(allowedValues(*findField("optimizer.kind")), "one of sgd, adam, adamw");
  EXPECT_EQ(allowedValues(*findField("data.shuffle")), "true or false");
  EXPECT_EQ(allowedValues(*findField("model.layers")), "a list of integers from 1 to 1000000");
}

TEST(Schema, KnowsWhichKeysHaveAMeaning) {
  Experiment experiment;
  EXPECT_TRUE(applies(*findField("model.layers"), experiment));
  EXPECT_FALSE(applies(*findField("model.heads"), experiment));
  experiment.model.kind = "char_gpt";
  EXPECT_TRUE(applies(*findField("model.depth"), experiment));
  EXPECT_TRUE(applies(*findField("train.seed"), experiment));
}

TEST(Schema, DescribesEveryKeyUnderItsTable) {
  const std::string text = describeSchema();
  for (const Field& field : schema()) {
    EXPECT_THAT(text, testing::HasSubstr("  " + field.key.substr(field.key.find('.') + 1) + " "));
  }
  EXPECT_THAT(text, testing::HasSubstr("[processes]\n  world_size"));
  EXPECT_THAT(text, testing::HasSubstr("an integer from 1 to 1024; default 2 ranks"));
  EXPECT_THAT(text, testing::HasSubstr("only for model.kind cnn or resnet18"));
}

TEST(Schema, FindsNoFieldForAnUnknownKey) {
  EXPECT_EQ(findField("ddp.bucket"), nullptr);
}

}  // namespace
}  // namespace lockstep::experiment
