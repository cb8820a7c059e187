#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/base/posix/EventLoop.h"
#include "engine/experiment/Experiment.h"
#include "engine/launch/Supervisor.h"
#include "engine/launch/detail/JobParts.h"
#include "engine/launch/detail/Ranks.h"
#include "engine/launch/detail/Supervision.h"

namespace lockstep::launch::detail {

/// What a run on other hosts has beside one on this: the recorder's port and the run's token. For
/// the launcher "local" there is neither. Removes the token's file when it ends.
class Head {
 public:
  /// Opens the port. Error: kBadInput for an address that is none; kEnvironment where it is taken,
  /// and in a build without ZeroMQ.
  static base::Result<Head> prepare(const experiment::LaunchConfig& launch);
  Head(Head&&) noexcept;
  Head& operator=(Head&&) = delete;
  ~Head();

  /// Where the ranks find their store: this host's address for them, or the loopback.
  [[nodiscard]] const std::string& storeAddress() const { return storeAddress_; }
  /// Where the store listens, as the recorder does.
  [[nodiscard]] const std::string& storeBind() const { return storeBind_; }

  /// Writes the token's file and makes the ranks that will be started elsewhere. The arguments
  /// outlive them. Error: kEnvironment.
  base::Result<std::unique_ptr<Ranks>> makeRanks(const LaunchOptions& options, Resources& resources,
                                                 posix::EventLoop& loop);

  /// The same for the parts of a job that is recorded, which tell `watcher`. Null for "local".
  base::Result<std::unique_ptr<OtherParts>> makeParts(const std::filesystem::path& ticketFile,
                                                      const std::string& runId,
                                                      posix::EventLoop& loop, PartWatcher& watcher);

  /// Puts what relays find the recorder by into an environment ("KEY=value"); nothing for "local".
  void addTicket(std::vector<std::string>& environment) const;
  /// Where relays find the recorder, "tcp://10.0.0.1:41000"; "" for "local".
  [[nodiscard]] std::string recorder() const;

 private:
  struct Parts;
  explicit Head(std::unique_ptr<Parts> parts);

  std::string storeAddress_ = "127.0.0.1";
  std::string storeBind_ = "127.0.0.1";
  std::unique_ptr<Parts> parts_;  // null: local
};

}  // namespace lockstep::launch::detail
