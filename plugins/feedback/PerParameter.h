#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <lockstep/comm_hook.hpp>

namespace lockstep::plugin {

/// Numbers that a hook keeps for each parameter, by the parameter's id, so that they outlive a
/// rebuild of the buckets.
class PerParameter {
 public:
  /// Those of one parameter, zeros at first.
  std::vector<float>& of(std::uint32_t id, std::size_t size) {
    auto& values = values_[id];
    values.resize(size, 0.0F);
    return values;
  }
  /// Null where nothing has been kept.
  [[nodiscard]] const std::vector<float>* find(std::uint32_t id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? nullptr : &found->second;
  }

  void save(Writer& out) const {
    out.number(static_cast<std::uint64_t>(values_.size()));
    for (const auto& [id, values] : values_) {
      out.number(id);
      out.vector(values);
    }
  }
  void load(Reader& in) {
    values_.clear();
    for (auto count = in.number<std::uint64_t>(); count > 0; --count) {
      const auto id = in.number<std::uint32_t>();
      values_[id] = in.vector<float>();
    }
  }

 private:
  std::map<std::uint32_t, std::vector<float>> values_;
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
