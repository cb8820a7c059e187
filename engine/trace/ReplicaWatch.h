#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/trace/Messages.h"

namespace lockstep::trace {

/// Notices, while a run goes on, that replicas no longer hold the same bits.
class ReplicaWatch {
 public:
  explicit ReplicaWatch(std::size_t ranks) : ranks_(ranks) {}

  struct Difference {
    std::uint32_t step = 0;
    int rank = 0;               ///< the first outside the largest class
    std::size_t parameter = 0;  ///< the first that differs
    std::string text;           ///< a sentence for the Problems list
  };

  /// The parameters' names; without them they are called by index.
  void setNames(const ParametersMessage& parameters);
  /// The hook that the run has and that does not say that its replicas drift.
  void setPlugin(std::string hook) { plugin_ = std::move(hook); }
  [[nodiscard]] std::string nameOf(std::size_t parameter) const;

  /// Takes one rank's sample. Returns the first difference once all ranks' samples of its step
  /// are there, and nothing ever after.
  std::optional<Difference> add(int rank, const FingerprintMessage& sample);

 private:
  using Samples = std::map<int, std::vector<std::uint64_t>>;  // hashes by rank

  [[nodiscard]] std::optional<Difference> compare(std::uint32_t step, const Samples& samples) const;

  const std::size_t ranks_;
  std::vector<std::string> names_;
  std::string plugin_;                        // empty: there is none
  std::map<std::uint32_t, Samples> waiting_;  // by step
  std::optional<std::uint32_t> lastEqual_;
  bool differed_ = false;
};

}  // namespace lockstep::trace
