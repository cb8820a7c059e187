#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/hook/buffers.hpp>

namespace lockstep::plugin {

class Host {
 public:
  explicit Host(const lockstep_host* raw) : raw_(raw) {}
  [[nodiscard]] const lockstep_host* raw() const { return raw_; }
  [[nodiscard]] const lockstep_group& world() const { return *raw_->world(raw_); }
  [[nodiscard]] int rank() const { return world().rank; }
  [[nodiscard]] int size() const { return world().size; }
  void log(const std::string& text) const { raw_->log(raw_, LOCKSTEP_LOG_INFO, text.c_str()); }
  void warn(const std::string& text) const { raw_->log(raw_, LOCKSTEP_LOG_WARNING, text.c_str()); }
  /// Makes a group of some ranks; in the hook's constructor, on every rank alike. Null on ranks
  /// that are not in the list.
  [[nodiscard]] const lockstep_group* subgroup(const std::vector<std::int32_t>& ranks) const {
    const lockstep_group* group = nullptr;
    const lockstep_status status =
        raw_->subgroup(raw_, ranks.data(), static_cast<std::uint32_t>(ranks.size()), &group);
    if (status != LOCKSTEP_OK) {
      throw Error(status, "a subgroup could not be made");
    }
    return group;
  }
  /// Null when no other hook is inside this one.
  [[nodiscard]] const lockstep_ext_inner* inner() const {
    return static_cast<const lockstep_ext_inner*>(raw_->extension(raw_, "lockstep.inner/1"));
  }

 private:
  const lockstep_host* raw_;
};

namespace detail {

/// What the helper keeps of a run between its calls.
struct RunState {
  std::vector<std::function<void()>> continuations;  // by stage
  bool completed = false;
  bool entered = false;  // a call for this run is going on, which deletes this when it is over
};

}  // namespace detail

/// One run: queues operations, each with what to do when it has ended, and ends with complete().
/// Continuations run in the order in which the operations were queued.
class Run {
 public:
  using Then = std::function<void()>;

  Run(Host host, lockstep_run* raw, const lockstep_group* world)
      : host_(host), raw_(raw), world_(world) {}
  [[nodiscard]] lockstep_run* raw() const { return raw_; }
  [[nodiscard]] const Host& host() const { return host_; }
  [[nodiscard]] const lockstep_group& world() const { return *world_; }
  [[nodiscard]] int rank() const { return world_->rank; }
  [[nodiscard]] int size() const { return world_->size; }

  void allReduce(const lockstep_buffer& inout, std::int32_t op, Then then) const {
    allReduce(*world_, inout, op, std::move(then));
  }
  void allReduce(const lockstep_group& group, const lockstep_buffer& inout, std::int32_t op,
                 Then then) const {
    queued(group.all_reduce(&group, raw_, stage(std::move(then)), &inout, op), "all_reduce");
  }
  void allGather(const lockstep_buffer& in, const lockstep_buffer& out, Then then) const {
    allGather(*world_, in, out, std::move(then));
  }
  void allGather(const lockstep_group& group, const lockstep_buffer& in, const lockstep_buffer& out,
                 Then then) const {
    queued(group.all_gather(&group, raw_, stage(std::move(then)), &in, &out), "all_gather");
  }
  void reduceScatter(const lockstep_buffer& in, const lockstep_buffer& out, std::int32_t op,
                     Then then) const {
    reduceScatter(*world_, in, out, op, std::move(then));
  }
  void reduceScatter(const lockstep_group& group, const lockstep_buffer& in,
                     const lockstep_buffer& out, std::int32_t op, Then then) const {
    queued(group.reduce_scatter(&group, raw_, stage(std::move(then)), &in, &out, op),
           "reduce_scatter");
  }
  void broadcast(const lockstep_buffer& inout, std::int32_t root, Then then) const {
    broadcast(*world_, inout, root, std::move(then));
  }
  void broadcast(const lockstep_group& group, const lockstep_buffer& inout, std::int32_t root,
                 Then then) const {
    queued(group.broadcast(&group, raw_, stage(std::move(then)), &inout, root), "broadcast");
  }
  /// Splits in elements, one a rank; both empty: equal parts.
  void allToAll(const lockstep_buffer& in, std::span<const std::int64_t> inSplits,
                const lockstep_buffer& out, std::span<const std::int64_t> outSplits,
                Then then) const {
    queued(world_->all_to_all(world_, raw_, stage(std::move(then)), &in,
                              inSplits.empty() ? nullptr : inSplits.data(), &out,
                              outSplits.empty() ? nullptr : outSplits.data()),
           "all_to_all");
  }
  /// Sends and receives at once; either buffer may be null.
  void exchange(const lockstep_group& group, const lockstep_buffer* out, std::int32_t to,
                const lockstep_buffer* in, std::int32_t from, Then then) const {
    queued(group.exchange(&group, raw_, stage(std::move(then)), out, to, in, from), "exchange");
  }
  /// Averages `inout` by the hook inside this one.
  void inner(const lockstep_ext_inner& hook, const lockstep_buffer& inout, Then then) const {
    queued(hook.run(raw_, stage(std::move(then)), &inout), "inner hook");
  }

  /// Memory until complete(), aligned to 64 bytes, where the group communicates best.
  [[nodiscard]] lockstep_buffer scratch(std::int64_t numel, std::int32_t dtype) const {
    lockstep_buffer buffer{};
    const lockstep_status status = host_.raw()->scratch(raw_, numel, dtype, &buffer);
    if (status != LOCKSTEP_OK) {
      throw Error(status, "no scratch memory of " + std::to_string(numel) + " elements");
    }
    return buffer;
  }
  template <typename T>
  [[nodiscard]] std::span<T> scratch(std::integral auto numel) const {
    return view<T>(scratch(static_cast<std::int64_t>(numel), DtypeOf<T>::value));
  }

  void beginEncode() const { host_.raw()->mark(raw_, LOCKSTEP_ENCODE, 1); }
  void endEncode() const { host_.raw()->mark(raw_, LOCKSTEP_ENCODE, 0); }
  void beginDecode() const { host_.raw()->mark(raw_, LOCKSTEP_DECODE, 1); }
  void endDecode() const { host_.raw()->mark(raw_, LOCKSTEP_DECODE, 0); }
  void counter(const char* key, double value) const { host_.raw()->counter(raw_, key, value); }

  /// This run queues no further operation: those of the next bucket may begin.
  void noMore() const { host_.raw()->no_more(raw_); }
  /// The result stands in the bucket, and the step may go on; the bucket is gone.
  void resultReady() const { host_.raw()->result_ready(raw_); }
  /// Also from within a call for another run, that this one waited for.
  void complete() const {
    detail::RunState* state = &this->state();
    state->completed = true;
    host_.raw()->complete(raw_);
    if (!state->entered) {
      delete state;
    }
  }

 private:
  [[nodiscard]] detail::RunState& state() const {
    return *static_cast<detail::RunState*>(*host_.raw()->slot(raw_));
  }
  [[nodiscard]] std::uint32_t stage(Then then) const {
    auto& continuations = state().continuations;
    continuations.push_back(std::move(then));
    return static_cast<std::uint32_t>(continuations.size() - 1);
  }
  static void queued(lockstep_status status, const char* operation) {
    if (status != LOCKSTEP_OK) {
      throw Error(status, std::string(operation) + " was refused");
    }
  }

  Host host_;
  lockstep_run* raw_;
  const lockstep_group* world_;
};

/// Base of a hook: knows its host.
class Hook {
 public:
  explicit Hook(Host host) : host_(host) {}
  [[nodiscard]] const Host& host() const { return host_; }

 private:
  Host host_;
};

}  // namespace lockstep::plugin
