#include "engine/train/models/ScriptModel.h"

#include <c10/util/Exception.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <unordered_set>

#include "engine/base/PlainText.h"
#include "engine/train/models/DottedNames.h"

namespace lockstep::train {
namespace {

base::Error badFile(const std::filesystem::path& file, const std::string& what) {
  return {base::ExitCode::kBadInput, "model.file: " + what, file.string()};
}

std::string firstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

class ScriptModel : public Model {
 public:
  explicit ScriptModel(torch::jit::Module script) : script_(std::move(script)) {
    std::unordered_set<const c10::TensorImpl*> seen;
    for (const auto& parameter : script_.named_parameters(/*recurse=*/true)) {
      // A tensor that the script has under two names is one parameter to DDP.
      if (seen.insert(parameter.value.unsafeGetTensorImpl()).second) {
        registerParameterAt(*this, parameter.name, parameter.value);
      }
    }
    for (const auto& buffer : script_.named_buffers(/*recurse=*/true)) {
      if (seen.insert(buffer.value.unsafeGetTensorImpl()).second) {
        registerBufferAt(*this, buffer.name, buffer.value);
      }
    }
  }

  at::Tensor forward(at::Tensor input) override {
    const c10::IValue output = script_.forward({std::move(input)});
    TORCH_CHECK(output.isTensor(), "the script returns a ", output.tagKind(),
                " where logits, a tensor, are needed");
    return output.toTensor();
  }

  void train(bool on = true) override {
    // The script's own modules are not this one's children.
    script_.train(on);
    Model::train(on);
  }

 private:
  torch::jit::Module script_;
};

std::string shapeText(at::IntArrayRef sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

}  // namespace

base::Result<std::shared_ptr<Model>> loadScriptModel(const std::filesystem::path& file,
                                                     const DataShape& data) {
  if (!std::filesystem::is_regular_file(file)) {
    return badFile(file, "no such file; save a model with torch.jit.script(model).save(path)");
  }
  std::shared_ptr<ScriptModel> model;
  try {
    model = std::make_shared<ScriptModel>(torch::jit::load(file.string(), c10::kCPU));
  } catch (const c10::Error& error) {
    return badFile(file, "not a TorchScript file of this libtorch: " +
                             firstLine(error.what_without_backtrace()));
  }
  std::vector<std::int64_t> one{1};
  one.insert(one.end(), data.sample.begin(), data.sample.end());
  try {
    at::NoGradGuard noGrad;
    model->eval();
    // One sample of zeros, in evaluation mode: a batch of one would spoil the statistics of a batch
    // norm.
    const at::Tensor output = model->forward(at::zeros(one, data.dtype));
    model->train();
    const auto& last = output.dim() > 1 ? output.size(-1) : 0;
    if (!output.is_floating_point() || output.dim() < 2 || last < data.classes) {
      return badFile(file, fmt::format("gives {} {} for an input {}; the data need logits [1, ..., "
                                       "{}] or wider, float",
                                       c10::toString(output.scalar_type()),
                                       shapeText(output.sizes()), shapeText(one), data.classes));
    }
  } catch (const std::exception& error) {
    const auto* torchError = dynamic_cast<const c10::Error*>(&error);
    // TorchScript's errors carry a trace of the script; what matters is its last line.
    return badFile(file,
                   fmt::format("does not take an input {}: {}", shapeText(one),
                               base::lastLine(torchError ? torchError->what_without_backtrace()
                                                         : error.what())));
  }
  return std::shared_ptr<Model>(std::move(model));
}

}  // namespace lockstep::train
