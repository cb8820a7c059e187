#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/Result.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/base/posix/Mapping.h"

namespace lockstep::process_group::shared_memory {

/// Memory that several processes map: a memfd, which has no name that could be left behind and
/// does not count against a container's /dev/shm. All its pages are reserved when it is made and
/// its size is sealed, so that nobody who touches it gets a SIGBUS. [any-thread]
class Segment {
 public:
  /// Makes one of at least `bytes`, all zero. Those who hold what this returns own the segment,
  /// also against ranks that are threads of this process and have adopted it. The error says how
  /// much was asked for and what stands in the way.
  static base::Result<std::shared_ptr<Segment>> create(std::uint64_t bytes);

  /// Maps a segment that another rank has made; one that this process has made already is
  /// returned as it is. The error says what is wrong with the file.
  static base::Result<std::shared_ptr<Segment>> adopt(posix::Descriptor file, std::uint64_t bytes);

  /// Returns the segment made by this process, and still owned, that holds these bytes; null when
  /// none does.
  static std::shared_ptr<Segment> holding(const void* data, std::uint64_t bytes);

  /// Counts the segments that this process maps.
  static std::size_t count();

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_.data()); }
  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }
  /// Unique among the segments that this process has made.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  /// The file to hand to other processes; -1 for an adopted segment.
  [[nodiscard]] int file() const { return file_.get(); }

  /// Has `told` called with the id when the last owner goes. It must not throw or take long.
  void whenGone(std::function<void(std::uint64_t id)> told);

 private:
  struct Owner;
  Segment() = default;
  base::Status map(std::uint64_t bytes);

  std::uint64_t id_ = 0;
  std::uint64_t inode_ = 0;
  posix::Descriptor file_;
  posix::Mapping memory_;
  std::mutex mutex_;
  std::vector<std::function<void(std::uint64_t)>> told_;
};

}  // namespace lockstep::process_group::shared_memory
