#include "tests/engine/hooks/plugin/HookRanks.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/hooks/plugin/detail/HookStates.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/HashStore.h"
#include "tests/support/RankThreads.h"

namespace lockstep::hooks::test {

namespace {

std::shared_ptr<process_group::ProcessGroup> makeGroup(std::shared_ptr<store::Store> store,
                                                       int rank, int world,
                                                       const std::string& name) {
  process_group::GroupOptions options;
  options.groupName = name;
  options.timeout = std::chrono::seconds(20);
  auto group = process_group::makeProcessGroup("gloo", std::move(store), rank, world, options);
  if (!group.ok()) {
    throw std::runtime_error(group.error().message());
  }
  return std::move(group).value();
}

std::string errorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

plugin::ChosenHook builtHook(const std::string& file, const std::string& id,
                             std::map<std::string, plugin::HookValue> values) {
  return {std::string(std::getenv("LOCKSTEP_BIN")) + "/" + file, id, std::move(values)};
}

base::Future<at::Tensor> HookRank::start(const at::Tensor& flat, std::uint32_t step,
                                         std::size_t index, std::size_t count,
                                         BucketFacts facts) const {
  facts.divisor = facts.divisor == 1 ? world : facts.divisor;
  const auto sizes = shape.empty() ? std::vector<std::int64_t>{flat.numel()} : shape;
  GradBucket bucket(index, count, step, flat, {0}, {flat.numel()}, {sizes},
                    {at::zeros(sizes, flat.options())}, {static_cast<std::uint32_t>(index)}, facts);
  return hook->run(bucket);
}

at::Tensor HookRank::average(const at::Tensor& flat, std::uint32_t step, std::size_t index,
                             std::size_t count) const {
  const auto future = start(flat, step, index, count);
  if (!future.waitFor(std::chrono::seconds(10))) {
    throw std::runtime_error("the hook gave no result within 10 s");
  }
  return future.value();
}

std::vector<std::string> runHooks(int world, const plugin::HookChoice& choice,
                                  const std::function<void(HookRank&)>& body,
                                  trace::Tracer* tracerOfRank0) {
  const auto store = std::make_shared<store::HashStore>(std::chrono::seconds(20));
  std::vector<std::string> errors(static_cast<std::size_t>(world));
  std::vector<HookRank> ranks(static_cast<std::size_t>(world));
  support::runRanks(world, [&](int rank) {
    HookRank& own = ranks[static_cast<std::size_t>(rank)];
    own.rank = rank;
    own.world = world;
    own.group = makeGroup(store, rank, world, "test");
    std::vector<std::shared_ptr<process_group::Subgroups>> groups;
    std::vector<std::shared_ptr<process_group::ProcessGroup>> worlds;
    for (std::size_t i = 0; i < choice.size(); ++i) {
      const std::string name = fmt::format("hook{}", i);
      worlds.push_back(makeGroup(store, rank, world, name));
      process_group::GroupOptions options;
      options.groupName = name;
      options.timeout = std::chrono::seconds(20);
      groups.push_back(std::make_shared<process_group::Subgroups>(worlds.back(), "gloo", store,
                                                                  options));
    }
    errors[static_cast<std::size_t>(rank)] = errorOf([&] {
      own.hook = std::make_unique<PluginHook>(
          PluginHookOptions{choice, groups, rank == 0 ? tracerOfRank0 : nullptr,
                            std::chrono::milliseconds(2000)});
      body(own);
    });
    if (!errors[static_cast<std::size_t>(rank)].empty()) {
      for (const auto& group : worlds) {
        group->abort("rank " + std::to_string(rank) + " failed");
      }
    }
  });
  return errors;
}

at::Tensor residualOf(const HookRank& rank) {
  const auto states = detail::HookStates::fromBytes(rank.hook->save());
  const std::string& bytes = states.entries.at(0).bytes;
  // The world's size, how many parameters, the first one's id, how many numbers, the numbers.
  constexpr std::size_t kHead = sizeof(int) + 8 + 4;
  if (bytes.size() < kHead + 8) {
    return {};
  }
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + kHead, sizeof count);
  at::Tensor residual = at::empty({static_cast<std::int64_t>(count)});
  std::memcpy(residual.data_ptr(), bytes.data() + kHead + 8, count * sizeof(float));
  return residual;
}

at::Tensor gradients(std::int64_t count, int rank, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(1000 * seed + static_cast<std::uint64_t>(rank));
  return at::randn({count}, generator);
}

at::Tensor meanGradients(std::int64_t count, int world, std::uint64_t seed) {
  at::Tensor sum = at::zeros({count}, at::kDouble);
  for (int rank = 0; rank < world; ++rank) {
    sum += gradients(count, rank, seed).to(at::kDouble);
  }
  return (sum / world).to(at::kFloat);
}

}  // namespace lockstep::hooks::test
