#include <ATen/ATen.h>
#include <ATen/ops/batch_norm_native.h>
#include <fmt/format.h>
#include <torch/library.h>
#include <torch/nn/functional/instancenorm.h>  // modules/instancenorm.h needs it
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/instancenorm.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/SyncBatchNorm.h"

namespace lockstep::ddp {

namespace {

/// The converted layers of this process, each by its weight (or running mean). One table for the
/// whole process, since libtorch's table of operators, which leads here, is one. Two ranks that are
/// threads of one process have different tensors, and do not meet in it.
class Converted {
 public:
  static Converted& table() {
    static Converted instance;
    return instance;
  }

  bool add(const at::Tensor& key, std::shared_ptr<BatchNormExchange> exchange) {
    std::lock_guard lock(mutex_);
    return exchanges_.emplace(key.unsafeGetTensorImpl(), std::move(exchange)).second;
  }

  void remove(const at::Tensor& key) {
    std::lock_guard lock(mutex_);
    exchanges_.erase(key.unsafeGetTensorImpl());
  }

  std::shared_ptr<BatchNormExchange> find(const at::Tensor& key) {
    std::lock_guard lock(mutex_);
    const auto found = exchanges_.find(key.unsafeGetTensorImpl());
    return found == exchanges_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const c10::TensorImpl*, std::shared_ptr<BatchNormExchange>> exchanges_;
};

/// Takes the place of aten::batch_norm in front of autograd.
at::Tensor batchNorm(const at::Tensor& input, const c10::optional<at::Tensor>& weight,
                     const c10::optional<at::Tensor>& bias,
                     const c10::optional<at::Tensor>& runningMean,
                     const c10::optional<at::Tensor>& runningVar, bool training, double momentum,
                     double eps, bool cudnnEnabled) {
  if (training) {
    const auto orNone = [](const c10::optional<at::Tensor>& tensor) {
      return tensor.has_value() ? *tensor : at::Tensor();
    };
    const at::Tensor ownWeight = orNone(weight);
    const at::Tensor ownMean = orNone(runningMean);
    const at::Tensor& key = ownWeight.defined() ? ownWeight : ownMean;
    if (auto exchange = key.defined() ? Converted::table().find(key) : nullptr) {
      return syncBatchNorm(input, ownWeight, orNone(bias),
                           {ownMean, orNone(runningVar), momentum, eps}, std::move(exchange));
    }
  }
  // The native function and not at::batch_norm(): that would dispatch to here again.
  return at::native::batch_norm(input, weight, bias, runningMean, runningVar, training, momentum,
                                eps, cudnnEnabled);
}

/// Registers batchNorm once; a process that converts nothing keeps libtorch's own.
void interceptBatchNorm() {
  static const auto libraries = [] {
    std::vector<torch::Library> made;
    for (const auto key : {c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA}) {
      made.emplace_back(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
      made.back().impl("batch_norm", TORCH_FN(batchNorm));
    }
    return made;
  }();
  static_cast<void>(libraries);
}

template <typename Layer>
bool keyOf(const torch::nn::Module& module, at::Tensor& key) {
  const auto* layer = dynamic_cast<const Layer*>(&module);
  if (layer == nullptr) {
    return false;
  }
  key = layer->weight.defined() ? layer->weight : layer->running_mean;
  return true;
}

/// The tensor by which calls of a batch normalisation are known; false for any other layer.
bool keyOf(const torch::nn::Module& layer, at::Tensor& key) {
  return keyOf<torch::nn::BatchNorm1dImpl>(layer, key) ||
         keyOf<torch::nn::BatchNorm2dImpl>(layer, key) ||
         keyOf<torch::nn::BatchNorm3dImpl>(layer, key);
}

template <typename... Layers>
bool isOneOf(const torch::nn::Module& module) {
  return ((dynamic_cast<const Layers*>(&module) != nullptr) || ...);
}

/// A layer with running statistics that is no C++ batch normalisation normalises where no
/// conversion reaches it: a TorchScript module, or a layer of the user's own.
void refuseUnreachable(const std::string& name, const torch::nn::Module& layer) {
  namespace nn = torch::nn;
  if (layer.named_buffers(/*recurse=*/false).contains("running_mean") &&
      !isOneOf<nn::InstanceNorm1dImpl, nn::InstanceNorm2dImpl, nn::InstanceNorm3dImpl>(layer)) {
    throw DdpError(fmt::format(
        "layer '{}' keeps running statistics and is no torch::nn::BatchNorm (as in a TorchScript "
        "model): it would go on normalising by this rank's batches alone. Build the model in C++, "
        "or train it without synchronised batch normalisation",
        name));
  }
}

}  // namespace

SyncBatchNorm::~SyncBatchNorm() {
  for (const at::Tensor& key : keys_) {
    Converted::table().remove(key);
  }
}

std::unique_ptr<SyncBatchNorm> convertSyncBatchNorm(
    torch::nn::Module& module, std::shared_ptr<process_group::ProcessGroup> group,
    trace::Tracer* tracer) {
  interceptBatchNorm();
  std::unique_ptr<SyncBatchNorm> converted(
      new SyncBatchNorm(std::make_shared<BatchNormExchange>(std::move(group), tracer)));
  const auto visit = [&](const std::string& name, const torch::nn::Module& layer) {
    at::Tensor key;
    if (!keyOf(layer, key)) {
      refuseUnreachable(name, layer);
      return;
    }
    if (!key.defined()) {
      throw DdpError(fmt::format(
          "layer '{}' has neither weights nor running statistics, so that its calls cannot be "
          "told from others'; make it affine, or call syncBatchNorm in its place",
          name));
    }
    if (!Converted::table().add(key, converted->exchange_)) {
      throw DdpError(fmt::format("layer '{}' synchronises already", name));
    }
    converted->keys_.push_back(key);
    converted->layers_.push_back(name);
  };
  visit("", module);
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    visit(item.key(), *item.value());
  }
  return converted;
}

bool hasSyncBatchNorm(const torch::nn::Module& module) {
  const auto layers = module.modules(/*include_self=*/false);
  const auto synchronises = [](const torch::nn::Module& layer) {
    at::Tensor key;
    return keyOf(layer, key) && key.defined() && Converted::table().find(key) != nullptr;
  };
  return synchronises(module) || std::any_of(layers.begin(), layers.end(), [&](const auto& layer) {
           return synchronises(*layer);
         });
}

}  // namespace lockstep::ddp
