// One training over each backend, through the real commands.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::json;

struct Trained {
  std::string hash;     ///< of all ranks; empty when they differ
  std::string backend;  ///< as the ranks name it
};

class Backends : public CommandLineTest {
 protected:
  Trained train(const std::string& backend, int ranks, int hosts = 0) {
    const std::string file = "run" + std::to_string(runs_++) + ".lockstep";
    std::vector<std::string> arguments{"run",
                                       experiment(),
                                       "--json",
                                       "--out",
                                       file,
                                       "--set",
                                       "processes.backend=" + backend,
                                       "--set",
                                       "processes.world_size=" + std::to_string(ranks),
                                       "--set",
                                       "ddp.bucket_cap_mb=0.05"};
    if (hosts > 0) {
      arguments.insert(arguments.end(), {"--set", "processes.hosts=" + std::to_string(hosts)});
    }
    const auto ended = lockstep(arguments);
    EXPECT_EQ(ended.exitCode, 0) << backend << ": " << ended.err;
    if (ended.exitCode != 0) {
      return {};
    }
    const auto info = Json::parse(ended.out);
    EXPECT_EQ(info["state"], "finished");
    EXPECT_EQ(info["events_dropped"], 0);
    Trained trained{info["ranks"][0]["parameter_hash"], info["ranks"][0]["environment"]["backend"]};
    for (const auto& rank : info["ranks"]) {
      EXPECT_EQ(rank["parameter_hash"], trained.hash) << backend;
    }
    EXPECT_EQ(info["ranks"][0]["ddp_logging"]["backend_name"], trained.backend);
    return trained;
  }

 private:
  int runs_ = 0;
};

// All combine two ranks in one order.
TEST_F(Backends, TrainTwoRanksToTheSameParameters) {
  const Trained gloo = train("gloo", 2);
  const Trained shared = train("shared_memory", 2);
  const Trained hosts = train("hierarchical", 2, 2);
  const Trained host = train("hierarchical", 2);
  EXPECT_EQ(gloo.backend, "gloo");
  EXPECT_EQ(shared.backend, "shared_memory");
  EXPECT_EQ(hosts.backend, "hierarchical(2 x shared_memory, gloo)");
  EXPECT_EQ(host.backend, "hierarchical(1 x shared_memory, gloo)");
  for (const Trained& other : {shared, hosts, host}) {
    EXPECT_EQ(other.hash, gloo.hash) << other.backend;
  }
}

TEST_F(Backends, TakeForAutoWhatSuitsTheHosts) {
  EXPECT_EQ(train("auto", 2).backend, "shared_memory");
  EXPECT_EQ(train("auto", 2, 2).backend, "gloo");
  EXPECT_EQ(train("auto", 3, 2).backend, "hierarchical(2 x shared_memory, gloo)");
}

TEST_F(Backends, TrainToTheSameParametersOverHostsEveryTime) {
  EXPECT_EQ(train("hierarchical", 4, 2).hash, train("hierarchical", 4, 2).hash);
}

}  // namespace
}  // namespace lockstep::cli
