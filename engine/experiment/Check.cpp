#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <set>

#include "engine/experiment/Parse.h"
#include "engine/experiment/detail/Rules.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment {
namespace detail {
namespace {

namespace fs = std::filesystem;

/// Collects what is broken; one function below for each table.
class Rules {
 public:
  explicit Rules(const Experiment& experiment) : e_(experiment) {}

  std::vector<BrokenRule> all() {
    general();
    model();
    data();
    optimizer();
    train();
    capture();
    return std::move(broken_);
  }

 private:
  void expect(bool holds, std::vector<std::string> keys, std::string text) {
    if (!holds) {
      broken_.push_back({std::move(keys), std::move(text)});
    }
  }

  void expectFile(const std::string& key, const std::string& path) {
    std::error_code ignored;
    if (path.empty()) {
      return;
    }
    expect(fs::exists(path, ignored), {key}, fmt::format("there is no file {}", path));
    expect(!fs::is_directory(path, ignored), {key},
           fmt::format("{} is a folder, not a file", path));
  }

  void general() {
    expect(!e_.name.empty(), {"name"}, "must not be empty");
    expect(e_.name.size() <= 200 &&
               std::none_of(e_.name.begin(), e_.name.end(),
                            [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
           {"name"}, "must be one line of at most 200 characters");
  }

  void model() {
    const ModelConfig& m = e_.model;
    const bool mnist = e_.data.kind == "mnist";
    if (m.kind == "mlp") {
      expect(m.layers.size() >= 2, {"model.layers"}, "needs at least an input and an output width");
      if (mnist && m.layers.size() >= 2) {
        expect(m.layers.front() == 784 && m.layers.back() == 10,
               {"model.layers", "model.kind", "data.kind"},
               fmt::format("on mnist the first width must be 784 and the last 10, not {} and {}",
                           m.layers.front(), m.layers.back()));
      }
    }
    if (m.kind == "cnn" || m.kind == "resnet18") {
      expect(!mnist || m.classes == 10, {"model.classes", "model.kind", "data.kind"},
             fmt::format("must be 10 on mnist, not {}", m.classes));
    }
    if (m.kind == "deep_linear") {
      expect(!mnist || m.width == 784, {"model.width", "model.kind", "data.kind"},
             fmt::format("must be 784 on mnist, not {}; or use data.kind \"synthetic\"", m.width));
    }
    if (m.kind == "char_gpt" && m.heads > 0) {
      expect(m.embedding % m.heads == 0, {"model.embedding", "model.heads"},
             fmt::format("{} does not divide by model.heads = {}", m.embedding, m.heads));
    }
    if (m.kind == "torchscript" || m.kind == "shapes") {
      expect(!m.file.empty(), {"model.file", "model.kind"},
             fmt::format("model.kind \"{}\" needs model.file", m.kind));
      expectFile("model.file", m.file);
    }
  }

  void data() {
    const DataConfig& d = e_.data;
    const std::vector<std::string> takes = dataOf(e_.model.kind);
    expect(std::find(takes.begin(), takes.end(), d.kind) != takes.end(),
           {"data.kind", "model.kind"},
           fmt::format("model.kind \"{}\" takes data.kind {}, not \"{}\"", e_.model.kind,
                       fmt::join(takes, " or "), d.kind));
    std::error_code ignored;
    if (d.kind == "mnist" && !d.folder.empty()) {
      expect(fs::is_directory(d.folder, ignored), {"data.folder"},
             fmt::format("there is no folder {}", d.folder));
    }
    if (d.kind == "text") {
      expectFile("data.file", d.file);
    }
    if (d.kind == "synthetic") {
      expect(
          d.samples >= e_.processes.worldSize, {"data.samples", "processes.world_size"},
          fmt::format("{} samples are fewer than the {} ranks", d.samples, e_.processes.worldSize));
    }
  }

  static std::vector<std::string> dataOf(const std::string& model) {
    if (model == "char_gpt") {
      return {"text"};
    }
    if (model == "shapes") {
      return {"synthetic"};
    }
    if (model == "torchscript") {
      return {"mnist", "text", "synthetic"};
    }
    return {"mnist", "synthetic"};
  }

  void optimizer() {
    const OptimizerConfig& o = e_.optimizer;
    if (o.kind == "sgd" && o.nesterov) {
      expect(o.momentum > 0, {"optimizer.nesterov", "optimizer.momentum"},
             "needs optimizer.momentum above 0");
      expect(o.dampening == 0, {"optimizer.nesterov", "optimizer.dampening"},
             "needs optimizer.dampening = 0");
    }
  }

  void train() {
    const TrainConfig& t = e_.train;
    expect(t.steps || t.epochs, {"train.steps", "train.epochs"},
           "missing: write either train.steps or train.epochs");
    expect(!(t.steps && t.epochs), {"train.epochs", "train.steps"},
           "write either train.steps or train.epochs, not both");
    expect(t.checkpointEvery == 0 || !t.checkpoint.empty(),
           {"train.checkpoint_every", "train.checkpoint"},
           "needs train.checkpoint, the file to write");
    expectFile("train.resume_from", t.resumeFrom);
    if (!t.checkpoint.empty()) {
      std::error_code ignored;
      const fs::path folder = fs::absolute(t.checkpoint, ignored).parent_path();
      expect(fs::is_directory(folder, ignored), {"train.checkpoint"},
             fmt::format("there is no folder {} to write it to", folder.string()));
      expect(!fs::is_directory(t.checkpoint, ignored), {"train.checkpoint"},
             fmt::format("{} is a folder, not a file", t.checkpoint));
    }
  }

  void capture() {
    const auto events = static_cast<std::uint64_t>(e_.capture.ringEvents);
    expect(
        std::has_single_bit(events), {"capture.ring_events"},
        fmt::format("must be a power of two such as {}, not {}", std::bit_floor(events), events));
  }

  const Experiment& e_;
  std::vector<BrokenRule> broken_;
};

}  // namespace

std::vector<BrokenRule> brokenRules(const Experiment& experiment) {
  return Rules(experiment).all();
}

}  // namespace detail

std::vector<Mistake> check(const Experiment& experiment, const std::string& name) {
  std::vector<Mistake> mistakes;
  std::set<std::string> wrong;
  for (const detail::Row& row : detail::rows()) {
    const auto value = detail::read(row, experiment);
    if (!value || !applies(row.field, experiment)) {
      continue;
    }
    if (auto text = detail::violation(row.field, *value)) {
      mistakes.push_back({name, 0, 0, row.field.key, std::move(*text)});
      wrong.insert(row.field.key);
    }
  }
  for (auto& rule : detail::brokenRules(experiment)) {
    if (std::none_of(rule.keys.begin(), rule.keys.end(),
                     [&wrong](const std::string& key) { return wrong.contains(key); })) {
      mistakes.push_back({name, 0, 0, rule.keys.front(), std::move(rule.text)});
    }
  }
  return mistakes;
}

}  // namespace lockstep::experiment
