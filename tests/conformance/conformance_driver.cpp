// Lockstep's side of the conformance test; conformance.py has PyTorch's side and compares.
//
// usage: conformance_driver FOLDER, with in it
//   spec.json    model, world, view, steps, batch, input, first_bucket_mb, bucket_cap_mb,
//                learning_rate, momentum
//   weights.bin  float32, the initial parameters in registration order
//   inputs.bin   float32 [steps, world, batch, *input]
//   targets.bin  int64 [steps, world, batch]
// Writes lockstep_<rank>.json: losses, weights, buffers, initial, initial_1_9, rebuilt.
// The ranks are threads of this process over Gloo and loopback.

#include <torch/torch.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "engine/buckets/Assign.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/TensorText.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/HashStore.h"

namespace {

using nlohmann::json;
namespace ddp = lockstep::ddp;
namespace nn = torch::nn;

struct Job {
  std::filesystem::path folder;
  json spec;
  at::Tensor weights, inputs, targets;
};

at::Tensor load(const std::filesystem::path& path, at::ScalarType type,
                const std::vector<std::int64_t>& shape) {
  at::Tensor tensor = at::empty(shape, type);
  const auto bytes = static_cast<std::streamsize>(tensor.nbytes());
  std::ifstream file(path, std::ios::binary);
  if (!file.read(static_cast<char*>(tensor.data_ptr()), bytes) ||
      file.peek() != std::ifstream::traits_type::eof()) {
    throw std::runtime_error(path.string() + ": does not hold " + std::to_string(bytes) +
                             " bytes, or cannot be read");
  }
  return tensor;
}

Job readJob(const std::filesystem::path& folder) {
  Job job{folder, json::parse(std::ifstream(folder / "spec.json")), {}, {}, {}};
  const auto floats =
      static_cast<std::int64_t>(std::filesystem::file_size(folder / "weights.bin") / 4);
  job.weights = load(folder / "weights.bin", at::kFloat, {floats});
  std::vector<std::int64_t> shape{job.spec.at("steps"), job.spec.at("world"), job.spec.at("batch")};
  job.targets = load(folder / "targets.bin", at::kLong, shape);
  for (const std::int64_t size : job.spec.at("input")) {
    shape.push_back(size);
  }
  job.inputs = load(folder / "inputs.bin", at::kFloat, shape);
  return job;
}

nn::Sequential build(const std::string& kind) {
  if (kind == "mlp") {
    return nn::Sequential(nn::Linear(64, 96), nn::ReLU(), nn::Linear(96, 64), nn::ReLU(),
                          nn::Linear(64, 48), nn::ReLU(), nn::Linear(48, 10));
  }
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 6, 3)), nn::BatchNorm2d(6), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(6, 16, 3)), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Flatten(), nn::Linear(64, 48), nn::ReLU(),
                        nn::Linear(48, 10));
}

std::vector<double> numbers(const std::vector<at::Tensor>& tensors) {
  std::vector<double> list;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor flat = tensor.detach().to(at::kDouble).reshape({-1}).contiguous();
    list.insert(list.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  }
  return list;
}

std::vector<std::vector<std::uint32_t>> planOf19(const ddp::DistributedDataParallel& model,
                                                 const ddp::DdpOptions& options) {
  std::vector<lockstep::buckets::TensorSpec> specs;
  for (const auto& parameter : model.parameters()) {
    specs.push_back(
        {parameter.tensor.nbytes(), ddp::dtypeName(parameter.tensor.scalar_type()), "cpu"});
  }
  return lockstep::buckets::planConstruction(
             specs, lockstep::buckets::BucketRule::kC10d19,
             {lockstep::buckets::capBytes(options.config.firstBucketMb).value(),
              lockstep::buckets::capBytes(options.config.bucketCapMb).value()})
      .indices();
}

std::shared_ptr<lockstep::process_group::ProcessGroup> meet(
    const std::shared_ptr<lockstep::store::Store>& store, int rank, int world) {
  lockstep::process_group::GroupOptions options;
  options.timeout = std::chrono::seconds(30);
  options.interfaces = {"127.0.0.1"};
  auto group = lockstep::process_group::makeProcessGroup("gloo", store, rank, world, options);
  if (!group.ok()) {
    throw std::runtime_error(group.error().message());
  }
  return group.value();
}

void trainRank(const Job& job, int rank, const std::shared_ptr<lockstep::store::Store>& store) {
  const auto group = meet(store, rank, job.spec.at("world"));
  nn::Sequential model = build(job.spec.at("model"));
  if (rank == 0) {  // the others get theirs from rank 0
    torch::NoGradGuard noGrad;
    nn::utils::vector_to_parameters(job.weights.clone(), model->parameters());
  }
  ddp::DdpOptions options;
  options.config.firstBucketMb = job.spec.at("first_bucket_mb");
  options.config.bucketCapMb = job.spec.at("bucket_cap_mb");
  options.config.gradientAsBucketView = job.spec.at("view");
  ddp::DistributedDataParallel parallel(model.ptr(), group, options);
  torch::optim::SGD optimizer(model->parameters(),
                              torch::optim::SGDOptions(job.spec.at("learning_rate").get<double>())
                                  .momentum(job.spec.at("momentum")));
  json result;
  result["initial"] = parallel.plan().indices();
  result["initial_1_9"] = planOf19(parallel, options);
  const int steps = job.spec.at("steps");
  for (int step = 0; step < steps; ++step) {
    parallel.setStep(static_cast<std::uint32_t>(step));
    const at::Tensor output = parallel.run([&] { return model->forward(job.inputs[step][rank]); });
    const at::Tensor loss = nn::functional::cross_entropy(output, job.targets[step][rank]);
    optimizer.zero_grad();
    loss.backward();
    parallel.checkFinalized();
    optimizer.step();
    result["losses"].push_back(loss.item<double>());
  }
  result["rebuilt"] = parallel.plan().indices();
  result["weights"] = numbers(model->parameters());
  result["buffers"] = numbers(model->buffers());
  std::ofstream(job.folder / ("lockstep_" + std::to_string(rank) + ".json")) << result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: conformance_driver FOLDER\n";
    return 2;
  }
  at::set_num_threads(1);
  at::manual_seed(0);  // before any thread draws
  std::mutex mutex;
  bool failed = false;
  const auto report = [&](const std::string& who, const std::exception& error) {
    std::lock_guard lock(mutex);
    std::cerr << "conformance_driver: " << who << error.what() << '\n';
    failed = true;
  };
  try {
    const Job job = readJob(argv[1]);
    const auto store = std::make_shared<lockstep::store::HashStore>();
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < job.spec.at("world"); ++rank) {
      ranks.emplace_back([&, rank] {
        try {
          trainRank(job, rank, store);
        } catch (const std::exception& error) {
          report("rank " + std::to_string(rank) + ": ", error);
        }
      });
    }
    for (std::thread& thread : ranks) {
      thread.join();
    }
  } catch (const std::exception& error) {
    report("", error);
  }
  return failed ? 1 : 0;
}
