#include "engine/base/Environment.h"

#include <gtest/gtest.h>

#include <map>

namespace lockstep::base {
namespace {

class EnvironmentReaderTest : public testing::Test {
 protected:
  std::map<std::string, std::string> variables{{"SEVEN", "7"}, {"WORD", "seven"}, {"EMPTY", ""}};
  ReadVariable read = [this](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  EnvironmentReader reader{read, "set it"};
};

TEST_F(EnvironmentReaderTest, TakesTheFirstNameThatIsSet) {
  EXPECT_EQ(reader.number({"ABSENT", "SEVEN", "WORD"}, 0, 10), 7);
  EXPECT_EQ(reader.optionalNumber({"ABSENT"}, 0, 10), std::nullopt);
  EXPECT_EQ(reader.text("WORD"), "seven");
  EXPECT_TRUE(reader.ok());
}

TEST_F(EnvironmentReaderTest, KeepsTheFirstMistake) {
  EXPECT_EQ(reader.number({"WORD"}, 3, 10), 3);
  EXPECT_EQ(reader.text("ABSENT"), "");
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, ExitCode::kBadInput);
  EXPECT_EQ(reader.error().message(), "environment WORD: is \"seven\", a whole number is needed");
}

TEST_F(EnvironmentReaderTest, SaysWhatIsMissingAndWhoSetsIt) {
  reader.number({"ABSENT", "GONE"}, 0, 1);
  EXPECT_EQ(reader.error().message(), "environment ABSENT: is not set; set it");
}

TEST_F(EnvironmentReaderTest, TakesAnEmptyTextForAMissingOne) {
  reader.text("EMPTY");
  EXPECT_EQ(reader.error().message(), "environment EMPTY: is not set; set it");
}

TEST_F(EnvironmentReaderTest, NamesTheRangeOfANumber) {
  reader.number({"SEVEN"}, 0, 6);
  EXPECT_EQ(reader.error().message(), "environment SEVEN: is 7; allowed: 0 to 6");
}

TEST(EnvironmentTest, AVariableThatIsSetTakesThePlaceOfWhatItWas) {
  std::vector<std::string> environment{"A=1", "AB=2", "A=3"};
  setVariable(environment, "A", "4");
  EXPECT_EQ(environment, (std::vector<std::string>{"AB=2", "A=4"}));
}

}  // namespace
}  // namespace lockstep::base
