#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/import/KinetoTrace.h"

namespace lockstep::imports {

/// One event of a trace as its text has it: what of it may be of use.
struct KinetoEvent {
  std::string phase, category, name, process, thread;
  std::optional<std::int64_t> beginNs, durationNs;
  std::optional<std::int64_t> externalId, correlation, stream, sequence, step, bucket;
  std::string collective, dtype, groupName, groupRanks, groupDescription, type;
  std::int64_t elementsIn = 0, elementsOut = 0;
  std::vector<std::int64_t> shape;  // of the first argument, when that is one tensor
  std::uint64_t elements = 0;       // of all tensors of the first argument

  void clear() {
    phase.clear(), category.clear(), name.clear(), process.clear(), thread.clear();
    beginNs.reset(), durationNs.reset();
    externalId.reset(), correlation.reset(), stream.reset(), sequence.reset();
    step.reset(), bucket.reset();
    collective.clear(), dtype.clear(), groupName.clear(), groupRanks.clear();
    groupDescription.clear(), type.clear();
    elementsIn = elementsOut = 0;
    shape.clear();
    elements = 0;
  }
};

/// Puts events into a trace, each where it belongs, and drops those that say nothing of training.
class KinetoSorter {
 public:
  explicit KinetoSorter(KinetoTrace& trace) : trace_(trace) {}

  /// Returns what is wrong with it; empty: nothing. May take its texts.
  std::string take(KinetoEvent& event);

 private:
  std::string takeMark(KinetoEvent& event);
  void takeKernel(const KinetoEvent& event);
  void takeComm(const KinetoEvent& event);
  void takeOp(const KinetoEvent& event, HostOpKind kind, std::uint32_t number = 0);
  std::uint32_t thread(const KinetoEvent& event);

  KinetoTrace& trace_;
  std::unordered_map<std::string, std::uint32_t> threads_;
  bool hasTime_ = false;
};

}  // namespace lockstep::imports
