#include "tests/engine/hooks/plugin/HookRanks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

#include "engine/hooks/plugin/detail/HookStates.h"

namespace lockstep::hooks::test {

namespace {

std::string textOf(const std::exception_ptr& error) {
  if (error == nullptr) {
    return "";
  }
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  }
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
  constexpr std::chrono::seconds kPatience(60);  // sanitizers make 4 ranks' kernels slow
  if (!future.waitFor(kPatience)) {
    throw std::runtime_error("the hook gave no result within 60 s");
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
  LocalRanksOptions options;
  options.world = world;
  options.choice = choice;
  options.tracerOfRank0 = tracerOfRank0;
  std::vector<HookRank> ranks(static_cast<std::size_t>(world));  // until all are through
  const auto errors = runLocalRanks(options, [&](LocalRank& local) {
    HookRank& own = ranks[static_cast<std::size_t>(local.rank)];
    static_cast<LocalRank&>(own) = std::move(local);
    body(own);
  });
  std::vector<std::string> texts;
  for (const std::exception_ptr& error : errors) {
    texts.push_back(textOf(error));
  }
  return texts;
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
