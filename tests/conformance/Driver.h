#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::conformance {

/// What one rank of a run is given. The ranks are threads of one process, or processes, over Gloo
/// and loopback.
struct Run {
  std::filesystem::path folder;  ///< files of the Python side and for it
  const nlohmann::json& spec;    ///< the content of spec.json
  std::shared_ptr<process_group::ProcessGroup> group;
  /// For further groups, with another name each.
  std::shared_ptr<store::Store> store;
  process_group::GroupOptions groupOptions;

  [[nodiscard]] int rank() const { return group->rank(); }
};

// Each kind of run stands in a file of its own, which lists the files it reads and writes.
void runTraining(const Run& run);
void runDifferential(const Run& run);
void runHooks(const Run& run);
void runPartition(const Run& run);

/// Calls `body` with each of the spec's combinations, and names the one that throws.
void forEachCombination(const Run& run,
                        const std::function<void(const nlohmann::json& combination)>& body);

/// Returns what the file holds, which must be these bytes and no more. Throws
/// std::runtime_error.
at::Tensor load(const std::filesystem::path& path, at::ScalarType type,
                const std::vector<std::int64_t>& shape);
/// The same for a file of one dimension and any length.
at::Tensor loadAll(const std::filesystem::path& path, at::ScalarType type);

/// Appends the numbers of a tensor, in row-major order.
void append(const at::Tensor& tensor, std::vector<double>& out);

}  // namespace lockstep::conformance
