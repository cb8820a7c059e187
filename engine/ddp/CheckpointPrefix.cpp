#include "engine/ddp/CheckpointPrefix.h"

#include <fmt/format.h>

#include "engine/ddp/DdpError.h"

namespace lockstep::ddp {

StateDict withPrefix(const StateDict& state, std::string_view prefix) {
  StateDict prefixed;
  for (const auto& [key, tensor] : state) {
    prefixed.emplace(std::string(prefix) + key, tensor);
  }
  return prefixed;
}

StateDict withoutPrefix(const StateDict& state, std::string_view prefix) {
  StateDict stripped;
  for (const auto& [key, tensor] : state) {
    const std::string rest =
        std::string_view(key).starts_with(prefix) ? key.substr(prefix.size()) : key;
    if (!stripped.emplace(rest, tensor).second) {
      throw DdpError(fmt::format(
          "the state has both '{0}' and '{1}{0}', which are one key without the prefix '{1}'; "
          "remove one of them",
          rest, prefix));
    }
  }
  return stripped;
}

}  // namespace lockstep::ddp
