#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/comm_hook.hpp>

namespace lockstep::plugin {

/// Numbers that a hook keeps for each parameter, by the parameter's id, so that they outlive a
/// rebuild of the buckets: on the CPU, or where the gradients lie. Saved they are the same.
class PerParameter {
 public:
  /// Those of one parameter, zeros at first.
  std::vector<float>& of(std::uint32_t id, std::size_t size) {
    auto& values = kept_[id].values;
    values.resize(size, 0.0F);
    return values;
  }
  /// The same on the device of `like`; `math` is null for the CPU.
  lockstep_buffer of(std::uint32_t id, std::size_t size, const lockstep_buffer& like,
                     const Math* math) {
    if (math == nullptr) {
      return bufferOf(std::span(of(id, size)));
    }
    Kept& kept = kept_[id];
    if (!kept.onDevice || sizeOf(kept) != size) {
      Memory memory(*math, like, static_cast<std::int64_t>(size));
      std::vector<float> before = valuesOf(kept);  // of a checkpoint, or of another length
      const std::size_t known = std::min(before.size(), size);
      math->copy(bufferOf(std::span(before.data(), known)),
                 part(memory.buffer(), 0, static_cast<std::int64_t>(known)));
      kept = {{}, std::move(memory), *math};
    }
    return kept.onDevice->buffer();
  }
  /// Null where nothing has been kept on the CPU.
  [[nodiscard]] const std::vector<float>* find(std::uint32_t id) const {
    const auto found = kept_.find(id);
    return found == kept_.end() ? nullptr : &found->second.values;
  }
  /// How many numbers are kept for a parameter.
  [[nodiscard]] std::size_t sizeOf(std::uint32_t id) const {
    const auto found = kept_.find(id);
    return found == kept_.end() ? 0 : sizeOf(found->second);
  }

  void save(Writer& out) const {
    out.number(static_cast<std::uint64_t>(kept_.size()));
    for (const auto& [id, kept] : kept_) {
      out.number(id);
      out.vector(valuesOf(kept));
    }
  }
  void load(Reader& in) {
    kept_.clear();
    for (auto count = in.number<std::uint64_t>(); count > 0; --count) {
      const auto id = in.number<std::uint32_t>();
      kept_[id].values = in.vector<float>();
    }
  }

 private:
  struct Kept {
    std::vector<float> values;
    std::optional<Memory> onDevice;  // in place of them
    std::optional<Math> math;
  };
  static std::size_t sizeOf(const Kept& kept) {
    return kept.onDevice ? static_cast<std::size_t>(kept.onDevice->buffer().numel)
                         : kept.values.size();
  }
  static std::vector<float> valuesOf(const Kept& kept) {
    std::vector<float> values(kept.values);
    if (kept.onDevice) {
      values.resize(sizeOf(kept));
      kept.math->copy(kept.onDevice->buffer(), bufferOf(std::span(values)));
    }
    return values;
  }

  std::map<std::uint32_t, Kept> kept_;
};

/// What belongs to one rank's data or shard cannot be shared out among another number of ranks.
inline void saveWorld(Writer& out, const Host& host) {
  out.number(host.size());
}
inline void requireSameWorld(Reader& in, const Host& host) {
  if (const int saved = in.number<int>(); saved != host.size()) {
    throw Error(LOCKSTEP_E_STATE, "its state was saved on " + std::to_string(saved) +
                                      " ranks and there are " + std::to_string(host.size()) +
                                      " now");
  }
}

}  // namespace lockstep::plugin
