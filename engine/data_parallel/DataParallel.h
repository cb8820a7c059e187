#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/data_parallel/Coalesce.h"
#include "engine/data_parallel/Device.h"
#include "engine/data_parallel/ParallelApply.h"
#include "engine/data_parallel/Replicas.h"
#include "engine/data_parallel/Tree.h"
#include "engine/trace/Tracer.h"

namespace lockstep::data_parallel {

struct DataParallelOptions {
  std::vector<Device> devices = virtualDevices(2);  ///< the first is the module's
  std::optional<Device> outputDevice;               ///< default: the first
  std::int64_t dim = 0;                             ///< of the batch, in inputs and outputs
  std::uint64_t coalesceBytes = kCoalesceBytes;

  /// Makes a module of the same structure, for modules that are no torch::nn::Cloneable. Null:
  /// Module::clone(). What it draws from the CPU's generator is given back.
  std::function<std::shared_ptr<torch::nn::Module>()> makeReplica;

  trace::Tracer* tracer = nullptr;  ///< may be null; else outlives this and all its graphs
  trace::Lane* lane = nullptr;      ///< of the calling thread, "step"; null: a lane of its own
};

/// Trains a module on several devices of one process (torch.nn.DataParallel): the slow way, as
/// the baseline to compare DistributedDataParallel with. Each forward cuts the batch, copies all
/// parameters and buffers to every device, runs the replicas on threads that it makes for this,
/// and joins the outputs on one device; the backward runs the replicas' graphs on threads again
/// and then, when nothing is left to overlap with, sums their gradients on device 0.
/// Note [A step on several devices] in the .cpp.
///
///   DataParallel parallel(model, {.devices = virtualDevices(4)});
///   auto loss = criterion(parallel.forward<Net>(input), target);
///   loss.backward();  // gradients are in model's parameters
///
/// As in PyTorch: state other than parameters and buffers that a forward changes is lost;
/// buffers keep what replica 0 wrote in place (batch norm's running statistics see its part of
/// the batch alone); a scalar output becomes a vector, one element a replica; a parameter that
/// took no part gets a gradient of zeros; one device runs the module itself. Otherwise:
/// replicas are made once and refreshed, so what a module keeps outside parameters and buffers
/// is as makeReplica made it; random numbers drawn in a forward on virtual devices come from the
/// process's one generator in whatever order the threads ask; no gradients of gradients.
///
/// Events on the caller's lane: kScatter, kReplicate, kGather, kReduceGradients, the value
/// being the bytes that crossed between devices (the backward scatters, too). On "device 0" ...:
/// kParallelApply, value as Half.
///
/// Errors: DataParallelError, ReplicaError; from a backward they pass through autograd.
/// [step-thread]
class DataParallel {
 public:
  /// Runs one replica's forward. Called on several threads at once, with a replica each.
  using Body = std::function<Tree(torch::nn::Module& replica, const Tree& input)>;

  /// Warns of devices that differ in size (log, and the run's problems). Throws
  /// DataParallelError: no or repeated devices, a module on another device than the first, one that
  /// can neither be cloned nor has a makeReplica.
  DataParallel(std::shared_ptr<torch::nn::Module> module, DataParallelOptions options);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// Runs the replicas over `input` (a tensor, or a list or map of arguments).
  Tree run(const Tree& input, const Body& body);

  /// Calls M::forward of the replicas; arguments and result are anything that TreeOf converts.
  template <typename M, typename... Args>
  auto forward(const Args&... args) {
    using Result = std::decay_t<decltype(std::declval<M&>().forward(args...))>;
    const Tree input(Tree::List{TreeOf<std::decay_t<const Args&>>::to(args)...});
    return TreeOf<Result>::from(run(input, [](torch::nn::Module& replica, const Tree& mine) {
      auto* module = dynamic_cast<M*>(&replica);
      if (module == nullptr) {
        throw DataParallelError("forward<M>: the wrapped module is of another type");
      }
      return call<Result, std::decay_t<const Args&>...>(*module, mine,
                                                        std::index_sequence_for<Args...>{});
    }));
  }

  /// Sets the iteration that events carry.
  void setStep(std::uint32_t step) { step_ = step; }

  [[nodiscard]] const std::shared_ptr<torch::nn::Module>& module() const { return module_; }
  [[nodiscard]] const std::vector<Device>& devices() const { return where_.devices; }

 private:
  template <typename Result, typename... Args, typename M, std::size_t... I>
  static Tree call(M& module, const Tree& input, std::index_sequence<I...>) {
    return TreeOf<Result>::to(module.forward(TreeOf<Args>::from(input.at(I))...));
  }

  [[nodiscard]] std::shared_ptr<torch::nn::Module> makeReplica(const Device& device) const;
  [[nodiscard]] DeviceLanes firstDevices(std::size_t count) const;
  void checkPlace(const std::vector<StateTensor>& state) const;
  void warn(const std::string& text) const;

  std::shared_ptr<torch::nn::Module> module_;
  DataParallelOptions options_;
  std::shared_ptr<trace::Tracer> silent_;  // stands in for options_.tracer; graphs keep it
  trace::Tracer* tracer_;
  trace::Lane* lane_;
  DeviceLanes where_;
  std::shared_ptr<ReplicaPool> pool_;
  std::uint32_t step_ = 0;
  bool warnedOfScalars_ = false;
};

}  // namespace lockstep::data_parallel
