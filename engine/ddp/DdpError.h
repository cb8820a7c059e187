#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::ddp {

/// A model or a training loop that cannot be trained data-parallel as it is: replicas that
/// differ, a parameter without a gradient, a gradient that came twice. The text is one line:
/// what, on which rank, which parameters, what to do. Thrown from the constructor, from a
/// forward, or through autograd; caught once, in app/rank.
class DdpError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  DdpError(const std::string& text, std::vector<int> culprits)
      : std::runtime_error(text), culprits_(std::move(culprits)) {}

  /// Where ranks differ: those that differ from most, all where there is no majority.
  [[nodiscard]] const std::vector<int>& culprits() const { return culprits_; }

 private:
  std::vector<int> culprits_;
};

}  // namespace lockstep::ddp
