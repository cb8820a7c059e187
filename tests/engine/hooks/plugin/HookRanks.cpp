#include "tests/engine/hooks/plugin/HookRanks.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
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
                                                       int rank, int world, const std::string& name,
                                                       trace::Tracer* tracer = nullptr) {
  process_group::GroupOptions options;
  options.groupName = name;
  options.tracer = tracer;
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

void HookRank::train(const at::Tensor& parameter, std::uint32_t first, std::uint32_t end,
                     double rate, const Gradient& gradient,
                     const std::function<void(std::uint32_t step)>& after) const {
  hook->setParameters({"weight"}, {parameter});
  for (std::uint32_t step = first; step < end; ++step) {
    hook->beforeForward(step);
    parameter.mutable_grad() = average(gradient(parameter, step).clone(), step);
    if (hook->ownsUpdate()) {
      hook->update(step);
    } else {
      parameter.sub_(parameter.grad() * rate);
    }
    hook->afterOptimizer(step);
    if (after) {
      after(step);
    }
  }
}

void RankValues::add(std::uint32_t step, const at::Tensor& value) {
  std::lock_guard lock(mutex_);
  values_[step].push_back(value.clone());
}

const std::vector<at::Tensor>& RankValues::at(std::uint32_t step) const {
  return values_.at(step);
}

bool RankValues::allEqual(std::uint32_t step) const {
  const auto& values = at(step);
  return std::all_of(values.begin(), values.end(),
                     [&](const at::Tensor& value) { return at::equal(value, values[0]); });
}

double RankValues::spread(std::uint32_t step) const {
  const at::Tensor all = at::stack(at(step));
  return (all - all.mean(0)).square().sum(1).mean().item<double>();
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
      worlds.push_back(makeGroup(store, rank, world, name, own.wire.get()));
      process_group::GroupOptions options;
      options.groupName = name;
      options.tracer = own.wire.get();
      options.timeout = std::chrono::seconds(20);
      groups.push_back(
          std::make_shared<process_group::Subgroups>(worlds.back(), "gloo", store, options));
    }
    own.group->barrier()->wait();  // all have met in all groups before one may fail
    errors[static_cast<std::size_t>(rank)] = errorOf([&] {
      own.hook = std::make_unique<PluginHook>(PluginHookOptions{
          choice, groups, rank == 0 ? tracerOfRank0 : nullptr, std::chrono::milliseconds(2000)});
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

std::vector<at::Tensor> stateOf(const HookRank& rank) {
  const auto states = detail::HookStates::fromBytes(rank.hook->save());
  const std::string& bytes = states.entries.at(0).bytes;
  std::size_t at = 0;
  const auto take = [&](void* to, std::size_t size) {
    if (size > bytes.size() - at) {
      throw std::runtime_error("the hook's state is shorter than it says");
    }
    std::memcpy(to, bytes.data() + at, size);
    at += size;
  };
  int world = 0;
  take(&world, sizeof world);
  std::vector<at::Tensor> sets;
  while (at < bytes.size()) {
    at::Tensor own = at::empty({0});
    std::uint64_t parameters = 0;
    take(&parameters, sizeof parameters);
    for (std::uint64_t i = 0; i < parameters; ++i) {
      std::uint32_t id = 0;
      std::uint64_t count = 0;
      take(&id, sizeof id);
      take(&count, sizeof count);
      at::Tensor numbers = at::empty({static_cast<std::int64_t>(count)});
      take(numbers.data_ptr(), count * sizeof(float));
      own = id == 0 ? numbers : own;
    }
    sets.push_back(own);
  }
  return sets;
}

at::Tensor residualOf(const HookRank& rank) {
  return stateOf(rank).at(0);
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
