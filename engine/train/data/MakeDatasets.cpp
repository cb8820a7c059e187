#include <algorithm>
#include <functional>

#include "engine/base/Try.h"
#include "engine/train/Resources.h"
#include "engine/train/data/ReadDatasets.h"

namespace lockstep::train {
namespace {

/// Synthetic samples have the shape that the model takes; for a model that takes any shape,
/// MNIST's.
base::Result<DataShape> syntheticShape(const experiment::ModelConfig& model) {
  DataShape shape{{1, 28, 28}, c10::kFloat, 10};
  if (model.kind == "mlp" && model.layers.size() >= 2) {
    shape.sample = {model.layers.front()};
    shape.classes = model.layers.back();
  } else if (model.kind == "deep_linear") {
    shape.sample = {model.width};
    // No more classes than outputs.
    shape.classes = std::min<std::int64_t>(model.width, 10);
  } else if (model.kind == "cnn") {
    shape.classes = model.classes;
  } else if (model.kind == "resnet18") {
    shape = {{3, 32, 32}, c10::kFloat, model.classes};
  } else if (model.kind == "char_gpt" || model.kind == "ngram") {
    return base::Error{base::ExitCode::kBadInput,
                       "synthetic data are numbers, " + model.kind + " learns text; use \"text\"",
                       "data.kind"};
  }
  return shape;
}

base::Result<Datasets> shippedOr(
    const std::string& path, const char* shipped,
    const std::function<base::Result<Datasets>(const std::filesystem::path&)>& read) {
  if (!path.empty()) {
    return read(path);
  }
  const auto found = LOCKSTEP_TRY(resourcePath(shipped));
  return read(found);
}

}  // namespace

base::Result<Datasets> makeDatasets(const experiment::Experiment& experiment) {
  const auto& data = experiment.data;
  if (data.kind == "mnist") {
    return shippedOr(data.folder, "datasets/mnist10k", readMnist);
  }
  if (data.kind == "text") {
    return shippedOr(data.file, "datasets/text/kjv-pentateuch.txt.gz",
                     [&](const std::filesystem::path& file) {
                       return readText(file, experiment.model.context);
                     });
  }
  if (data.kind == "synthetic") {
    const auto shape = LOCKSTEP_TRY(syntheticShape(experiment.model));
    return syntheticDatasets(shape, data.samples, experiment.train.seed);
  }
  return base::Error{base::ExitCode::kBadInput, "unknown: " + data.kind, "data.kind"};
}

base::Result<DataShape> expectedShape(const experiment::Experiment& experiment) {
  if (experiment.data.kind == "synthetic") {
    return syntheticShape(experiment.model);
  }
  if (experiment.data.kind == "mnist") {
    return DataShape{{1, 28, 28}, c10::kFloat, 0};
  }
  const auto sets = LOCKSTEP_TRY(makeDatasets(experiment));
  return sets.train->shape();
}

}  // namespace lockstep::train
