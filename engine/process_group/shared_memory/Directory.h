#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/process_group/shared_memory/Mesh.h"
#include "engine/process_group/shared_memory/Segment.h"

namespace lockstep::process_group::shared_memory {

/// The segments that the ranks of one group use: those of this rank that the others know of, and
/// theirs. [any-thread]
class Directory : public std::enable_shared_from_this<Directory> {
 public:
  explicit Directory(std::shared_ptr<Mesh> mesh) : mesh_(std::move(mesh)) {}

  /// Sends this rank's segment to all others, once. They forget it when it goes.
  void announce(Segment& segment);

  /// Takes what another rank's announce() has sent.
  void learn(int rank, const Message::Header& header, posix::Descriptor file);
  void forget(int rank, std::uint64_t id);
  void forgetAll(int rank);

  /// Returns `bytes` at `offset` of a segment of another rank; null when it is not known (its
  /// announcement may still lie in the socket, and is waited for so long). Throws
  /// std::runtime_error when it cannot be mapped or has no such bytes. What is returned stays
  /// mapped as long as it is held.
  std::shared_ptr<std::byte> find(int rank, std::uint64_t id, std::uint64_t offset,
                                  std::uint64_t bytes, std::chrono::milliseconds patience);

 private:
  struct Known {
    posix::Descriptor file;
    std::uint64_t bytes = 0;
    std::shared_ptr<Segment> segment;  ///< once used
  };

  const std::shared_ptr<Mesh> mesh_;
  std::mutex announceMutex_;  // held while sending: who finds it announced may rely on the order
  std::set<std::uint64_t> announced_;
  std::mutex mutex_;
  std::condition_variable learnt_;
  std::map<std::pair<int, std::uint64_t>, Known> known_;
};

}  // namespace lockstep::process_group::shared_memory
