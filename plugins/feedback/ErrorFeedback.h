#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <lockstep/comm_hook.hpp>

#include "plugins/kernels/Kernels.h"

namespace lockstep::plugin {

/// What compression left out of each parameter's gradients so far, to be added to the next ones.
/// By parameter, so that it outlives a rebuild of the buckets. All that compression loses is sent
/// sooner or later: sum of updates + mean of residuals = sum of mean gradients.
class ErrorFeedback {
 public:
  /// Adds the residuals to the gradients of a bucket.
  void addTo(const Bucket& bucket) {
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      const auto gradient = bucket.gradient(i);
      const auto& residual = of(bucket.id(i), gradient.size());
      kernels::kernels().add(gradient.data(), residual.data(), gradient.size());
    }
  }

  /// The residual of one parameter, zeros at first.
  std::vector<float>& of(std::uint32_t id, std::size_t size) {
    auto& residual = residuals_[id];
    residual.resize(size, 0.0F);
    return residual;
  }

  void save(Writer& out) const {
    out.number(static_cast<std::uint64_t>(residuals_.size()));
    for (const auto& [id, residual] : residuals_) {
      out.number(id);
      out.vector(residual);
    }
  }
  void load(Reader& in) {
    residuals_.clear();
    for (auto count = in.number<std::uint64_t>(); count > 0; --count) {
      const auto id = in.number<std::uint32_t>();
      residuals_[id] = in.vector<float>();
    }
  }

 private:
  std::map<std::uint32_t, std::vector<float>> residuals_;
};

/// A residual belongs to one rank's data: it cannot be shared out among another number of ranks.
inline void requireSameWorld(int saved, int now) {
  if (saved != now) {
    throw Error(LOCKSTEP_E_STATE, "its state was saved on " + std::to_string(saved) +
                                      " ranks and there are " + std::to_string(now) + " now");
  }
}

}  // namespace lockstep::plugin
