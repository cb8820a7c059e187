#include "engine/train/Checkpoint.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <set>

#include "engine/base/ReadNumber.h"
#include "engine/base/Try.h"
#include "engine/base/Xxh64.h"
#include "engine/ddp/TensorText.h"
#include "engine/train/OptimizerState.h"
#include "engine/train/Safetensors.h"

namespace lockstep::train {
namespace {

constexpr const char* kFormat = "lockstep-checkpoint-2";
constexpr const char* kUncheckedFormat = "lockstep-checkpoint-1";
constexpr const char* kChecksum = "checksum";
constexpr std::string_view kHookPrefix = "hook.";

std::string shapeText(at::IntArrayRef sizes, c10::ScalarType dtype) {
  return fmt::format("{} [{}]", ddp::dtypeName(dtype), fmt::join(sizes, ", "));
}
std::string shapeText(const at::Tensor& tensor) {
  return shapeText(tensor.sizes(), tensor.scalar_type());
}

/// Parameters, then buffers.
std::vector<std::pair<std::string, at::Tensor>> stateOf(const torch::nn::Module& model) {
  std::vector<std::pair<std::string, at::Tensor>> state;
  for (const auto& parameter : model.named_parameters()) {
    state.emplace_back(parameter.key(), parameter.value());
  }
  for (const auto& buffer : model.named_buffers()) {
    state.emplace_back(buffer.key(), buffer.value());
  }
  return state;
}

/// Of all that the file holds but the checksum itself: names, texts, dtypes, shapes and bytes.
/// Each text goes in with its length, or ("ab", "c") and ("a", "bc") would have one hash. Maps are
/// in the order of their keys, and so the sum does not depend on the order in the file.
std::string checksumOf(const Safetensors& file) {
  base::Xxh64 hash;
  const auto addText = [&hash](std::string_view text) {
    const std::uint64_t size = text.size();
    hash.update(&size, sizeof size);
    hash.update(text);
  };
  for (const auto& [key, value] : file.metadata) {
    if (key != kChecksum) {
      addText(key);
      addText(value);
    }
  }
  for (const auto& [name, tensor] : file.tensors) {
    addText(name);
    addText(shapeText(tensor));
    const at::Tensor rowMajor = tensor.cpu().contiguous();
    hash.update(rowMajor.data_ptr(), rowMajor.nbytes());
  }
  return fmt::format("{:016x}", hash.digest());
}

base::Result<std::int64_t> numberAt(const Safetensors& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  const auto number =
      found == file.metadata.end() ? std::nullopt : base::readNumber<std::int64_t>(found->second);
  if (number && (*number >= 0 || key == "seed")) {
    return *number;
  }
  return base::Error{base::ExitCode::kBadInput,
                     fmt::format("metadata {} is missing or no whole number", key), ""};
}

/// Checks a checkpoint against what is there before anything is copied.
/// A model that was half overwritten could neither train on nor be loaded again. So the file is
/// checked from end to end first, in this order: format, position, kind of optimizer, every tensor
/// of the model and the optimizer, none left over, checksum; only then does copy() touch anything.
class Loader {
 public:
  Loader(Safetensors file, torch::nn::Module& model, torch::optim::Optimizer& optimizer)
      : file_(std::move(file)), model_(model), optimizer_(optimizer) {}

  base::Result<Position> run() {
    const std::string format = file_.metadata["format"];
    if (format != kFormat && format != kUncheckedFormat) {
      return bad(fmt::format("no checkpoint of Lockstep: metadata format is not {}", kFormat));
    }
    Position position;
    for (const auto& [key, member] :
         {std::pair("step", &Position::step), std::pair("epoch", &Position::epoch),
          std::pair("samples", &Position::samples), std::pair("seed", &Position::seed)}) {
      position.*member = LOCKSTEP_TRY(numberAt(file_, key));
    }
    const std::string kind = optimizerKind(optimizer_);
    if (file_.metadata["optimizer"] != kind) {
      return bad(fmt::format("was written with optimizer.kind = \"{}\", this run has \"{}\"",
                             file_.metadata["optimizer"], kind));
    }
    LOCKSTEP_TRY(checkModel());
    LOCKSTEP_TRY(checkOptimizer(partsOf(kind)));
    for (const auto& [name, tensor] : file_.tensors) {
      if (!known_.contains(name) && !name.starts_with(kHookPrefix)) {
        return bad(
            fmt::format("tensor {}, {}: this model has no such tensor", name, shapeText(tensor)));
      }
    }
    // Last, since the sentences before say more precisely what is wrong with a file of another
    // model.
    if (format == kFormat && file_.metadata[kChecksum] != checksumOf(file_)) {
      return bad(
          "damaged: what stands in it is not what was written (its checksum differs); take an "
          "earlier checkpoint, or train anew");
    }
    copy();
    return position;
  }

 private:
  static base::Error bad(const std::string& what) { return {base::ExitCode::kBadInput, what, ""}; }

  base::Status checkTensor(const std::string& name, at::IntArrayRef shape, c10::ScalarType dtype) {
    known_.insert(name);
    const auto found = file_.tensors.find(name);
    if (found == file_.tensors.end()) {
      return bad(
          fmt::format("tensor {}: expected {}, not in the file", name, shapeText(shape, dtype)));
    }
    if (found->second.sizes() != shape || found->second.scalar_type() != dtype) {
      return bad(fmt::format("tensor {}: expected {}, found {}", name, shapeText(shape, dtype),
                             shapeText(found->second)));
    }
    return {};
  }

  base::Status checkModel() {
    for (const auto& [name, tensor] : stateOf(model_)) {
      LOCKSTEP_TRY(checkTensor("model." + name, tensor.sizes(), tensor.scalar_type()));
    }
    return {};
  }

  base::Status checkOptimizer(const std::vector<std::string>& parts) {
    for (const auto& parameter : model_.named_parameters()) {
      const std::string prefix = "optimizer." + parameter.key() + ".";
      // A parameter without a step so far, or SGD without momentum, has no state.
      // All parts of a parameter, or none.
      const bool any = std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
        return file_.tensors.contains(prefix + part);
      });
      for (std::size_t i = 0; any && i < parts.size(); ++i) {
        const bool isStep = parts[i] == "step";
        const at::IntArrayRef shape = isStep ? at::IntArrayRef{} : parameter.value().sizes();
        LOCKSTEP_TRY(checkTensor(prefix + parts[i], shape,
                                 isStep ? c10::kLong : parameter.value().scalar_type()));
      }
    }
    return {};
  }

  void copy() {
    at::NoGradGuard noGrad;
    const std::string kind = optimizerKind(optimizer_);
    for (auto& [name, tensor] : stateOf(model_)) {
      tensor.copy_(file_.tensors.at("model." + name));
    }
    for (const auto& parameter : model_.named_parameters()) {
      ParameterState state;
      for (const auto& part : partsOf(kind)) {
        if (const auto found = file_.tensors.find("optimizer." + parameter.key() + "." + part);
            found != file_.tensors.end()) {
          // The count of steps is the host's.
          state[part] = part == "step" ? found->second
                                       : found->second.to(parameter.value().device());
        }
      }
      if (!state.empty()) {
        setParameterState(optimizer_, parameter.value(), std::move(state));
      }
    }
  }

  Safetensors file_;
  torch::nn::Module& model_;
  torch::optim::Optimizer& optimizer_;
  std::set<std::string> known_;
};

}  // namespace

base::Status saveCheckpoint(const std::filesystem::path& path, const torch::nn::Module& model,
                            const torch::optim::Optimizer& optimizer, const Position& position,
                            const SavedHook& hook) {
  at::NoGradGuard noGrad;
  Safetensors file;
  for (const auto& [name, tensor] : stateOf(model)) {
    // No copy: these share the model's memory, which does not change while this writes.
    file.tensors["model." + name] = tensor.detach();
  }
  for (const auto& parameter : model.named_parameters()) {
    for (const auto& [part, tensor] : parameterState(optimizer, parameter.value())) {
      if (tensor.defined()) {
        file.tensors["optimizer." + parameter.key() + "." + part] = tensor.detach();
      }
    }
  }
  file.metadata = {{"format", kFormat},
                   {"optimizer", optimizerKind(optimizer)},
                   {"step", std::to_string(position.step)},
                   {"epoch", std::to_string(position.epoch)},
                   {"samples", std::to_string(position.samples)},
                   {"seed", std::to_string(position.seed)}};
  if (!hook.hook.empty()) {
    file.metadata["hook"] = hook.hook;
  }
  for (std::size_t rank = 0; rank < hook.ranks.size(); ++rank) {
    const std::string& bytes = hook.ranks[rank];
    at::Tensor held = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
    std::copy(bytes.begin(), bytes.end(), held.data_ptr<std::uint8_t>());
    file.tensors[fmt::format("{}{}", kHookPrefix, rank)] = std::move(held);
  }
  file.metadata[kChecksum] = checksumOf(file);
  return writeSafetensors(path, file);
}

base::Result<Position> loadCheckpoint(const std::filesystem::path& path, torch::nn::Module& model,
                                      torch::optim::Optimizer& optimizer) {
  auto file = LOCKSTEP_TRY(readSafetensors(path));
  auto position = Loader(std::move(file), model, optimizer).run();
  if (!position.ok()) {
    base::Error error = position.error();
    error.where = path.string();
    return error;
  }
  return position;
}

base::Result<SavedHook> loadSavedHook(const std::filesystem::path& path) {
  auto file = LOCKSTEP_TRY(readSafetensors(path));
  SavedHook states;
  const auto named = file.metadata.find("hook");
  if (named == file.metadata.end()) {
    return states;
  }
  states.hook = named->second;
  const auto& tensors = file.tensors;
  for (auto held = tensors.begin();
       (held = tensors.find(fmt::format("{}{}", kHookPrefix, states.ranks.size()))) !=
       tensors.end();) {
    const at::Tensor& bytes = held->second;
    if (bytes.scalar_type() != at::kByte || bytes.dim() != 1) {
      return base::Error{
          base::ExitCode::kBadInput,
          fmt::format("tensor {}: expected bytes, found {}", held->first, shapeText(bytes)),
          path.string()};
    }
    const auto* data = bytes.data_ptr<std::uint8_t>();
    states.ranks.emplace_back(data, data + bytes.numel());
  }
  return states;
}

}  // namespace lockstep::train
