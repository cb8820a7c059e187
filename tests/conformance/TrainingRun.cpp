// Trains one model for many steps; conformance.py has PyTorch's side and compares.
//
// spec.json    model, world, view, steps, batch, device, input, first_bucket_mb, bucket_cap_mb,
//              learning_rate, momentum
// weights.bin  float32, the initial parameters in registration order
// inputs.bin   float32 [steps, world, batch, *input]
// targets.bin  int64 [steps, world, batch]
// Writes lockstep_<rank>.json: losses, weights, buffers, initial, initial_1_9, rebuilt.

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>

#include <fstream>

#include "engine/buckets/Assign.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/TensorText.h"
#include "tests/conformance/Driver.h"
#include "tests/conformance/Models.h"

namespace lockstep::conformance {
namespace {

using nlohmann::json;
namespace nn = torch::nn;

std::vector<std::vector<std::uint32_t>> planOf19(const ddp::DistributedDataParallel& model,
                                                 const ddp::DdpOptions& options) {
  std::vector<buckets::TensorSpec> specs;
  for (const auto& parameter : model.parameters()) {
    specs.push_back(
        {parameter.tensor.nbytes(), ddp::dtypeName(parameter.tensor.scalar_type()), "cpu"});
  }
  buckets::BucketCaps caps;
  caps.firstBytes = buckets::capBytes(options.firstBucketMb).value();
  caps.capBytes = buckets::capBytes(options.bucketCapMb).value();
  return buckets::planConstruction(specs, buckets::BucketRule::kC10d19, caps).indices();
}

at::Device deviceOf(const Run& run) {
  if (run.spec.at("device") == "cpu") {
    return at::kCPU;
  }
  const at::Device device(
      at::kCUDA, static_cast<at::DeviceIndex>(run.rank() % static_cast<int>(torch::cuda::device_count())));
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setAllowTF32CuDNN(false);
  return device;
}

}  // namespace

void runTraining(const Run& run) {
  const json& spec = run.spec;
  const std::int64_t steps = spec.at("steps");
  std::vector<std::int64_t> shape{steps, spec.at("world"), spec.at("batch")};
  const at::Tensor targets = load(run.folder / "targets.bin", at::kLong, shape);
  for (const std::int64_t size : spec.at("input")) {
    shape.push_back(size);
  }
  const at::Tensor inputs = load(run.folder / "inputs.bin", at::kFloat, shape);
  nn::Sequential model = buildModel(spec.at("model"));
  if (run.rank() == 0) {  // the others get theirs from rank 0
    torch::NoGradGuard noGrad;
    nn::utils::vector_to_parameters(loadAll(run.folder / "weights.bin", at::kFloat),
                                    model->parameters());
  }
  const at::Device device = deviceOf(run);
  model->to(device);
  ddp::DdpOptions options;
  options.firstBucketMb = spec.at("first_bucket_mb");
  options.bucketCapMb = spec.at("bucket_cap_mb");
  options.gradientAsBucketView = spec.at("view");
  ddp::DistributedDataParallel parallel(model.ptr(), run.group, options);
  torch::optim::SGD optimizer(model->parameters(),
                              torch::optim::SGDOptions(spec.at("learning_rate").get<double>())
                                  .momentum(spec.at("momentum")));
  json result;
  result["initial"] = parallel.plan().indices();
  result["initial_1_9"] = planOf19(parallel, options);
  for (int step = 0; step < steps; ++step) {
    parallel.setStep(static_cast<std::uint32_t>(step));
    const at::Tensor output =
        parallel.run([&] { return model->forward(inputs[step][run.rank()].to(device)); });
    const at::Tensor loss =
        nn::functional::cross_entropy(output, targets[step][run.rank()].to(device));
    optimizer.zero_grad();
    loss.backward();
    parallel.checkFinalized();
    optimizer.step();
    result["losses"].push_back(loss.item<double>());
  }
  result["rebuilt"] = parallel.plan().indices();
  result["weights"] = numbers(model->parameters());
  result["buffers"] = numbers(model->buffers());
  std::ofstream(run.folder / ("lockstep_" + std::to_string(run.rank()) + ".json")) << result;
}

}  // namespace lockstep::conformance
