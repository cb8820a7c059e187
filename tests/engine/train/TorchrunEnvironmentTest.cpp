#include "engine/train/TorchrunEnvironment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace lockstep::train {
namespace {

using Variables = std::map<std::string, std::string>;

const Variables kGood{{"RANK", "1"},
                      {"WORLD_SIZE", "4"},
                      {"LOCAL_RANK", "0"},
                      {"MASTER_ADDR", "127.0.0.1"},
                      {"MASTER_PORT", "29500"}};

base::Result<TorchrunEnvironment> readFrom(const Variables& variables) {
  return torchrunEnvironment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

base::Result<TorchrunEnvironment> with(const std::string& name, const std::string& value) {
  Variables variables = kGood;
  variables[name] = value;
  return readFrom(variables);
}

TEST(TorchrunEnvironment, IsReadWhole) {
  const auto environment = with("TORCHELASTIC_RESTART_COUNT", "2");
  ASSERT_TRUE(environment.ok()) << environment.error().message();
  EXPECT_EQ(environment.value().rank, 1);
  EXPECT_EQ(environment.value().worldSize, 4);
  EXPECT_EQ(environment.value().localRank, 0);
  EXPECT_EQ(environment.value().masterAddress, "127.0.0.1");
  EXPECT_EQ(environment.value().storePort, 29500);
  EXPECT_EQ(environment.value().attempt, 2);
  EXPECT_FALSE(environment.value().traceFd.has_value());
}

TEST(TorchrunEnvironment, LetsRankZeroHostTheStoreUnlessTheSupervisorDoes) {
  EXPECT_FALSE(with("RANK", "1").value().hostsStore);
  EXPECT_TRUE(with("RANK", "0").value().hostsStore);
  Variables supervised = kGood;
  supervised["RANK"] = "0";
  supervised["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  supervised["LOCKSTEP_SUPERVISOR_PID"] = "17";
  EXPECT_FALSE(readFrom(supervised).value().hostsStore);
  EXPECT_EQ(readFrom(supervised).value().storePort, 29500);
}

TEST(TorchrunEnvironment, PutsTheStoreBesideTorchrunsOwn) {
  Variables variables = kGood;
  variables["RANK"] = "0";
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_TRUE(readFrom(variables).value().hostsStore);
  EXPECT_EQ(readFrom(variables).value().storePort, 29501);
  variables["MASTER_PORT"] = "65535";
  EXPECT_THAT(readFrom(variables).error().message(),
              testing::StartsWith("environment MASTER_PORT: is 65535"));
}

TEST(TorchrunEnvironment, NamesEachVariableThatIsMissing) {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    Variables variables = kGood;
    variables.erase(name);
    const auto environment = readFrom(variables);
    ASSERT_FALSE(environment.ok()) << name;
    EXPECT_EQ(environment.error().code, base::ExitCode::kBadInput);
    EXPECT_THAT(environment.error().message(),
                testing::StartsWith(std::string("environment ") + name + ": is not set"));
  }
}

TEST(TorchrunEnvironment, QuotesWhatIsNoWholeNumber) {
  EXPECT_EQ(with("RANK", "one").error().message(),
            "environment RANK: is \"one\", a whole number is needed");
  EXPECT_EQ(with("WORLD_SIZE", "4.5").error().message(),
            "environment WORLD_SIZE: is \"4.5\", a whole number is needed");
  EXPECT_EQ(with("LOCAL_RANK", "").error().message(),
            "environment LOCAL_RANK: is \"\", a whole number is needed");
  EXPECT_EQ(with("MASTER_PORT", "65536").error().message(),
            "environment MASTER_PORT: is 65536; allowed: 1 to 65535");
}

TEST(TorchrunEnvironment, RefusesARankOutsideTheWorld) {
  EXPECT_EQ(with("RANK", "4").error().message(),
            "environment RANK: is 4, but WORLD_SIZE is 4: ranks count from 0");
  EXPECT_EQ(with("WORLD_SIZE", "0").error().message(),
            "environment WORLD_SIZE: is 0; allowed: 1 to 2147483647");
}

TEST(TorchrunEnvironment, TakesOpenMpisNumbersWhereTorchrunsAreNotSet) {
  const auto environment = readFrom({{"OMPI_COMM_WORLD_RANK", "2"},
                                     {"OMPI_COMM_WORLD_SIZE", "3"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                     {"MASTER_ADDR", "host"},
                                     {"MASTER_PORT", "1234"}});
  ASSERT_TRUE(environment.ok()) << environment.error().message();
  EXPECT_EQ(environment.value().rank, 2);
  EXPECT_EQ(environment.value().localRank, 1);
}

}  // namespace
}  // namespace lockstep::train
