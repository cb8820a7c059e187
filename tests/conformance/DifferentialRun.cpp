// Trains small models a few steps, in many combinations of options; differential.py has PyTorch's
// side and compares.
//
// spec.json        world; combinations: number, model, mode, view, batched, first_bucket_mb,
//                  bucket_cap_mb, accumulate, world, batch, width, learning_rate, steps
// weights_<n>.bin  float64, the initial parameters in registration order
// inputs_<n>.bin   float32 [steps, world, batch, width]
// targets_<n>.bin  int64 [steps, world, batch]
// Writes for each combination and rank lockstep_<n>_<rank>.json (initial, rebuilt, launched) and
// .bin: float64, for each synchronised backward and parameter 1 and its gradient, or 0.

#include <torch/torch.h>

#include <fstream>
#include <stdexcept>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/hooks/AllreduceHook.h"
#include "tests/conformance/Driver.h"

namespace lockstep::conformance {
namespace {

using nlohmann::json;
namespace nn = torch::nn;

constexpr int kClasses = 5;

struct Model : nn::Module {
  virtual at::Tensor forward(at::Tensor x, int branch) = 0;
  nn::Linear linear(const char* name, int inputs, int outputs) {
    return register_module(name, nn::Linear(inputs, outputs));
  }
};

struct Mlp : Model {
  explicit Mlp(int width) : a(linear("a", width, 16)) {}
  at::Tensor forward(at::Tensor x, int) override {
    return d(torch::tanh(c(torch::tanh(b(torch::tanh(a(x)))))));
  }
  nn::Linear a, b = linear("b", 16, 16), c = linear("c", 16, 8), d = linear("d", 8, kClasses);
};

struct Shared : Model {
  explicit Shared(int width) : a(linear("a", width, 16)) {}
  at::Tensor forward(at::Tensor x, int) override {
    x = torch::tanh(a(x));
    for (int i = 0; i < 3; ++i) {
      x = torch::tanh(b(x));
    }
    return d(x);
  }
  nn::Linear a, b = linear("b", 16, 16), d = linear("d", 16, kClasses);
};

struct Mixed : Model {
  explicit Mixed(int width) : a(linear("a", width, 16)) {
    c->to(at::kDouble);
    d->to(at::kDouble);
  }
  at::Tensor forward(at::Tensor x, int) override {
    x = torch::tanh(b(torch::tanh(a(x))));
    return d(torch::tanh(c(x.to(at::kDouble)))).to(at::kFloat);
  }
  nn::Linear a, b = linear("b", 16, 8), c = linear("c", 8, 8), d = linear("d", 8, kClasses);
};

struct Branches : Model {
  explicit Branches(int width) : a(linear("a", width, 16)) {}
  at::Tensor forward(at::Tensor x, int branch) override {
    x = torch::tanh(a(x));
    return d(torch::tanh(branch == 0 ? left(x) : right(x)));
  }
  nn::Linear a, left = linear("left", 16, 8), right = linear("right", 16, 8),
                never = linear("never", 16, 8), d = linear("d", 8, kClasses);
};

std::shared_ptr<Model> build(const std::string& kind, int width) {
  if (kind == "mlp") {
    return std::make_shared<Mlp>(width);
  }
  if (kind == "shared") {
    return std::make_shared<Shared>(width);
  }
  if (kind == "mixed") {
    return std::make_shared<Mixed>(width);
  }
  return std::make_shared<Branches>(width);
}

/// Notes the elements of each bucket in launch order.
class Noting final : public hooks::CommHook {
 public:
  explicit Noting(std::shared_ptr<process_group::ProcessGroup> group)
      : inner_(std::move(group), nullptr) {}
  [[nodiscard]] std::string name() const override { return "noting"; }
  [[nodiscard]] bool takesShares() const override { return inner_.takesShares(); }
  base::Future<at::Tensor> run(hooks::GradBucket& bucket) override {
    launched.push_back(bucket.buffer().numel());
    return inner_.run(bucket);
  }
  std::vector<std::int64_t> launched;

 private:
  hooks::AllreduceHook inner_;
};

void setWeights(Model& model, const at::Tensor& numbers) {
  torch::NoGradGuard noGrad;
  std::int64_t offset = 0;
  for (at::Tensor& parameter : model.parameters()) {
    parameter.copy_(numbers.narrow(0, offset, parameter.numel()).view(parameter.sizes()));
    offset += parameter.numel();
  }
}

void appendGradients(const Model& model, std::vector<double>& out) {
  for (const at::Tensor& parameter : model.parameters()) {
    out.push_back(parameter.grad().defined() ? 1 : 0);
    if (parameter.grad().defined()) {
      append(parameter.grad(), out);
    }
  }
}

void train(const Run& run, const json& spec) {
  const auto& folder = run.folder;
  const auto& group = run.group;
  const int rank = run.rank();
  const auto number = std::to_string(spec.at("number").get<int>());
  const std::int64_t steps = spec.at("steps"), world = spec.at("world"), batch = spec.at("batch");
  const int width = spec.at("width"), every = spec.at("accumulate");
  const bool isStatic = spec.at("mode") == "static", view = spec.at("view");
  const auto inputs =
      load(folder / ("inputs_" + number + ".bin"), at::kFloat, {steps, world, batch, width});
  const auto targets =
      load(folder / ("targets_" + number + ".bin"), at::kLong, {steps, world, batch});
  const auto model = build(spec.at("model"), width);
  if (rank == 0) {  // the others get theirs from rank 0
    setWeights(*model, loadAll(folder / ("weights_" + number + ".bin"), at::kDouble));
  }
  const auto hook = std::make_shared<Noting>(group);
  ddp::DdpOptions options;
  options.firstBucketMb = spec.at("first_bucket_mb");
  options.bucketCapMb = spec.at("bucket_cap_mb");
  options.gradientAsBucketView = view;
  options.batchedGradCopy = spec.at("batched");
  options.findUnusedParameters = spec.at("mode") == "unused";
  options.staticGraph = isStatic;
  options.hook = hook;
  ddp::DistributedDataParallel parallel(model, group, options);
  json result;
  result["initial"] = parallel.plan().indices();
  torch::optim::SGD optimizer(model->parameters(), spec.at("learning_rate").get<double>());
  std::vector<double> gradients;
  const auto backward = [&](std::int64_t step) {
    const int branch = isStatic ? 0 : static_cast<int>((step + rank) % 2);
    const at::Tensor output =
        parallel.run([&] { return model->forward(inputs[step][rank], branch); });
    nn::functional::cross_entropy(output, targets[step][rank]).backward();
  };
  for (std::int64_t step = 0; step < steps; ++step) {
    parallel.setStep(static_cast<std::uint32_t>(step));
    if ((step + 1) % every != 0) {
      const ddp::DistributedDataParallel::NoSync noSync(parallel);
      backward(step);
      continue;
    }
    backward(step);
    parallel.checkFinalized();
    appendGradients(*model, gradients);
    optimizer.step();
    for (at::Tensor& parameter : model->parameters()) {
      if (view && parameter.grad().defined()) {
        parameter.mutable_grad().zero_();
      } else {
        parameter.mutable_grad() = at::Tensor();
      }
    }
  }
  result["rebuilt"] = json::array();
  if (parallel.hasRebuiltBuckets()) {
    result["rebuilt"] = parallel.plan().indices();
  }
  result["launched"] = hook->launched;
  const std::string name = "lockstep_" + number + "_" + std::to_string(rank);
  std::ofstream(folder / (name + ".json")) << result;
  std::ofstream(folder / (name + ".bin"), std::ios::binary)
      .write(reinterpret_cast<const char*>(gradients.data()),
             static_cast<std::streamsize>(gradients.size() * sizeof(double)));
}

}  // namespace

void runDifferential(const Run& run) {
  forEachCombination(run, [&run](const json& combination) { train(run, combination); });
}

}  // namespace lockstep::conformance
