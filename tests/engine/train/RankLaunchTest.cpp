// The launch contract of lockstep-rank: what the environment must say, and how ranks find each
// other.
#include <gmock/gmock.h>
#include <unistd.h>

#include "engine/base/ExitCodes.h"
#include "engine/store/TCPStore.h"
#include "tests/engine/train/RankProgram.h"

namespace lockstep::train {
namespace {

using base::ExitCode;
using support::ChildProcess;
using testing::HasSubstr;
using testing::StartsWith;

class RankLaunch : public RankProgram {
 protected:
  /// Starts the program with exactly these variables of the contract, and expects that it refuses
  /// them; returns its one line.
  std::string refusal(const Variables& variables) {
    std::vector<std::string> arguments{"-u", "RANK",        "-u", "WORLD_SIZE", "-u", "LOCAL_RANK",
                                       "-u", "MASTER_ADDR", "-u", "MASTER_PORT"};
    for (const auto& [name, value] : variables) {
      arguments.push_back(name + "=" + value);
    }
    arguments.insert(arguments.end(), {rankProgram(), folder_ / "small.toml"});
    ChildProcess child({"/usr/bin/env", arguments, {}});
    EXPECT_EQ(exitCode(child), static_cast<int>(ExitCode::kBadInput)) << child.errors();
    EXPECT_EQ(lines(child.errors()), 1) << child.errors();
    return child.errors();
  }

  /// A contract that one rank alone could start with, less `without`, then `changed`.
  static Variables contract(const std::string& without,
                            const std::pair<std::string, std::string>& changed = {}) {
    Variables variables{
        {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}};
    std::erase_if(variables, [&](const auto& v) { return v.first == without; });
    if (!changed.first.empty()) {
      variables.push_back(changed);
    }
    return variables;
  }
};

TEST_F(RankLaunch, NamesEachVariableThatIsMissing) {
  for (const std::string name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    EXPECT_THAT(refusal(contract(name)),
                StartsWith("lockstep-rank: environment " + name + ": is not set; start ranks "));
  }
}

TEST_F(RankLaunch, QuotesEachVariableThatIsNoWholeNumber) {
  for (const std::string name :
       {"RANK", "WORLD_SIZE", "MASTER_PORT", "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT"}) {
    EXPECT_EQ(refusal(contract(name, {name, "1.5"})),
              "lockstep-rank: environment " + name + ": is \"1.5\", a whole number is needed\n");
  }
}

TEST_F(RankLaunch, RefusesARankOutsideTheWorld) {
  EXPECT_EQ(refusal(contract("RANK", {"RANK", "2"})),
            "lockstep-rank: environment RANK: is 2, but WORLD_SIZE is 2: ranks count from 0\n");
  EXPECT_EQ(refusal(contract("RANK", {"RANK", "-1"})),
            "lockstep-rank: environment RANK: is -1; allowed: 0 to 2147483647\n");
}

TEST_F(RankLaunch, TellsBothProcessesThatHaveOneRankAndTheOneThatHasAnother) {
  store::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  const store::TCPStore store("127.0.0.1", options);
  const Variables supervised{{"TORCHELASTIC_USE_AGENT_STORE", "True"},
                             {"LOCKSTEP_SUPERVISOR_PID", std::to_string(getpid())}};
  const std::vector<std::string> ofThree{"--set", "processes.world_size=3"};
  auto other = start(0, 3, store.port(), ofThree, supervised);
  auto first = start(1, 3, store.port(), ofThree, supervised);
  auto second = start(1, 3, store.port(), ofThree, supervised);
  for (ChildProcess* child : {&other, &first, &second}) {
    EXPECT_EQ(exitCode(*child), static_cast<int>(ExitCode::kBadInput)) << child->errors();
    EXPECT_EQ(lines(child->errors()), 1) << child->errors();
    EXPECT_THAT(child->errors(), HasSubstr(": rendezvous env://: rank 1 is registered by "));
    EXPECT_THAT(child->errors(), HasSubstr("pid " + std::to_string(first.pid())));
    EXPECT_THAT(child->errors(), HasSubstr("pid " + std::to_string(second.pid())));
    EXPECT_THAT(child->errors(), HasSubstr("; start each rank once"));
  }
}

TEST_F(RankLaunch, TellsBothProcessesThatAreRankZeroAndWouldServeTheStore) {
  const auto port = freePort();
  auto first = start(0, 2, port);
  auto second = start(0, 2, port);
  for (ChildProcess* child : {&first, &second}) {
    EXPECT_EQ(exitCode(*child), static_cast<int>(ExitCode::kBadInput)) << child->errors();
    EXPECT_THAT(child->errors(), HasSubstr("rank 0 is registered by "));
  }
}

TEST_F(RankLaunch, RefusesRanksOfWorldsOfDifferentSize) {
  const auto port = freePort();
  auto zero = start(0, 2, port);
  auto one = start(1, 3, port);
  for (ChildProcess* child : {&zero, &one}) {
    EXPECT_EQ(exitCode(*child), static_cast<int>(ExitCode::kBadInput)) << child->errors();
    EXPECT_THAT(child->errors(), HasSubstr("give all ranks the same"));
  }
}

TEST_F(RankLaunch, StandsBesideTorchrunsAgentStore) {
  // The agent's port is taken; the ranks meet on the next one.
  const auto port = freePort();
  const Variables agent{{"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  store::TCPStoreOptions options;
  options.port = port;
  options.isServer = true;
  const store::TCPStore taken("127.0.0.1", options);
  auto one = start(1, 2, port, {}, agent);
  auto zero = start(0, 2, port, {}, agent);
  EXPECT_EQ(exitCode(zero), 0) << zero.errors();
  EXPECT_EQ(exitCode(one), 0) << one.errors();
}

TEST_F(RankLaunch, NamesTheRankThatDoesNotComeWithinTheTimeLimit) {
  auto zero = start(0, 2, freePort(), {"--set", "processes.timeout_seconds=1"});
  EXPECT_EQ(exitCode(zero), static_cast<int>(ExitCode::kCommFailed));
  EXPECT_EQ(lines(zero.errors()), 1) << zero.errors();
  EXPECT_THAT(zero.errors(), HasSubstr("waiting for rank 1"));
}

TEST_F(RankLaunch, EndsWhenItsSupervisorIsGone) {
  auto rank = start(0, 1, freePort(), {}, {{"LOCKSTEP_SUPERVISOR_PID", "1"}});
  EXPECT_EQ(exitCode(rank), static_cast<int>(ExitCode::kEnvironment));
  EXPECT_EQ(rank.errors(), "rank 0: the supervisor, process 1, is gone\n");
}

}  // namespace
}  // namespace lockstep::train
