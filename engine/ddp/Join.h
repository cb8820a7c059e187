#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/trace/Tracer.h"

namespace lockstep::ddp {

struct JoinOptions {
  /// What gradients are divided by once ranks are out of inputs: the group's size, so that every
  /// sample weighs the same (true), or the number of ranks that still have inputs (false).
  bool divideByInitialWorldSize = true;
  /// End training on all ranks, by an exception, as soon as one has no more inputs. Needed where
  /// the model itself communicates (synchronised batch normalisation).
  bool throwOnEarlyTermination = false;
  /// false: inputs are known to be even; Join does nothing.
  bool enable = true;
  trace::Tracer* tracer = nullptr;  ///< may be null; else outlives the Join
};

class Join;

/// Something whose iterations communicate and that can go on when ranks run out of inputs at
/// different times (torch.distributed.algorithms.Joinable). [step-thread]
class Joinable {
 public:
  virtual ~Joinable() = default;

  /// Stands in, on a rank without inputs, for one iteration of the others: the collectives that
  /// follow notifyJoin() there, in the same order, with nothing of its own. `step` is for events.
  virtual void shadow(std::uint32_t step) = 0;

  /// Called on every rank once none has inputs. `lastJoiner`: this rank was among the last.
  virtual void allJoined(bool lastJoiner) = 0;

  [[nodiscard]] virtual process_group::ProcessGroup& joinGroup() const = 0;
  /// Where the small tensors of Join live; a device that the group carries.
  [[nodiscard]] virtual at::Device joinDevice() const = 0;

 protected:
  /// Tells the ranks without inputs that this one goes on. Call it before the collectives of each
  /// iteration, `step` for their events; outside a Join, or when another joinable stands first in
  /// it, it does nothing. Throws DdpError on every rank under throwOnEarlyTermination once a rank
  /// has no inputs.
  void notifyJoin(std::uint32_t step = 0);

  /// Whether this is in an enabled Join, so that other ranks may be shadowing.
  [[nodiscard]] bool joining() const { return join_ != nullptr; }

  /// The number to divide this iteration's gradients by: the group's size, or the number of ranks
  /// with inputs as notifyJoin() learnt it (waits for it). The size, too, when this is not the
  /// first joinable, which alone counts.
  [[nodiscard]] int joinDivisor();

 private:
  friend class Join;
  Join* join_ = nullptr;
};

/// Trains on uneven inputs: while it lives, the joinables may stop at different iterations on
/// different ranks.
///
///   Join join({&ddp, &optimizer}, options);
///   join.run(step, [&] { while (next batch) { ... ++step; } });
///
/// In each iteration the first joinable sums a one over the ranks. A rank whose loop has ended
/// joins that sum with a zero and shadows the iteration of the others; when the sum is 0 all
/// have ended, and the joinables settle (DistributedDataParallel takes the model of the last to
/// join, the largest rank among several). Exceptions of the loop pass straight through. An example:
/// Note [Shadowing] in Join.cpp.
/// [step-thread]
class Join {
 public:
  /// Communicates nothing. Throws DdpError without joinables, with joinables of different
  /// groups, and for one that is in another Join. The joinables outlive this.
  explicit Join(std::vector<Joinable*> joinables, JoinOptions options = {});
  /// Takes the joinables out; does not communicate.
  ~Join();
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;

  /// Runs `loop`, this rank's iterations, then finish(). `step` is read after the loop.
  template <typename F>
  void run(const std::uint32_t& step, F&& loop) {
    std::forward<F>(loop)();
    finish(step);
  }

  /// Shadows the other ranks' iterations until all have ended. A collective; every rank calls it
  /// once, after its last iteration. `step`, the first that this rank did not take part in, numbers
  /// the events. Throws CommError; DdpError under throwOnEarlyTermination when others go on.
  void finish(std::uint32_t step = 0);

  /// Iterations this rank has shadowed.
  [[nodiscard]] std::uint64_t shadowed() const { return shadowed_; }

 private:
  friend class Joinable;
  void notify(std::uint32_t step);
  int divisor(const Joinable& asker);
  process_group::ProcessGroup::WorkPtr add(const at::Tensor& number, std::uint32_t step);
  void leave();
  void warnSkew(std::uint32_t step);

  const std::vector<Joinable*> joinables_;
  const JoinOptions options_;
  process_group::ProcessGroup* group_ = nullptr;
  std::unique_ptr<trace::Tracer> ownTracer_;
  trace::Tracer* tracer_ = nullptr;
  trace::Lane* lane_ = nullptr;
  at::Tensor live_;  // the sum of notify()
  process_group::ProcessGroup::WorkPtr liveWork_;
  std::optional<int> liveRanks_;
  std::uint64_t shadowed_ = 0;
};

/// Returns the largest rank whose `candidate` is true: every rank learns whom to take data from.
/// One allreduce. Throws CommError, and DdpError when there is no candidate.
[[nodiscard]] int largestRank(process_group::ProcessGroup& group, bool candidate,
                              const at::Device& device, std::uint32_t step = 0);

}  // namespace lockstep::ddp
