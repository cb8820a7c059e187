#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/trace/Tracer.h"

namespace lockstep::train {

/// Hands to the recorder what c10d's Logger knows of a DistributedDataParallel, under its names
/// (trace/FORMAT.md): the facts when they change, and the numbers of each synchronised iteration,
/// not of a sample. Without a recorder it does nothing. [step-thread]
class DdpLog {
 public:
  /// Sends the fields of the construction, and what the hook's live parameters begin with
  /// (PluginHook::liveBeginnings). `ddp` and `tracer` outlive this.
  DdpLog(const ddp::DistributedDataParallel& ddp, trace::Tracer& tracer,
         const std::map<std::string, double>& liveBeginnings);

  /// Call after each synchronised iteration. `more`: further numbers of it.
  void iteration(std::uint32_t step, const std::map<std::string, double>& more = {});

 private:
  /// What facts can change with, apart from the construction.
  struct Changing {
    bool rebuilt = false;
    bool canBeStatic = false;
    std::vector<std::uint32_t> unused;
    std::vector<std::uint32_t> readyOrder;
    bool operator==(const Changing&) const = default;
  };

  /// Returns the facts that are new or have changed.
  std::map<std::string, std::string> changedFacts();

  const ddp::DistributedDataParallel& ddp_;
  trace::Tracer& tracer_;
  std::map<std::string, std::string> sent_;
  std::optional<Changing> last_;
};

}  // namespace lockstep::train
