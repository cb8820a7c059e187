#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/posix/EventLoop.h"
#include "engine/launch/RankEnvironment.h"
#include "engine/launch/detail/Ranks.h"
#include "engine/launch/detail/WatchedChild.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// Ranks that are direct children of this process.
class LocalRanks final : public Ranks {
 public:
  struct Rank {
    RankPlace place;
    trace::Segment* segment = nullptr;  ///< outlives this
  };

  LocalRanks(posix::EventLoop& loop, std::filesystem::path program, std::string experimentToml,
             std::vector<Rank> ranks);

  base::Status start(RankWatcher& watcher) override;
  void send(int rank, int signal) override;
  [[nodiscard]] bool isSuspended(int rank) const override;
  void setCapture(bool enabled) override;
  void tick() override {}
  void finish() override {}

 private:
  struct Slot {
    Rank rank;
    std::unique_ptr<WatchedChild> process;  // null: it has not started, or has ended
  };

  posix::EventLoop& loop_;
  const std::filesystem::path program_;
  const std::string experimentToml_;
  std::map<int, Slot> slots_;
  RankWatcher* watcher_ = nullptr;
};

}  // namespace lockstep::launch::detail
