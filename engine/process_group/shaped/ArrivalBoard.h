#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/posix/Descriptor.h"
#include "engine/base/posix/Mapping.h"
#include "engine/store/Store.h"

namespace lockstep::process_group {

/// Memory that the ranks of one host share: when each of them called its last operations. A
/// transfer starts when the last rank has come, which no rank can tell from its own clock.
/// Without other hosts' entries those ranks count as never late. [any-thread]
class ArrivalBoard {
 public:
  /// Collective over the ranks of `store`: rank 0 makes the memory, the others map it. Returns
  /// null where there is none to share: on another host, or without memory files. Throws
  /// StoreError when rank 0 does not come.
  static std::unique_ptr<ArrivalBoard> open(store::Store& store, const std::string& key, int rank,
                                            int size);
  ArrivalBoard(const ArrivalBoard&) = delete;
  ArrivalBoard& operator=(const ArrivalBoard&) = delete;

  /// Notes that this rank called operation `number` (from 1) at `ns`, CLOCK_MONOTONIC.
  void write(std::uint64_t number, std::int64_t ns);

  /// Returns when `rank` did; nothing when it has not yet, or so long ago that it is overwritten.
  [[nodiscard]] std::optional<std::int64_t> read(int rank, std::uint64_t number) const;

 private:
  struct Slot;
  ArrivalBoard(posix::Descriptor file, posix::Mapping memory, int rank);
  [[nodiscard]] static std::size_t bytesFor(int size);
  [[nodiscard]] Slot& slot(int rank, std::uint64_t number) const;

  const posix::Descriptor file_;  // held open by rank 0, through which the others find the memory
  const posix::Mapping memory_;
  const int rank_;
};

}  // namespace lockstep::process_group
