#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/hooks/CommHook.h"
#include "engine/hooks/HookStream.h"
#include "engine/hooks/HookTrace.h"
#include "engine/hooks/plugin/Strand.h"
#include "engine/hooks/plugin/Watch.h"
#include "engine/plugin/HookChoice.h"
#include "engine/process_group/Subgroups.h"
#include "engine/trace/Tracer.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::hooks {

namespace detail {
class PluginSession;
}

struct PluginHookOptions {
  /// The hook, with the hooks inside it.
  plugin::HookChoice choice;
  /// One for each hook of the choice, the outermost first; nothing else may communicate over
  /// their worlds, which must not be the group of the gradients either.
  std::vector<std::shared_ptr<process_group::Subgroups>> groups;
  /// May be null and otherwise outlives the hook.
  trace::Tracer* tracer = nullptr;
  /// The source of device times for its phases, used by this hook alone; null: one is made for the
  /// device that the buckets are on.
  std::shared_ptr<device::DeviceSpans> deviceSpans;
  /// How long a call around a step may take; buckets have the Reducer's limit.
  std::chrono::milliseconds timeout{60000};
  /// Called, on a thread of its own, with a sentence that names the hook, when a call that the step
  /// thread makes into it (create, configure, set, save, load) takes longer than `timeout`. The
  /// process must end then. Empty: these calls have no limit.
  std::function<void(const std::string&)> stuck;
  /// Several ranks are threads of this process: what is noted for a crash names the rank.
  bool ranksShareProcess = false;
};

/// What the optimizer of the run does, in PyTorch's terms; lockstep_optimizer_info.
struct OptimizerFacts {
  std::string kind;  ///< sgd, adam, adamw
  double learningRate = 0;
  double weightDecay = 0;
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
};

/// A communication hook of a plugin (plugins/abi). Every call into the plugin is made on the
/// strand of this hook, a thread of its own, never on the backward's or a backend's.
/// Note [Hooks inside hooks] in the .cpp.
///
/// Errors: HookError with the plugin's sentence, the hook, and the bucket or call, and the step;
/// CommError when an operation failed. After one the hook is done: every later call repeats it.
class PluginHook final : public CommHook {
 public:
  /// Opens the libraries and creates the hooks. Collective over `groups`. Throws HookError,
  /// CommError. [step-thread]
  explicit PluginHook(PluginHookOptions options);
  ~PluginHook() override;

  /// Cancels what is in flight and destroys the hooks; a plugin that hangs is left behind after a
  /// second. Returns whether none did. The destructor does the same. No other call may follow.
  bool close();

  [[nodiscard]] std::string name() const override { return name_; }
  /// Whether it, or a hook inside it, said when it was created that its replicas drift: that ranks
  /// may hold different parameters between steps, by design (lockstep.replicas/1).
  [[nodiscard]] bool replicasDrift() const { return drifts_; }
  base::Future<at::Tensor> run(GradBucket& bucket) override;

  /// Of the hook, or of one inside it.
  [[nodiscard]] std::string inside() const override;

  // Around a step, on the step thread, in this order; each blocks until the hook is through.
  // They do nothing where the hook has nothing to do.

  /// `names` and `parameters`: those that are reduced, in registration order.
  void setParameters(std::vector<std::string> names, std::vector<at::Tensor> parameters);
  /// Before the first step, and whenever something in it has changed.
  void configure(const OptimizerFacts& optimizer);
  /// Whether update() takes the place of the optimizer's step. Valid after configure().
  [[nodiscard]] bool ownsUpdate() const;
  void beforeForward(std::uint32_t step);
  void update(std::uint32_t step);
  void afterOptimizer(std::uint32_t step);
  void endOfRun(std::uint32_t step);

  /// What the live parameters that are numbers began with, by the keys that set() takes.
  [[nodiscard]] std::map<std::string, double> liveBeginnings() const;

  /// Changes a live parameter between steps: `key` is an experiment's, "hook.density" or, of a hook
  /// inside, "hook.inner.density". Throws HookError, and changes nothing, when that cannot be.
  void set(const std::string& key, const plugin::HookValue& value);

  /// What the hooks counted (lockstep_host::counter) since the last call, by "hook.<key>"; the
  /// numbers of a step's buckets are added up. Valid between steps.
  [[nodiscard]] std::map<std::string, double> takeCounters();

  /// The state of the hooks, for a checkpoint of this rank; "" when they have none.
  [[nodiscard]] std::string save() const;
  /// Throws HookError for a state that does not fit.
  void load(const std::string& state, int worldSize);

 private:
  using StepEntry = std::int32_t (*)(lockstep_hook*, lockstep_run*, const lockstep_group*,
                                     const lockstep_step*);
  using StepFunction = std::function<StepEntry(const detail::PluginSession&)>;

  void create(std::size_t depth);
  void around(const char* call, std::uint32_t step, StepFunction function);

  const PluginHookOptions options_;
  const std::shared_ptr<Strand> strand_;
  const std::shared_ptr<HookStream> stream_;
  const std::shared_ptr<HookTrace> trace_;
  const std::shared_ptr<Watch> watch_;                            // may be null
  std::vector<std::shared_ptr<detail::PluginSession>> sessions_;  // the outermost first
  std::string name_;
  bool drifts_ = false;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
};

}  // namespace lockstep::hooks
