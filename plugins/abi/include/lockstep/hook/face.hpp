#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include <lockstep/hook/description.hpp>
#include <lockstep/hook/run.hpp>
#include <lockstep/hook/state.hpp>

namespace lockstep::plugin {

namespace detail {

/// The C face of hook class H.
template <class H>
class Face {
 public:
  static lockstep_status create(const lockstep_host* host, const lockstep_value* values,
                                std::uint32_t count, lockstep_hook** out) {
    return guarded(host, nullptr, [&] {
      auto face = std::make_unique<Face>(host, values, count);
      *out = &face.release()->table_;
    });
  }

  Face(const lockstep_host* host, const lockstep_value* values, std::uint32_t count)
      : hook_(Host(host), Values(values, count)) {
    table_.struct_size = sizeof table_;
    table_.self = this;
    table_.run = run;
    table_.resume = resume;
    table_.cancel = cancel;
    table_.extension = extension;
    table_.destroy = destroy;
  }

 private:
  template <typename Body>
  static lockstep_status guarded(const lockstep_host* host, lockstep_run* run, Body body) {
    try {
      body();
      return LOCKSTEP_OK;
    } catch (const Error& error) {
      host->fail(host, run, error.status(), error.what());
      return error.status();
    } catch (const std::exception& error) {
      host->fail(host, run, LOCKSTEP_E_INTERNAL, error.what());
    } catch (...) {
      host->fail(host, run, LOCKSTEP_E_INTERNAL, "an exception that is no std::exception");
    }
    return LOCKSTEP_E_INTERNAL;
  }

  static Face& of(lockstep_hook* hook) { return *static_cast<Face*>(hook->self); }
  [[nodiscard]] const lockstep_host* host() const { return hook_.host().raw(); }

  /// Calls into the hook with a run; what the helper keeps of it goes when it has completed.
  template <typename Body>
  lockstep_status entered(lockstep_run* run, RunState* state, Body body) {
    state->entered = true;
    const lockstep_status status = guarded(host(), run, body);
    state->entered = false;
    if (state->completed || status != LOCKSTEP_OK) {
      delete state;
    }
    return status;
  }

  template <typename Body>
  lockstep_status start(lockstep_run* run, Body body) {
    auto* state = new (std::nothrow) RunState;
    if (state == nullptr) {
      host()->fail(host(), run, LOCKSTEP_E_INTERNAL, "out of memory");
      return LOCKSTEP_E_INTERNAL;
    }
    *host()->slot(run) = state;
    return entered(run, state, body);
  }

  static lockstep_status run(lockstep_hook* hook, lockstep_run* run, const lockstep_group* world,
                             const lockstep_bucket* bucket) {
    Face& face = of(hook);
    return face.start(run, [&] {
      face.world_ = world;
      face.hook_.run(Run(Host(face.host()), run, world), Bucket(bucket));
    });
  }

  static lockstep_status resume(lockstep_hook* hook, lockstep_run* run, std::uint32_t stage) {
    Face& face = of(hook);
    auto* state = static_cast<RunState*>(*face.host()->slot(run));
    return face.entered(run, state, [&] {
      const auto then = std::move(state->continuations.at(stage));
      then();
    });
  }

  static void cancel(lockstep_hook* hook, lockstep_run* run) {
    Face& face = of(hook);
    auto* state = static_cast<RunState*>(*face.host()->slot(run));
    if constexpr (requires(H h, Run r) { h.cancel(r); }) {
      (void)guarded(face.host(), nullptr,
                    [&] { face.hook_.cancel(Run(Host(face.host()), run, face.world_)); });
    }
    if (state->entered) {
      state->completed = true;
    } else {
      delete state;
    }
  }

  static void destroy(lockstep_hook* hook) { delete &of(hook); }

  template <auto call>
  static lockstep_status stepCall(lockstep_hook* hook, lockstep_run* run,
                                  const lockstep_group* world, const lockstep_step* step) {
    Face& face = of(hook);
    return face.start(run, [&] {
      face.world_ = world;
      call(face.hook_, Run(Host(face.host()), run, world), Step(step));
    });
  }

  static constexpr bool kHasBeforeForward = requires(H h, Run r, Step s) { h.beforeForward(r, s); };
  static constexpr bool kHasAfterOptimizer =
      requires(H h, Run r, Step s) { h.afterOptimizer(r, s); };
  static constexpr bool kHasEndOfRun = requires(H h, Run r, Step s) { h.endOfRun(r, s); };
  static constexpr bool kHasState = requires(H h, Writer& w) { h.save(w); };
  static constexpr bool kHasDrift = requires(H h) { h.replicasDrift(); };
  static constexpr bool kHasLiveParams = requires(H h, const Value& v) { h.set(v); };
  static constexpr bool kHasConfigure =
      requires(H h, const lockstep_optimizer_info& i) { h.configure(i); };
  static constexpr bool kHasUpdate = requires(H h, Run r, Step s) { h.update(r, s); };

  static const void* extension(lockstep_hook*, const char* id) {
    if constexpr (kHasBeforeForward || kHasAfterOptimizer || kHasEndOfRun) {
      if (std::strcmp(id, "lockstep.step/1") == 0) {
        static const lockstep_ext_step table = stepTable();
        return &table;
      }
    }
    if constexpr (kHasState) {
      if (std::strcmp(id, "lockstep.state/1") == 0) {
        static const lockstep_ext_state table{
            sizeof(lockstep_ext_state), H::kStateSchema,
            [](lockstep_hook* hook, const lockstep_writer* raw) {
              Face& face = of(hook);
              return guarded(face.host(), nullptr, [&] {
                Writer writer(raw);
                face.hook_.save(writer);
              });
            },
            [](lockstep_hook* hook, std::uint32_t schema, std::int32_t worldSize,
               lockstep_reader* raw) {
              Face& face = of(hook);
              return guarded(face.host(), nullptr, [&] {
                Reader reader(raw);
                face.hook_.load(reader, schema, worldSize);
              });
            }};
        return &table;
      }
    }
    if constexpr (kHasDrift) {
      if (std::strcmp(id, "lockstep.replicas/1") == 0) {
        static const lockstep_ext_replicas table{
            sizeof(lockstep_ext_replicas),
            [](lockstep_hook* hook) -> std::int32_t { return of(hook).hook_.replicasDrift(); }};
        return &table;
      }
    }
    if constexpr (kHasLiveParams) {
      if (std::strcmp(id, "lockstep.live-params/1") == 0) {
        static const lockstep_ext_live_params table{
            sizeof(lockstep_ext_live_params), [](lockstep_hook* hook, const lockstep_value* value) {
              Face& face = of(hook);
              return guarded(face.host(), nullptr, [&] { face.hook_.set(Value(value)); });
            }};
        return &table;
      }
    }
    if constexpr (kHasConfigure || kHasUpdate) {
      if (std::strcmp(id, "lockstep.optimizer/1") == 0) {
        static const lockstep_ext_optimizer table = optimizerTable();
        return &table;
      }
    }
    return nullptr;
  }

  static lockstep_ext_step stepTable() {
    lockstep_ext_step table{sizeof(lockstep_ext_step), nullptr, nullptr, nullptr};
    if constexpr (kHasBeforeForward) {
      table.before_forward = stepCall<[](H& h, Run r, Step s) { h.beforeForward(r, s); }>;
    }
    if constexpr (kHasAfterOptimizer) {
      table.after_optimizer = stepCall<[](H& h, Run r, Step s) { h.afterOptimizer(r, s); }>;
    }
    if constexpr (kHasEndOfRun) {
      table.end_of_run = stepCall<[](H& h, Run r, Step s) { h.endOfRun(r, s); }>;
    }
    return table;
  }

  static lockstep_ext_optimizer optimizerTable() {
    lockstep_ext_optimizer table{sizeof(lockstep_ext_optimizer), nullptr, nullptr, nullptr};
    if constexpr (kHasConfigure) {
      table.configure = [](lockstep_hook* hook, const lockstep_optimizer_info* info) {
        Face& face = of(hook);
        return guarded(face.host(), nullptr, [&] { face.hook_.configure(*info); });
      };
    }
    if constexpr (kHasUpdate) {
      table.owns_update = [](lockstep_hook* hook) -> std::int32_t {
        if constexpr (requires(H h) { h.ownsUpdate(); }) {
          return of(hook).hook_.ownsUpdate() ? 1 : 0;
        }
        return 1;
      };
      table.update = stepCall<[](H& h, Run r, Step s) { h.update(r, s); }>;
    }
    return table;
  }

  lockstep_hook table_{};
  H hook_;
  const lockstep_group* world_ = nullptr;
};

/// Made once.
template <class H>
const Description& descriptionOf() {
  static const Description& description = H::description();
  return description;
}

/// The entry of a plugin with these hooks.
template <class... Hooks>
struct Entry {
  static std::uint32_t count() { return sizeof...(Hooks); }

  static const lockstep_hook_info* info(std::uint32_t index) {
    const lockstep_hook_info* const all[] = {descriptionOf<Hooks>().info()...};
    return index < sizeof...(Hooks) ? all[index] : nullptr;
  }

  static lockstep_status create(const lockstep_host* host, const char* id,
                                const lockstep_value* values, std::uint32_t count,
                                lockstep_hook** out) {
    lockstep_status status = LOCKSTEP_E_ARGUMENT;
    const bool known = ((std::strcmp(descriptionOf<Hooks>().info()->id, id) == 0 &&
                         (status = Face<Hooks>::create(host, values, count, out), true)) ||
                        ...);
    if (!known) {
      host->fail(host, nullptr, status, "there is no hook of that id in this plugin");
    }
    return status;
  }

  static constexpr lockstep_plugin kTable{sizeof(lockstep_plugin), LOCKSTEP_ABI_MINOR, nullptr,
                                          nullptr,                 count,              info,
                                          create};
};

}  // namespace detail

}  // namespace lockstep::plugin
