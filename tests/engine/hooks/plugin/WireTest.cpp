#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::HookRank;
using test::libraryHook;
using test::runHooks;
using test::Values;
using testing::Each;

constexpr double kSide = 1024;
constexpr double kNumbers = kSide * kSide;

struct Sending {
  const char* name;
  const char* id;
  Values values;
  /// Bytes a rank, on average, of one bucket of a matrix of kSide by kSide.
  double (*bytes)(double ranks);
};

/// Twice the data but for a rank's own part: reduce-scatter and allgather. Messages are large
/// enough for that: what takes longer to start than to send, Gloo's backend sends whole.
double ring(double bytes, double ranks) {
  return 2 * bytes * (ranks - 1) / ranks;
}

class Wire : public testing::TestWithParam<std::tuple<Sending, int>> {};

TEST_P(Wire, CarriesWhatTheFormulaSays) {
  const auto& [sending, world] = GetParam();
  std::atomic<std::uint64_t> sent = 0;
  const auto errors = runHooks(world, libraryHook(sending.id, sending.values), [&](HookRank& rank) {
    rank.shape = {static_cast<std::int64_t>(kSide), static_cast<std::int64_t>(kSide)};
    OptimizerFacts optimizer;
    optimizer.kind = rank.hook->name() == "onebit" ? "adam" : "sgd";
    optimizer.learningRate = 0.1;
    rank.hook->configure(optimizer);
    const auto count = static_cast<std::int64_t>(kNumbers);
    const std::uint64_t before = rank.sentBytes();
    constexpr std::uint32_t kStep = 2;  // the first that powersgd and onebit compress
    rank.train(at::zeros({count}), kStep, kStep + 1, 0.1,
               [&](const at::Tensor&, std::uint32_t) { return test::gradients(count, rank.rank); });
    rank.hook->endOfRun(kStep + 1);
    sent += rank.sentBytes() - before;
  });
  ASSERT_THAT(errors, Each(""));
  const double expected = sending.bytes(world);
  EXPECT_NEAR(static_cast<double>(sent) / world, expected, 0.002 * expected + 16 * world);
}

INSTANTIATE_TEST_SUITE_P(
    Hooks, Wire,
    testing::Combine(
        testing::Values(
            Sending{"noop", "noop", {}, [](double) { return 0.0; }},
            Sending{"allreduce", "allreduce", {}, [](double n) { return ring(4 * kNumbers, n); }},
            Sending{"fp16", "fp16", {}, [](double n) { return ring(2 * kNumbers, n); }},
            Sending{"bf16", "bf16", {}, [](double n) { return ring(2 * kNumbers, n); }},
            Sending{"int8_to_all", "int8", {}, [](double n) { return ring(kNumbers, n); }},
            Sending{"int8_gathered",
                    "int8",
                    {{"exchange", std::string("allgather")}},
                    [](double n) { return kNumbers * (n - 1); }},
            Sending{"int8_channels",
                    "int8",
                    {{"scales", std::string("channel")}},
                    [](double n) { return ring(kNumbers + kNumbers / 512 * 8, n); }},
            Sending{"qsgd",
                    "qsgd",
                    {},
                    [](double n) { return (kNumbers + kNumbers / 512 * 4) * (n - 1); }},
            Sending{"sign", "sign", {}, [](double n) { return ring(kNumbers / 8, n); }},
            Sending{"ef_sign", "ef_sign", {}, [](double n) { return kNumbers / 8 * (n - 1); }},
            Sending{"onebit",
                    "onebit",
                    {{"warmup", 2.0}},
                    [](double n) { return ring(kNumbers / 8, n); }},
            Sending{"topk",
                    "topk",
                    {{"density", 0.01}},
                    [](double n) { return 8 * 0.01 * kNumbers * (n - 1); }},
            Sending{"dgc",
                    "dgc",
                    {{"density", 0.01}},
                    [](double n) { return 8 * 0.01 * kNumbers * (n - 1); }},
            Sending{"randomk",
                    "randomk",
                    {{"density", 0.5}},
                    [](double n) { return ring(4 * 0.5 * kNumbers, n); }},
            Sending{"powersgd",
                    "powersgd",
                    {{"rank", 64.0}, {"start", 2.0}},
                    [](double n) { return ring(4 * 64 * 2 * kSide, n); }},
            Sending{"powersgd_batched",
                    "powersgd",
                    {{"rank", 64.0}, {"start", 2.0}, {"batched", 1.0}},
                    [](double n) { return ring(4 * 64 * 2 * kSide, n); }},
            Sending{"post_local_sgd",
                    "post_local_sgd",
                    {{"start", 0.0}, {"period", 1.0}},
                    [](double n) { return ring(4 * kNumbers, n); }},
            Sending{"gossip",
                    "gossip",
                    {{"mix", std::string("gradients")}},
                    [](double) { return 4 * kNumbers; }},
            Sending{"hierarchical",
                    "hierarchical",
                    {{"ranks_per_node", 2.0}},
                    [](double n) { return ring(4 * kNumbers, 2) + ring(2 * kNumbers, n / 2); }},
            Sending{"delayed", "delayed", {}, [](double n) { return ring(4 * kNumbers, n); }},
            Sending{"zero_rs", "zero_rs", {}, [](double n) { return ring(4 * kNumbers, n); }}),
        testing::Values(2, 4, 8)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_on_" +
             std::to_string(std::get<1>(info.param));
    });

}  // namespace
}  // namespace lockstep::hooks
