// Every experiment in experiments/ddp and experiments/hooks, run through the real commands.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using Json = nlohmann::json;

std::filesystem::path shippedFolder(const std::string& name = "ddp") {
  const char* source = std::getenv("LOCKSTEP_SOURCE");
  return std::filesystem::path(source != nullptr ? source : LOCKSTEP_TEST_SOURCE) / "experiments" /
         name;
}

std::set<std::string> filesOf(const std::string& name) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(shippedFolder(name))) {
    if (entry.path().extension() == ".toml") {
      files.insert(entry.path().filename());
    }
  }
  return files;
}

/// What a file says beside its name, what it shows, its hook and, with DGC, the momentum.
std::string setUpOf(const std::string& file) {
  std::ifstream in(shippedFolder("hooks/convergence") / file);
  std::string rest;
  std::string table;
  for (std::string line; std::getline(in, line);) {
    table = line.starts_with('[') ? line : table;
    const bool own = line.starts_with('#') || table.empty() || table.starts_with("[hook") ||
                     (file == "dgc.toml" && line.starts_with("momentum"));
    rest += own || line == "momentum = 0.9" ? "" : line + "\n";
  }
  return rest;
}

class ShippedRuns : public CommandLineTest {
 protected:
  /// Runs a shipped experiment, shortened, to its end; returns what `lockstep info` says of it.
  Json run(const std::string& file, const std::vector<std::string>& sets = {}) {
    std::vector<std::string> arguments{"run", shippedFolder() / file, "--json", "--out",
                                       std::to_string(runs_++) + ".lockstep"};
    // A loaded machine, or a sanitizer, may be slower than the link of the experiment.
    std::vector<std::string> all{"train.steps=6", "train.evaluate_at_end=false",
                                 "link.simulate_anyway=true"};
    all.insert(all.end(), sets.begin(), sets.end());
    for (const auto& set : all) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    const auto ended = lockstep(arguments);
    EXPECT_EQ(ended.exitCode, 0) << file << ": " << ended.err;
    return ended.exitCode == 0 ? Json::parse(ended.out) : Json::object();
  }

  int runs_ = 0;
};

TEST_F(ShippedRuns, EachEndsWellWithEqualReplicas) {
  const auto files = filesOf("ddp");
  EXPECT_THAT(files, IsSupersetOf({"unused_parameters.toml", "uneven_inputs.toml",
                                   "gradient_accumulation.toml", "static_graph_checkpointing.toml",
                                   "sparse_embedding.toml", "mixed_dtypes.toml",
                                   "sync_batch_norm.toml", "zero.toml", "data_parallel.toml",
                                   "data_parallel_against_ddp.toml", "round_robin.toml"}));
  for (const auto& file : files) {
    // The uneven ranks lack 10 and 25 of 40 batches.
    const auto info =
        run(file, {file == "uneven_inputs.toml" ? "train.steps=40" : "train.steps=6"});
    ASSERT_TRUE(info.contains("ranks")) << file;
    EXPECT_EQ(info["state"], "finished") << file;
    for (const auto& rank : info["ranks"]) {
      EXPECT_EQ(rank["parameter_hash"], info["ranks"][0]["parameter_hash"]) << file;
      EXPECT_FALSE(rank["parameter_hash"].is_null()) << file;
    }
  }
}

TEST_F(ShippedRuns, EachHookEndsWellAndKeepsTheReplicasAsItPromises) {
  for (const auto& file : filesOf("hooks")) {
    const auto info = run("../hooks/" + file);
    ASSERT_TRUE(info.contains("ranks")) << file;
    EXPECT_EQ(info["state"], "finished") << file;
    EXPECT_EQ(info["events_dropped"], 0) << file;
    const bool local = file == "gossip.toml" || file == "noop.toml";
    std::set<std::string> hashes;
    for (const auto& rank : info["ranks"]) {
      hashes.insert(rank["parameter_hash"]);
    }
    EXPECT_EQ(hashes.size() > 1, local) << file;
    EXPECT_EQ(!info["drifting_hook"].is_null(), local || file == "post_local_sgd.toml") << file;
    EXPECT_TRUE(info["diverged"].is_null()) << file << info["diverged"];
  }
}

TEST_F(ShippedRuns, ComparedHooksDifferInNothingElse) {
  const auto files = filesOf("hooks/convergence");
  EXPECT_GE(files.size(), 20U);
  for (const auto& file : files) {
    EXPECT_EQ(setUpOf(file), setUpOf("allreduce.toml")) << file;
  }
}

TEST_F(ShippedRuns, ReplicasThatAreToDriftSayHowFarTheyAre) {
  const auto apart = [&](const std::string& file, const std::vector<std::string>& sets = {}) {
    std::vector<std::string> all{"hook.measure_every=6"};  // after the last step
    all.insert(all.end(), sets.begin(), sets.end());
    const auto info = run("../hooks/convergence/" + file, all);
    double sum = 0;
    for (const auto& rank : info["ranks"]) {
      sum += rank["ddp_logging"]["hook.distance_squared"].get<double>();
    }
    return sum;
  };
  EXPECT_GT(apart("gossip_gradients.toml"), apart("gossip_parameters.toml"));
  EXPECT_GT(apart("post_local_sgd_h32.toml", {"hook.start=0"}), 1e-6);
  EXPECT_LT(apart("post_local_sgd_h32.toml", {"hook.start=0", "hook.period=5"}), 1e-9);
}

TEST_F(ShippedRuns, EachHookOfThePluginsHasAnExperiment) {
  const auto listed = lockstep({"hooks", "--json"});
  ASSERT_EQ(listed.exitCode, 0) << listed.err;
  const auto files = filesOf("hooks");
  for (const auto& library : Json::parse(listed.out)) {
    EXPECT_EQ(library["error"], "");
    for (const auto& hook : library["hooks"]) {
      EXPECT_TRUE(files.contains(hook["id"].get<std::string>() + ".toml")) << hook["id"];
    }
  }
}

TEST_F(ShippedRuns, ASparseTableSendsASmallPartOfItsBytes) {
  const auto sent = [&](const std::string& set) {
    return run("sparse_embedding.toml", {set})["ranks"][0]["wire_bytes"].get<double>();
  };
  EXPECT_GT(sent("model.sparse=false"), 5 * sent("model.sparse=true"));
}

TEST_F(ShippedRuns, WithoutAStaticGraphASharedBlockUnderCheckpointsIsAnError) {
  const auto ended =
      lockstep({"run", shippedFolder() / "static_graph_checkpointing.toml", "--quiet", "--out",
                "r.lockstep", "--set", "ddp.static_graph=false"});
  EXPECT_EQ(ended.exitCode, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("blocks.0.")) << ended.err;
}

TEST_F(ShippedRuns, DataParallelAndDdpLearnTheSame) {
  const auto parallel = run("data_parallel.toml");
  const auto ddp = run("data_parallel_against_ddp.toml");
  // Of rank 0 its own half of the batch: near, not equal.
  EXPECT_NEAR(parallel["loss"].get<double>(), ddp["loss"].get<double>(), 0.5);
  const auto& overlap = parallel["ranks"][0]["figures"]["overlap_percent"];
  EXPECT_TRUE(overlap.is_null() || overlap == 0) << overlap;
}

TEST_F(ShippedRuns, MixedFormatsFillBucketsOfTheirOwn) {
  std::set<std::string> formats;
  const Json info = run("mixed_dtypes.toml");
  for (const auto& bucket : info["buckets"]["rebuilt"]) {
    formats.insert(bucket["dtype"].get<std::string>());
  }
  EXPECT_EQ(formats, (std::set<std::string>{"bfloat16", "float32", "float64"}));
}

}  // namespace
}  // namespace lockstep::cli
