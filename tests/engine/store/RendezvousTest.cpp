#include "engine/store/Rendezvous.h"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>

#include "engine/store/FileStore.h"
#include "engine/store/TCPStore.h"
#include "tests/engine/store/StoreFixtures.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/RankThreads.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::store {
namespace {

using namespace std::chrono_literals;
using base::ExitCode;
using support::ChildProcess;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using Variables = std::map<std::string, std::string>;

RendezvousOptions optionsWith(const Variables& variables, Store::Milliseconds timeout = 30s) {
  RendezvousOptions options;
  options.timeout = timeout;
  options.readVariable = [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return options;
}

std::uint16_t freePort() {
  return TCPStore("127.0.0.1", serverOptions()).port();
}

std::string tcp(std::uint16_t port, const std::string& query) {
  return "tcp://127.0.0.1:" + std::to_string(port) + "?" + query;
}

/// Returns the message of a rendezvous that must fail, as bad input unless said otherwise.
std::string refusalOf(const std::string& address, const RendezvousOptions& options,
                      ExitCode code = ExitCode::kBadInput) {
  const auto met = rendezvous(address, options);
  if (met.ok()) {
    ADD_FAILURE() << address << " met";
    return "";
  }
  EXPECT_EQ(met.error().code, code) << met.error().message();
  return met.error().message();
}

/// Meets at an address, says so, and leaves when the first rank does.
int meet(const std::vector<std::string>& arguments) {
  RendezvousOptions options;
  options.timeout = 30s;
  const auto met = rendezvous(arguments.at(0), options);
  if (!met.ok()) {
    std::printf("%s\n", met.error().message().c_str());
    return static_cast<int>(met.error().code);
  }
  const auto& [store, rank, worldSize] = met.value();
  store->set("rank " + std::to_string(rank), "here");
  store->get("rank " + std::to_string((rank + 1) % worldSize));
  if (rank == 0) {
    for (int other = 1; other < worldSize; ++other) {
      store->get("left " + std::to_string(other));
    }
  } else {
    store->set("left " + std::to_string(rank), "");
  }
  std::printf("rank %d of %d\n", rank, worldSize);
  return 0;
}

const support::RegisterChildRole meeting("meet", meet);

/// Expects three ranks at one address to meet.
void expectMeeting(const std::function<Rendezvous(int rank)>& join) {
  support::runRanks(3, [&](int rank) {
    const Rendezvous met = join(rank);
    EXPECT_EQ(met.rank, rank);
    EXPECT_EQ(met.worldSize, 3);
    met.store->set(std::to_string(rank), "here");
    met.store->wait({"0", "1", "2"});
    // Rank 0 may serve the store, so it leaves last.
    if (rank == 0) {
      met.store->wait({"left 1", "left 2"});
    } else {
      met.store->set("left " + std::to_string(rank), "");
    }
  });
}

Rendezvous valueOf(base::Result<Rendezvous> met) {
  if (!met.ok()) {
    throw std::runtime_error(met.error().message());
  }
  return std::move(met).value();
}

TEST(Rendezvous, MeetsOverTcp) {
  const auto port = freePort();
  expectMeeting([&](int rank) {
    return valueOf(
        rendezvous(tcp(port, "rank=" + std::to_string(rank) + "&world_size=3"), optionsWith({})));
  });
}

TEST(Rendezvous, MeetsInAFileAndLeavesNone) {
  support::TemporaryFolder folder;
  const std::string path = (folder / "meeting point").string();
  expectMeeting([&](int rank) {
    auto options = optionsWith({});
    options.rank = rank;
    options.worldSize = 3;
    return valueOf(rendezvous("file://" + path, options));
  });
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Rendezvous, MeetsWhereTheEnvironmentSays) {
  const std::string port = std::to_string(freePort());
  expectMeeting([&](int rank) {
    return valueOf(rendezvous("env://", optionsWith({{"RANK", std::to_string(rank)},
                                                     {"WORLD_SIZE", "3"},
                                                     {"MASTER_ADDR", "127.0.0.1"},
                                                     {"MASTER_PORT", port}})));
  });
}

TEST(Rendezvous, TakesRankAndSizeOfTheAddressBeforeTheEnvironments) {
  const std::string port = std::to_string(freePort());
  const auto met =
      rendezvous("env://?rank=0&world_size=1",
                 optionsWith({{"RANK", "5"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}}));
  ASSERT_TRUE(met.ok()) << met.error().message();
  EXPECT_EQ(met.value().rank, 0);
  EXPECT_EQ(met.value().worldSize, 1);
}

TEST(Rendezvous, MeetsAmongProcesses) {
  const auto port = freePort();
  std::vector<ChildProcess> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(
        ChildProcess::self("meet", {tcp(port, "rank=" + std::to_string(rank) + "&world_size=3")}));
  }
  for (int rank = 0; rank < 3; ++rank) {
    auto& process = ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(process.wait().code, 0) << process.errors();
    EXPECT_EQ(process.output(), "rank " + std::to_string(rank) + " of 3\n");
  }
}

TEST(Rendezvous, GivesTheStoreItsTimeLimit) {
  const auto met = rendezvous(tcp(freePort(), "rank=0&world_size=1"), optionsWith({}, 100ms));
  ASSERT_TRUE(met.ok()) << met.error().message();
  EXPECT_EQ(met.value().store->timeout(), 100ms);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(met.value().store->get("absent"), StoreError);
  const auto waited = std::chrono::steady_clock::now() - start;
  EXPECT_GE(waited, 100ms);
  EXPECT_LT(waited, 5s);
}

TEST(Rendezvous, NamesEachMistakeInAnAddress) {
  const auto options = optionsWith({});
  const std::vector<std::pair<std::string, std::string>> mistakes{
      {"invalid://", "no rendezvous handler for \"invalid://\""},
      {"", "no rendezvous handler"},
      {"/tmp/store", "no rendezvous handler"},
      {"file://?rank=0&world_size=1", "path missing"},
      {"file://host/path?rank=0&world_size=1", "path missing after the host \"host\""},
      {"file:///tmp/x?world_size=1", "rank parameter missing"},
      {"file:///tmp/x?rank=0", "world size parameter missing"},
      {"tcp://127.0.0.1?rank=0&world_size=1", "port number missing"},
      {"tcp://:1234?rank=0&world_size=1", "host missing"},
      {"tcp://[::1]?rank=0&world_size=1", "port number missing"},
      {"tcp://host:port?rank=0&world_size=1", "port is \"port\", a whole number"},
      {"tcp://host:65536?rank=0&world_size=1", "port is 65536; allowed: 1 to 65535"},
      {"tcp://host:1?world_size=1", "rank parameter missing"},
      {"tcp://host:1?rank=0", "world size parameter missing"},
      {"tcp://host:1?rank=one&world_size=1", "rank is \"one\", a whole number"},
      {"tcp://host:1?rank=-1&world_size=1", "rank is -1; allowed: 0 to"},
      {"tcp://host:1?rank=0&world_size=", "world_size is \"\", a whole number"},
      {"tcp://host:1?rank=0&world_size=0", "world_size is 0; allowed: 1 to"},
      {"tcp://host:1?rank=2&world_size=2", "rank is 2, but world_size is 2"},
      {"tcp://host:1?rank=0&rank=1&world_size=2", "rank is given twice"},
      {"tcp://host:1?rang=0", "unknown parameter \"rang\"; known: rank, world_size, job"},
      {"env://host", "\"host\" after env:// means nothing"},
  };
  for (const auto& [address, text] : mistakes) {
    EXPECT_THAT(refusalOf(address, options),
                AllOf(StartsWith("rendezvous " + address + ": "), HasSubstr(text)));
  }
}

TEST(Rendezvous, RefusesARankFromTwoPlaces) {
  auto options = optionsWith({});
  options.rank = 1;
  EXPECT_THAT(refusalOf("file:///tmp/x?rank=0&world_size=2", options),
              AllOf(HasSubstr("rank is given twice"), HasSubstr("node-specific argument rank=0"),
                    HasSubstr("the caller gives 1")));
  options.rank.reset();
  options.worldSize = 3;
  EXPECT_THAT(refusalOf("file:///tmp/x?rank=0&world_size=2", options),
              HasSubstr("world_size is given twice"));
}

TEST(Rendezvous, NamesTheVariableThatIsMissing) {
  const Variables all{
      {"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}};
  for (const auto& [name, value] : all) {
    Variables variables = all;
    variables.erase(name);
    EXPECT_THAT(refusalOf("env://", optionsWith(variables)),
                StartsWith("environment " + name + ": is not set"));
    variables[name] = "x";
    if (name != "MASTER_ADDR") {
      EXPECT_THAT(refusalOf("env://", optionsWith(variables)),
                  StartsWith("environment " + name + ": is \"x\", a whole number"));
    }
  }
  EXPECT_THAT(refusalOf("env://?rank=3", optionsWith(all)),
              StartsWith("environment RANK: is 3, but WORLD_SIZE is 1"));
}

TEST(Rendezvous, TellsBothProcessesThatHaveOneRank) {
  const auto port = freePort();
  auto zero = ChildProcess::self("meet", {tcp(port, "rank=0&world_size=3")});
  auto one = ChildProcess::self("meet", {tcp(port, "rank=1&world_size=3")});
  auto again = ChildProcess::self("meet", {tcp(port, "rank=1&world_size=3")});
  for (auto* process : {&one, &again}) {
    EXPECT_EQ(process->wait().code, static_cast<int>(ExitCode::kBadInput));
    EXPECT_THAT(process->output(), AllOf(HasSubstr("rank 1 is registered by host "),
                                         HasSubstr("pid " + std::to_string(one.pid())),
                                         HasSubstr("pid " + std::to_string(again.pid()))));
  }
  EXPECT_EQ(zero.wait().code, static_cast<int>(ExitCode::kBadInput));
}

TEST(Rendezvous, TellsBothProcessesThatAreRankZero) {
  const auto port = freePort();
  auto first = ChildProcess::self("meet", {tcp(port, "rank=0&world_size=2")});
  auto second = ChildProcess::self("meet", {tcp(port, "rank=0&world_size=2")});
  for (auto* process : {&first, &second}) {
    EXPECT_EQ(process->wait().code, static_cast<int>(ExitCode::kBadInput));
    EXPECT_THAT(process->output(), AllOf(HasSubstr("rank 0 is registered by host "),
                                         HasSubstr("pid " + std::to_string(first.pid())),
                                         HasSubstr("pid " + std::to_string(second.pid()))));
  }
}

TEST(Rendezvous, SaysThatThePortBelongsToSomebodyElse) {
  const TCPStore stranger("127.0.0.1", serverOptions());
  EXPECT_THAT(refusalOf(tcp(stranger.port(), "rank=0&world_size=2"), optionsWith({}, 50ms),
                        ExitCode::kEnvironment),
              AllOf(HasSubstr("failed to listen"), HasSubstr("choose another port")));
}

TEST(Rendezvous, NamesTheRanksThatDoNotCome) {
  EXPECT_THAT(refusalOf(tcp(freePort(), "rank=0&world_size=3"), optionsWith({}, 50ms),
                        ExitCode::kCommFailed),
              HasSubstr("timeout after 50 ms: waiting for ranks 1, 2 of 3"));
}

TEST(Rendezvous, SaysThatNobodyServesTheStore) {
  EXPECT_THAT(refusalOf(tcp(freePort(), "rank=1&world_size=2"), optionsWith({}, 50ms),
                        ExitCode::kCommFailed),
              HasSubstr("is the rank that serves the store running there?"));
}

TEST(Rendezvous, RefusesTheFileThatAnotherJobLeft) {
  support::TemporaryFolder folder;
  const std::string path = (folder / "store").string();
  const std::string address = "file://" + path + "?rank=0&world_size=2";
  refusalOf(address, optionsWith({{"TORCHELASTIC_RUN_ID", "monday"}}, 10ms), ExitCode::kCommFailed);
  ASSERT_TRUE(std::filesystem::exists(path)) << "rank 1 has not come, so the file stays";
  EXPECT_THAT(refusalOf(address, optionsWith({{"TORCHELASTIC_RUN_ID", "tuesday"}})),
              AllOf(HasSubstr(path), HasSubstr("belongs to job \"monday\", not to \"tuesday\""),
                    HasSubstr("delete it or give another path")));
  EXPECT_THAT(refusalOf(address, optionsWith({{"TORCHELASTIC_RUN_ID", "monday"},
                                              {"TORCHELASTIC_RESTART_COUNT", "1"}})),
              HasSubstr("not to \"monday (restart 1)\""));
  EXPECT_THAT(refusalOf(address + "&job=friday", optionsWith({})), HasSubstr("\"friday\""));
  auto named = optionsWith({});
  named.job = "sunday";
  EXPECT_THAT(refusalOf(address, named), HasSubstr("\"sunday\""));
}

TEST(Rendezvous, RefusesTheFileOfANamelessJobThatCrashed) {
  support::TemporaryFolder folder;
  const std::string address = "file://" + (folder / "store").string() + "?rank=0&world_size=2";
  auto crashed = ChildProcess::self("meet", {address});
  {
    FileStore watching({(folder / "store").string(), 2, "", 30s});
    watching.wait({"rendezvous//rank/0"});
  }
  crashed.kill(SIGKILL);
  crashed.wait();
  EXPECT_THAT(refusalOf(address, optionsWith({})),
              AllOf(HasSubstr("rank 0 is registered by"),
                    HasSubstr("pid " + std::to_string(crashed.pid()) + " (which has ended")));
}

}  // namespace
}  // namespace lockstep::store
