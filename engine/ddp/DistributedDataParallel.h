#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/ddp/Handshake.h"
#include "engine/ddp/Join.h"
#include "engine/ddp/MixedPrecision.h"
#include "engine/ddp/ModelState.h"
#include "engine/ddp/OutputTensors.h"
#include "engine/ddp/Reducer.h"
#include "engine/hooks/CommHook.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/trace/Tracer.h"

namespace lockstep::ddp {

/// Settings of one rank's DistributedDataParallel; all ranks must have the same. Those of an
/// experiment file are made by train::ddpOptionsOf().
struct DdpOptions {
  double firstBucketMb = 1;              ///< MiB
  double bucketCapMb = 25;               ///< MiB
  std::string bucketRule = "c10d-1.13";  ///< or c10d-1.9: see buckets::BucketRule
  bool gradientAsBucketView = false;     ///< see ReducerOptions
  bool batchedGradCopy = false;          ///< see ReducerOptions
  bool broadcastBuffers = true;          ///< at the start and before forwards
  bool forwardSyncBuffers = true;        ///< before forwards; off: at the start alone
  /// Steps that the caller's loop accumulates under NoSync before each reduction: compared over
  /// the ranks, and nothing else.
  int syncEvery = 1;

  std::shared_ptr<hooks::CommHook> hook;     ///< null: an AllreduceHook
  std::chrono::milliseconds hookTimeout{0};  ///< 0: the group's time limit and 5 s
  trace::Tracer* tracer = nullptr;           ///< may be null; else outlives this
  std::int64_t gradientCheckEvery = 0;       ///< see ReducerOptions
  std::shared_ptr<device::DeviceSpans> deviceSpans;  ///< see ReducerOptions

  bool findUnusedParameters = false;  ///< see Reducer
  bool staticGraph = false;           ///< see Reducer
  /// Off: neither compares the ranks' models nor copies rank 0's state, for models known to be
  /// equal (loaded from one checkpoint). Nothing finds a difference then.
  bool initSync = true;
  /// With findUnusedParameters: buckets that no rank used are not communicated. (PyTorch skips by
  /// each rank's own view, and hangs where views differ; here the ranks agree, by one small
  /// allreduce an iteration.)
  bool skipAllReduceUnusedParams = false;
  /// MiB of successive buckets, the last repeating, from the first iteration on, in place of
  /// firstBucketMb and bucketCapMb.
  std::vector<double> bucketCapMbList;
  /// Fully qualified names of parameters and buffers that are this rank's own affair.
  std::vector<std::string> parametersAndBuffersToIgnore;
  /// Fully qualified names of trained parameters that are left out of the buckets; one allreduce
  /// averages them as soon as parameter `paramToHookAllReduce` has its gradient, by when they
  /// must have theirs. Both or neither. Not in a Join.
  std::vector<std::string> delayAllReduceNamedParams;
  std::string paramToHookAllReduce;
  /// Not with sparse gradients, nor with a hook that writes parameters.
  std::optional<MixedPrecision> mixedPrecision;
};

/// Trains one replica of a model on every rank of a group: same start, averaged gradients
/// (torch.nn.parallel.DistributedDataParallel, one device a process).
///
///   DistributedDataParallel ddp(model, group, options);
///   for (...) {
///     ddp.setStep(step);
///     auto loss = criterion(ddp.forward<Net>(input), target);
///     optimizer.zero_grad();
///     loss.backward();          // reduces while it runs
///     ddp.checkFinalized();
///     optimizer.step();
///   }
///
/// Construction is a collective: it compares the model and the settings of all ranks, copies
/// rank 0's state to the others, and makes the buckets. So is every synchronised forward and
/// backward. [step-thread], except that the backward may run on autograd's threads.
///
/// Throws DdpError, HookError and CommError, from here or through autograd.
class DistributedDataParallel final : public Joinable {
 public:
  DistributedDataParallel(ModelState model, std::shared_ptr<process_group::ProcessGroup> group,
                          DdpOptions options = {});
  DistributedDataParallel(std::shared_ptr<torch::nn::Module> module,
                          std::shared_ptr<process_group::ProcessGroup> group,
                          DdpOptions options = {});
  ~DistributedDataParallel() override;
  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;

  /// Runs `body`, which calls the model, as this rank's forward and returns what it returns;
  /// OutputTensors.h says which types are searched for tensors where that is needed. An exception
  /// that leaves `body` aborts the group with its text, so that the other ranks end with that and
  /// not with a time-out: catch inside what the training can go on from.
  template <typename F>
  auto run(F&& body) {
    preForward();
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      tellingOthers(std::forward<F>(body));
      postForward();
    } else {
      auto output = tellingOthers(std::forward<F>(body));
      postForward(output);
      return output;
    }
  }

  /// Runs M::forward of the wrapped module, with arguments cast as castInputs() does.
  template <typename M, typename... Args>
  auto forward(Args&&... args) {
    auto* module = dynamic_cast<M*>(module_.get());
    if (module == nullptr) {
      throw std::invalid_argument("forward<M>: the wrapped module is of another type");
    }
    if constexpr (((std::is_copy_constructible_v<std::decay_t<Args>> &&
                    std::is_same_v<std::decay_t<Args>, std::remove_cvref_t<Args>>)&&...)) {
      if (castsInputs()) {
        std::tuple<std::decay_t<Args>...> own(args...);
        castInputs(own);
        return run([&] {
          return std::apply(
              [&](auto&... arg) { return module->forward(static_cast<Args&&>(arg)...); }, own);
        });
      }
    }
    return run([&] { return module->forward(std::forward<Args>(args)...); });
  }

  /// With mixedPrecision, and castForwardInputs in it: casts the floating-point tensors in `value`
  /// (as OutputTensors.h finds them) to paramDtype. For callers of run(), before it.
  template <typename T>
  void castInputs(T& value) const {
    if (castsInputs()) {
      for (at::Tensor* tensor : tensorsIn(value)) {
        castInput(*tensor);
      }
    }
  }

  /// The two halves of run(), for callers whose forward is not a single expression.
  void preForward();
  void postForward() { finishForward({}); }
  /// With findUnusedParameters or staticGraph it replaces the tensors in `output` by equal ones
  /// that the loss must be computed from.
  template <typename T>
  void postForward(T& output) {
    finishForward(tensorsIn(output));
  }

  /// While it lives, forwards and their backwards accumulate gradients on this rank only; the
  /// next synchronised backward reduces the sum. The forward must be inside.
  class NoSync {
   public:
    explicit NoSync(DistributedDataParallel& ddp)
        : ddp_(ddp), outer_(std::exchange(ddp.synchronise_, false)) {}
    ~NoSync() {
      ddp_.synchronise_ = outer_;
      ddp_.reducer_->endAccumulation();
    }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DistributedDataParallel& ddp_;
    bool outer_;
  };

  /// See Reducer.
  void checkFinalized() { reducer_->checkFinalized(); }
  void endAccumulation() { reducer_->endAccumulation(); }
  void setStep(std::uint32_t step);
  [[nodiscard]] bool canSetStaticGraph() const { return reducer_->canSetStaticGraph(); }
  /// The map of used parameters: see Reducer::State::usedBy.
  [[nodiscard]] std::vector<std::int32_t> usedParameters() const {
    return reducer_->state().usedBy;
  }
  /// Registration indices of the parameters that the last forward did not use.
  [[nodiscard]] std::vector<std::uint32_t> unusedParameters() const {
    return reducer_->state().unused;
  }

  /// What c10d's Logger records, under its names: construction fields, and runtime fields of the
  /// last synchronised iteration and on average over all (PyTorch: over a sample). Times in
  /// nanoseconds; see DdpTimes. Left out: device_ids, output_device (no such argument) and the
  /// environment's variables, which the rank records itself.
  [[nodiscard]] std::map<std::string, std::string> loggingData() const;
  /// The part of it that changes from one iteration to the next, at a small part of the cost.
  [[nodiscard]] Reducer::State reducerState() const { return reducer_->state(); }

  // For uneven inputs (Join): a rank without inputs answers each iteration of the others, in the
  // order of their collectives: rebuild, buffers from the largest rank with inputs, whether the
  // backward will be reduced, buckets of zeros through the hook, used map.
  void shadow(std::uint32_t step) override;
  void allJoined(bool lastJoiner) override;
  [[nodiscard]] process_group::ProcessGroup& joinGroup() const override { return *group_; }
  [[nodiscard]] at::Device joinDevice() const override { return trained_.front().tensor.device(); }

  /// The parameters that are reduced, by registration index; those of delayAllReduceNamedParams
  /// stand last, in the order of that list.
  [[nodiscard]] const std::vector<NamedTensor>& parameters() const { return trained_; }
  [[nodiscard]] const buckets::BucketPlan& plan() const { return reducer_->plan(); }
  [[nodiscard]] bool hasRebuiltBuckets() const { return reducer_->hasRebuiltBuckets(); }

 private:
  template <typename F>
  std::invoke_result_t<F> tellingOthers(F&& body) {
    try {
      return std::forward<F>(body)();
    } catch (const process_group::CommError&) {
      throw;  // they know
    } catch (const std::exception& error) {
      reducer_->failForward(error.what());
      throw;
    } catch (...) {
      reducer_->failForward("one that is no std::exception");
      throw;
    }
  }

  [[nodiscard]] ReducerOptions reducerOptions();
  void deferParameters(ReducerOptions& options);
  void setUpPrecision(ReducerOptions& options);
  void refuseJoinWithDeferred();
  [[nodiscard]] bool castsInputs() const {
    return options_.mixedPrecision.has_value() && options_.mixedPrecision->castForwardInputs &&
           options_.mixedPrecision->paramDtype.has_value();
  }
  void castInput(at::Tensor& tensor) const;
  [[nodiscard]] std::vector<Fact> description() const;
  void finishForward(const std::vector<at::Tensor*>& outputs);
  void broadcastState(int root, bool buffers);
  [[nodiscard]] bool syncsBuffers() const {
    return options_.broadcastBuffers && options_.forwardSyncBuffers;
  }
  /// `live`: this rank has inputs; while a Join lasts its buffers may be taken for all.
  void broadcastBuffers(bool live);
  /// Whether the forward that begins or ends here may have collectives.
  [[nodiscard]] bool concernsOthers() const;
  bool anySynchronises(bool own);
  [[nodiscard]] std::string bucketSizes() const;

  ModelState model_;
  std::shared_ptr<torch::nn::Module> module_;  // null when built from a ModelState
  std::shared_ptr<process_group::ProcessGroup> group_;
  DdpOptions options_;
  std::vector<NamedTensor> trained_;
  std::shared_ptr<PrecisionSwitch> precision_;  // null without mixedPrecision
  std::unique_ptr<Reducer> reducer_;
  std::string firstBucketSizes_;
  std::uint32_t step_ = 0;
  bool synchronise_ = true;
  bool buffersMayDiffer_ = true;  // the last forward was a synchronised one
};

}  // namespace lockstep::ddp
