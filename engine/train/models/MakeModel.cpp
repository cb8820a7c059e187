#include "engine/train/models/MakeModel.h"

#include <c10/util/Exception.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "engine/base/Try.h"
#include "engine/ddp/TensorText.h"
#include "engine/train/models/CharGpt.h"
#include "engine/train/models/Mlp.h"
#include "engine/train/models/Ngram.h"
#include "engine/train/models/PictureModels.h"
#include "engine/train/models/ScriptModel.h"
#include "engine/train/models/ShapesModel.h"

namespace lockstep::train {
namespace {

using ModelResult = base::Result<std::shared_ptr<Model>>;

base::Error misfit(const std::string& key, const std::string& what) {
  return {base::ExitCode::kBadInput, what, key};
}

std::string shapeOf(const DataShape& data) {
  return fmt::format("[{}]", fmt::join(data.sample, ", "));
}

ModelResult makeMlp(const experiment::ModelConfig& config, const DataShape& data) {
  if (config.layers.size() < 2) {
    return misfit("model.layers", "needs at least two sizes: input and classes");
  }
  if (config.layers.front() != data.numel() || data.dtype != c10::kFloat) {
    return misfit("model.layers", fmt::format("the first size is {}, a sample of the data has {} "
                                              "numbers {}; make them equal",
                                              config.layers.front(), data.numel(), shapeOf(data)));
  }
  if (config.layers.back() < data.classes) {
    return misfit("model.layers", fmt::format("the last size is {}, the data have {} classes",
                                              config.layers.back(), data.classes));
  }
  if (config.kind == "branching") {
    return std::shared_ptr<Model>(std::make_shared<Branching>(config.layers));
  }
  std::vector<c10::ScalarType> dtypes;
  for (const std::string& name : config.dtypes) {
    const auto dtype = ddp::floatingType(name);
    if (!dtype || *dtype == c10::kHalf) {
      return misfit("model.dtypes", "no type that a layer computes in on a CPU: " + name);
    }
    dtypes.push_back(*dtype);
  }
  return std::shared_ptr<Model>(std::make_shared<Mlp>(config.layers, dtypes));
}

ModelResult makePictureModel(const experiment::ModelConfig& config, const DataShape& data) {
  if (data.sample.size() != 3 || data.dtype != c10::kFloat) {
    return misfit("model.kind", fmt::format("{} needs pictures, a sample of the data is {}",
                                            config.kind, shapeOf(data)));
  }
  if (config.classes < data.classes) {
    return misfit("model.classes",
                  fmt::format("is {}, the data have {} classes", config.classes, data.classes));
  }
  if (config.kind == "resnet18") {
    return makeResNet18(data.sample[0], config.classes);
  }
  if (data.sample != std::vector<std::int64_t>{1, 28, 28}) {
    return misfit("model.kind", "cnn takes pictures of [1, 28, 28], the data have " +
                                    shapeOf(data) + "; use resnet18");
  }
  return makeCnn(config.classes);
}

ModelResult makeCharGpt(const experiment::ModelConfig& config, const DataShape& data) {
  if (data.dtype != c10::kLong) {
    return misfit("model.kind", "char_gpt learns text; set data.kind = \"text\"");
  }
  if (config.heads < 1 || config.embedding % config.heads != 0) {
    return misfit("model.heads", fmt::format("{} does not divide model.embedding {}", config.heads,
                                             config.embedding));
  }
  CharGpt::Options options;
  options.vocabulary = data.classes;
  options.context = config.context;
  options.embedding = config.embedding;
  options.heads = config.heads;
  options.depth = config.depth;
  options.shareBlocks = config.shareBlocks;
  using Checkpointing = CharGpt::Checkpointing;
  options.checkpointing = config.activationCheckpoint == "reentrant" ? Checkpointing::kReentrant
                          : config.activationCheckpoint == "non_reentrant"
                              ? Checkpointing::kNonReentrant
                              : Checkpointing::kNone;
  return std::shared_ptr<Model>(std::make_shared<CharGpt>(options));
}

ModelResult makeNgram(const experiment::ModelConfig& config, const DataShape& data) {
  if (data.dtype != c10::kLong) {
    return misfit("model.kind", "ngram learns text; set data.kind = \"text\"");
  }
  return std::shared_ptr<Model>(
      std::make_shared<Ngram>(data.classes, config.rows, config.embedding, config.sparse));
}

ModelResult makeDeepLinear(const experiment::ModelConfig& config, const DataShape& data) {
  if (config.width != data.numel() || config.width < data.classes || data.dtype != c10::kFloat) {
    return misfit("model.width",
                  fmt::format("is {}; a sample of the data has {} numbers {} and {} "
                              "classes: width must equal the first and not be less "
                              "than the second",
                              config.width, data.numel(), shapeOf(data), data.classes));
  }
  return std::shared_ptr<Model>(std::make_shared<DeepLinear>(config.width, config.depth));
}

trace::ParametersMessage::Parameter describe(const std::string& name, const at::Tensor& tensor) {
  return {name, tensor.sizes().vec(), ddp::dtypeName(tensor.scalar_type()), tensor.numel(),
          static_cast<std::int64_t>(tensor.nbytes())};
}

nlohmann::json toJson(const trace::ParametersMessage::Parameter& parameter) {
  return {{"name", parameter.name},
          {"shape", parameter.shape},
          {"dtype", parameter.dtype},
          {"numel", parameter.numel},
          {"bytes", parameter.bytes}};
}

}  // namespace

ModelResult makeModel(const experiment::ModelConfig& config, const DataShape& data) {
  if (config.kind == "mlp" || config.kind == "branching") return makeMlp(config, data);
  if (config.kind == "cnn" || config.kind == "resnet18") return makePictureModel(config, data);
  if (config.kind == "char_gpt") return makeCharGpt(config, data);
  if (config.kind == "ngram") return makeNgram(config, data);
  if (config.kind == "deep_linear") return makeDeepLinear(config, data);
  if (config.kind == "torchscript") return loadScriptModel(config.file, data);
  if (config.kind == "shapes") {
    auto layers = LOCKSTEP_TRY(readShapes(config.file));
    try {
      return std::shared_ptr<Model>(std::make_shared<ShapesModel>(std::move(layers)));
    } catch (const c10::Error& error) {  // the allocator's, for more memory than there is
      return base::Error{base::ExitCode::kEnvironment, error.what_without_backtrace(), config.file};
    }
  }
  return misfit("model.kind", "unknown: " + config.kind);
}

trace::ParametersMessage describeParameters(const Model& model) {
  trace::ParametersMessage message;
  for (const auto& parameter : model.named_parameters()) {
    message.parameters.push_back(describe(parameter.key(), parameter.value()));
  }
  return message;
}

std::string describeModelJson(const std::string& kind, const Model& model) {
  nlohmann::json parameters = nlohmann::json::array();
  std::int64_t bytes = 0;
  for (const auto& parameter : describeParameters(model).parameters) {
    parameters.push_back(toJson(parameter));
    bytes += parameter.bytes;
  }
  nlohmann::json buffers = nlohmann::json::array();
  for (const auto& buffer : model.named_buffers()) {
    buffers.push_back(toJson(describe(buffer.key(), buffer.value())));
  }
  return nlohmann::json{
      {"model", kind}, {"parameters", parameters}, {"buffers", buffers}, {"bytes", bytes}}
      .dump(2);
}

}  // namespace lockstep::train
