#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "engine/train/models/ShapesModel.h"

namespace lockstep::train {
namespace {

using Json = nlohmann::json;

std::optional<c10::ScalarType> dtypeOf(const std::string& name) {
  if (name == "float32") return c10::kFloat;
  if (name == "float64") return c10::kDouble;
  if (name == "float16") return c10::kHalf;
  if (name == "bfloat16") return c10::kBFloat16;
  return std::nullopt;
}

/// Fills `layer` from `json`; returns what is wrong, or an empty text.
std::string readLayer(const Json& json, ShapedLayer& layer) {
  if (!json.is_object()) {
    return "is no object";
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "name") {
      if (!value.is_string()) return "name is no text";
      layer.name = value.get<std::string>();
    } else if (key == "shape") {
      if (!value.is_array()) return "shape is no list of whole numbers";
      std::int64_t numel = 1;
      for (const auto& size : value) {
        if (!size.is_number_integer() || size.get<std::int64_t>() < 1) {
          return fmt::format("shape has {}; sizes are whole numbers from 1", size.dump());
        }
        layer.shape.push_back(size.get<std::int64_t>());
        if (__builtin_mul_overflow(numel, layer.shape.back(), &numel) || numel > (1ll << 40)) {
          return "shape has more than 2^40 elements";
        }
      }
    } else if (key == "dtype") {
      const auto dtype = value.is_string() ? dtypeOf(value.get<std::string>()) : std::nullopt;
      if (!dtype) {
        return fmt::format("dtype is {}; allowed: float32, float64, float16, bfloat16",
                           value.dump());
      }
      layer.dtype = *dtype;
    } else if (key == "forward_us" || key == "backward_us") {
      const double time = value.is_number() ? value.get<double>() : -1;
      if (!(time >= 0 && time <= 6e7)) {
        return fmt::format("{} is {}; a time in microseconds, 0 to 60,000,000", key, value.dump());
      }
      (key == "forward_us" ? layer.forwardUs : layer.backwardUs) = time;
    } else {
      return fmt::format("unknown member {}; known: name, shape, dtype, forward_us, backward_us",
                         key);
    }
  }
  if (layer.name.empty() || layer.name.front() == '.' || layer.name.back() == '.' ||
      layer.name.find("..") != std::string::npos) {
    return fmt::format("name is \"{}\"; a parameter's name, such as fc.weight", layer.name);
  }
  return json.contains("shape") ? "" : "shape is missing";
}

}  // namespace

base::Result<std::vector<ShapedLayer>> readShapes(const std::filesystem::path& file) {
  const auto bad = [&](const std::string& what) {
    return base::Error{base::ExitCode::kBadInput, "model.file: " + what, file.string()};
  };
  std::ifstream stream(file);
  if (!stream) {
    return bad("cannot be read; a JSON file {\"layers\": [...]} is needed");
  }
  Json root;
  try {
    root = Json::parse(stream);
  } catch (const Json::parse_error& error) {
    return bad(fmt::format("not JSON at byte {}", error.byte));
  }
  if (!root.is_object() || !root.contains("layers") || !root["layers"].is_array() ||
      root["layers"].empty()) {
    return bad("needs a member \"layers\", a list with at least one layer");
  }
  std::vector<ShapedLayer> layers;
  std::set<std::string> names;
  for (const auto& json : root["layers"]) {
    ShapedLayer layer;
    if (const std::string wrong = readLayer(json, layer); !wrong.empty()) {
      return bad(fmt::format("layers[{}]: {}", layers.size(), wrong));
    }
    // A name is a parameter or a module, never both: "a" and "a.b" cannot stand together.
    // The set is sorted: the first name not below is this one itself, or one that begins with it,
    // if any does. Names that are a beginning of this one are asked for dot by dot.
    const auto next = names.lower_bound(layer.name);
    bool clashes =
        next != names.end() && (*next == layer.name || next->starts_with(layer.name + "."));
    for (std::size_t dot = 0; (dot = layer.name.find('.', dot)) != std::string::npos; ++dot) {
      clashes = clashes || names.contains(layer.name.substr(0, dot));
    }
    if (clashes) {
      return bad(fmt::format("layers[{}]: the name {} is taken by an earlier layer", layers.size(),
                             layer.name));
    }
    names.insert(layer.name);
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace lockstep::train
