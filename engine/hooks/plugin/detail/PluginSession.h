#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/CrashNote.h"
#include "engine/hooks/HookStream.h"
#include "engine/hooks/HookTrace.h"
#include "engine/hooks/plugin/Strand.h"
#include "engine/hooks/plugin/Watch.h"
#include "engine/hooks/plugin/detail/HostMath.h"
#include "engine/hooks/plugin/detail/PluginRun.h"
#include "engine/plugin/PluginLibrary.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/Subgroups.h"

namespace lockstep::hooks::detail {

struct SessionOptions {
  std::shared_ptr<plugin::PluginLibrary> library;
  std::string id;
  /// One for each parameter; keys and texts outlive create().
  std::vector<lockstep_value> values;
  /// Whose world is of this hook alone: nothing else communicates over it.
  std::shared_ptr<process_group::Subgroups> groups;
  /// Of all hooks on the strand.
  std::shared_ptr<HookTrace> trace = HookTrace::create(nullptr);
  std::shared_ptr<Strand> strand;
  /// Of all hooks on that strand.
  std::shared_ptr<HookStream> stream = std::make_shared<HookStream>();
  /// The hook inside this one, on the same strand; may be null.
  std::shared_ptr<PluginSession> inner;
  bool ranksShareProcess = false;  ///< PluginHookOptions
  std::shared_ptr<Watch> watch;    ///< of the calls that the step thread makes; may be null
};

// Note [The order of a plugin's operations]
// Collectives of a group must be called in one order on every rank, but operations end, and
// continuations queue others, in an order that differs from rank to rank. So operations are not
// started where they are queued. Runs stand in a line in the order of their buckets; only the
// first that has not said no_more() starts operations, in the order in which it queued them, and
// its continuations run in that order, too, however the operations end. By induction each rank
// starts the same ones in the same order. Operations queued after a hook inside this one wait for
// it; that hook has a group and a line of its own.

/// One hook of a plugin at work: its C tables, its runs, their order and their timing.
/// [hook-strand], except what says otherwise. Note [The life of a run] in the .cpp.
class PluginSession : public std::enable_shared_from_this<PluginSession> {
 public:
  explicit PluginSession(SessionOptions options);
  ~PluginSession();

  /// Creates the hook. Throws HookError with the plugin's sentence. Collective if the hook makes
  /// subgroups. [step-thread]
  void create();
  /// Cancels what is in flight, waits for the operations that were begun, and destroys the hook.
  /// Waits a second at most: a hook that hangs is left where it is, with all that it uses. Returns
  /// whether the hook was destroyed. [step-thread]
  bool close();

  using Call = std::function<lockstep_status(lockstep_hook*, lockstep_run*, const lockstep_group*)>;
  /// Hands a run to the strand, which makes the call. Its future gives run->flat, or HookError,
  /// CommError. [any-thread]
  base::Future<at::Tensor> begin(const std::shared_ptr<lockstep_run>& run, Call call);

  /// Why the hook can no longer be used; empty while it can. [any-thread]
  [[nodiscard]] std::string failure() const;
  /// The bucket or call, "bucket 3 of step 12", with which the hook was called and from which it
  /// has not come back; empty: none. [any-thread]
  [[nodiscard]] std::string inside() const;
  /// The plugin's sentence for a call without a run that just failed; forgets it. [step-thread]
  [[nodiscard]] std::string takeReason();

  /// What was counted since the last call, summed by key. [any-thread]
  [[nodiscard]] std::map<std::string, double> takeCounters();

  [[nodiscard]] lockstep_hook* hook() const { return hook_; }
  [[nodiscard]] const plugin::HookInfo& info() const { return info_; }
  [[nodiscard]] const lockstep_group* world() const;
  [[nodiscard]] bool hasInner() const { return options_.inner != nullptr; }
  [[nodiscard]] process_group::CallOptions callOptions(const lockstep_run& run) const;
  /// For a crash: "in hook 'topk', bucket 3 of step 12".
  [[nodiscard]] std::string noteOf(const std::string& doing) const;
  [[nodiscard]] Watch* watch() const { return options_.watch.get(); }

  // What the C tables call (HostTables.cpp, HostMath.cpp).
  [[nodiscard]] HookMemory& memory() { return memory_; }
  [[nodiscard]] HookStream::Guard onStream(const c10::Device& device) {
    return options_.stream->enter(device);
  }
  [[nodiscard]] void* streamHandle(const c10::Device& device) {
    return options_.stream->handle(device);
  }
  /// A plugin's buffer as a flat tensor. Throws as tensorOf() does, and std::invalid_argument for
  /// one that reaches out of memory that the hook was handed: Note [How far a buffer may reach].
  [[nodiscard]] at::Tensor tensorWithin(const lockstep_buffer& buffer) const;
  lockstep_status queue(lockstep_run* run, const char* function, QueuedOperation operation);
  lockstep_status refuse(const std::string& why);
  /// By what was thrown: `where` is which function refuses.
  lockstep_status refuse(const std::string& where, const std::exception& error);
  /// The host could not do what the hook asked for, and the run is over.
  void broke(lockstep_run* run, std::exception_ptr error);
  lockstep_status scratch(lockstep_run* run, std::int64_t numel, std::int32_t dtype,
                          lockstep_buffer* out);
  lockstep_status subgroup(std::vector<int> ranks, const lockstep_group** out);
  lockstep_status runInner(lockstep_run* run, std::uint32_t stage, const lockstep_buffer& buffer);
  void fail(lockstep_run* run, lockstep_status status, const std::string& text);
  void mark(lockstep_run* run, std::int32_t phase, bool begins);
  void counter(lockstep_run* run, const char* key, double value);
  void noMore(lockstep_run* run);
  void resultReady(lockstep_run* run);
  void complete(lockstep_run* run);

 private:
  using RunPtr = std::shared_ptr<lockstep_run>;
  struct Group;

  [[nodiscard]] RunPtr open(const lockstep_run* run) const;
  RunPtr live(lockstep_run* run, const char* function);
  void setInside(const std::string& place);
  void enter(const RunPtr& run, const std::function<lockstep_status()>& call);
  void startOperations();
  void start(const RunPtr& run, QueuedOperation& operation);
  void ended(const RunPtr& run, std::uint64_t number, std::exception_ptr error);
  void resumeEnded(const RunPtr& run);
  void finish(const RunPtr& run, std::exception_ptr error);
  void deliver(const RunPtr& run);
  void deliverAll();
  [[nodiscard]] HookStream::Guard onStreamIfUsable(const c10::Device& device);
  void destroyIfIdle();
  /// Does a task of the strand; what it throws ends the run.
  void carryOut(const RunPtr& run, const std::function<void()>& task);
  void breakDown(const RunPtr& run, std::exception_ptr error, bool cancel);
  /// The same with a HookError.
  void breakDown(const RunPtr& run, const std::string& why, bool cancel);
  /// A phase that ends here, in a call of the hook.
  void record(lockstep_run& run, trace::EventKind kind, const HookTrace::Moment& begun);
  const lockstep_group* wrap(std::shared_ptr<process_group::ProcessGroup> group);

  const SessionOptions options_;
  const plugin::HookInfo info_;
  lockstep_host host_{};
  std::vector<std::unique_ptr<Group>> groups_;  // the world first
  HookMemory memory_;
  lockstep_hook* hook_ = nullptr;

  std::vector<RunPtr> runs_;     // that have not ended
  std::deque<RunPtr> line_;      // of these, those that may yet start operations
  std::deque<RunPtr> graveyard_; // ended lately: a call for one is recognised
  std::exception_ptr broken_;
  std::vector<RunPtr> deliveries_;  // to be made when the hook's call has returned
  bool inCall_ = false;
  std::size_t outstanding_ = 0;  // works of operations that have not ended
  std::optional<base::Future<bool>> closed_;  // set while close() waits for the hook's end

  mutable std::mutex mutex_;  // guards what follows
  std::string reason_;
  std::string failure_;
  std::string inside_;
  std::map<std::string, double> counters_;
};

/// While it lives, a crash in this thread is one of the hook, in a call that has no run.
class CallNote {
 public:
  CallNote(const PluginSession& session, const std::string& call)
      : text_(session.noteOf(call)), note_(text_.c_str()) {}

 private:
  const std::string text_;
  const base::CrashNote note_;
};

/// While it lives, the step thread is in a call of the hook: what crashes there is the hook's, and
/// so is a call that does not come back.
class HostCall {
 public:
  HostCall(const PluginSession& session, const std::string& call);

 private:
  const CallNote note_;
  std::optional<Watch::Doing> doing_;
};

}  // namespace lockstep::hooks::detail
