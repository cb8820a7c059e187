// Trains the small convolutional network with hooks of the library; hooks.py has the hooks that
// PyTorch writes in Python, and compares.
//
// spec.json         world, hooks (folder of the libraries); combinations: number, hook, values,
//                   view, steps, batch, input, first_bucket_mb, bucket_cap_mb, learning_rate,
//                   momentum, and with powersgd start
// weights.bin       float32, the initial parameters in registration order
// inputs.bin        float32 [steps, world, batch, *input]
// targets.bin       int64 [steps, world, batch]
// factors_<n>.json  with powersgd: by parameter, or by the first one of a bucket, the numbers of
//                   Q that the first compressed step begins with, column after column
// Writes lockstep_<n>_<rank>.json: losses, weights, buckets.

#include <torch/torch.h>

#include <cstring>
#include <fstream>
#include <stdexcept>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/hooks/plugin/PluginHook.h"
#include "engine/hooks/plugin/detail/HookStates.h"
#include "tests/conformance/Driver.h"
#include "tests/conformance/Models.h"

namespace lockstep::conformance {
namespace {

using nlohmann::json;
namespace nn = torch::nn;

std::shared_ptr<hooks::PluginHook> makeHook(const Run& run, const json& spec) {
  const std::string id = spec.at("hook");
  plugin::ChosenHook chosen{run.spec.at("hooks").get<std::string>() + "/" + id + ".so", id, {}};
  for (const auto& [key, value] : spec.at("values").items()) {
    chosen.values[key] = value.get<double>();
  }
  auto options = run.groupOptions;
  options.groupName = "hook " + spec.at("number").dump();
  auto world =
      process_group::makeProcessGroup("gloo", run.store, run.rank(), run.group->size(), options);
  if (!world.ok()) {
    throw std::runtime_error(world.error().message());
  }
  hooks::PluginHookOptions hook;
  hook.choice = {chosen};
  hook.groups = {
      std::make_shared<process_group::Subgroups>(world.value(), "gloo", run.store, options)};
  return std::make_shared<hooks::PluginHook>(std::move(hook));
}

template <typename T>
void put(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// A state of powersgd that holds these factors and nothing else, in the order of its save().
std::string stateWith(const json& factors, int world) {
  hooks::detail::HookStates::Entry entry{"powersgd", 2, {}};
  put(entry.bytes, world);
  put(entry.bytes, std::uint64_t{0});  // residuals
  put(entry.bytes, std::uint64_t{factors.size()});
  for (const auto& [id, numbers] : factors.items()) {
    put(entry.bytes, static_cast<std::uint32_t>(std::stoul(id)));
    put(entry.bytes, std::uint64_t{numbers.size()});
    for (const float number : numbers) {
      put(entry.bytes, number);
    }
  }
  put(entry.bytes, std::uint64_t{0});  // residuals behind a bucket's numbers
  return hooks::detail::HookStates{{entry}}.toBytes();
}

void trainWithHook(const Run& run, const json& spec) {
  const std::int64_t steps = spec.at("steps");
  std::vector<std::int64_t> shape{steps, run.spec.at("world"), spec.at("batch")};
  const at::Tensor targets = load(run.folder / "targets.bin", at::kLong, shape);
  for (const std::int64_t size : spec.at("input")) {
    shape.push_back(size);
  }
  const at::Tensor inputs = load(run.folder / "inputs.bin", at::kFloat, shape);
  nn::Sequential model = buildModel("cnn");
  if (run.rank() == 0) {  // the others get theirs from rank 0
    torch::NoGradGuard noGrad;
    nn::utils::vector_to_parameters(loadAll(run.folder / "weights.bin", at::kFloat),
                                    model->parameters());
  }
  const auto hook = makeHook(run, spec);
  ddp::DdpOptions options;
  options.firstBucketMb = spec.at("first_bucket_mb");
  options.bucketCapMb = spec.at("bucket_cap_mb");
  options.gradientAsBucketView = spec.at("view");
  options.hook = hook;
  ddp::DistributedDataParallel parallel(model.ptr(), run.group, options);
  std::vector<std::string> names;
  std::vector<at::Tensor> parameters;
  for (const ddp::NamedTensor& parameter : parallel.parameters()) {
    names.push_back(parameter.name);
    parameters.push_back(parameter.tensor);
  }
  hook->setParameters(std::move(names), std::move(parameters));
  const double rate = spec.at("learning_rate"), momentum = spec.at("momentum");
  hooks::OptimizerFacts facts;
  facts.kind = "sgd";
  facts.learningRate = rate;
  facts.momentum = momentum;
  hook->configure(facts);
  torch::optim::SGD optimizer(model->parameters(),
                              torch::optim::SGDOptions(rate).momentum(momentum));
  const std::int64_t factorsAt = spec.value("start", std::int64_t{-1});
  json result;
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto number = static_cast<std::uint32_t>(step);
    if (step == factorsAt) {
      std::ifstream file(run.folder / ("factors_" + spec.at("number").dump() + ".json"));
      hook->load(stateWith(json::parse(file), run.group->size()), run.group->size());
    }
    parallel.setStep(number);
    hook->beforeForward(number);
    const at::Tensor output =
        parallel.run([&] { return model->forward(inputs[step][run.rank()]); });
    const at::Tensor loss = nn::functional::cross_entropy(output, targets[step][run.rank()]);
    optimizer.zero_grad();
    loss.backward();
    parallel.checkFinalized();
    optimizer.step();
    hook->afterOptimizer(number);
    result["losses"].push_back(loss.item<double>());
  }
  hook->endOfRun(static_cast<std::uint32_t>(steps));
  result["buckets"] = parallel.plan().indices();
  result["weights"] = numbers(model->parameters());
  std::ofstream(run.folder / ("lockstep_" + spec.at("number").dump() + "_" +
                              std::to_string(run.rank()) + ".json"))
      << result;
  run.group->barrier()->wait();  // the hook's group closes, which nobody may still need
}

}  // namespace

void runHooks(const Run& run) {
  forEachCombination(run, [&run](const json& combination) { trainWithHook(run, combination); });
}

}  // namespace lockstep::conformance
