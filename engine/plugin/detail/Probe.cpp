#include "engine/plugin/detail/Probe.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "engine/plugin/HookValues.h"
#include "engine/plugin/PluginLibrary.h"

namespace lockstep::plugin::detail {

namespace {

/// A host without other ranks and without runs: all that a hook may call while it is made.
class LonelyHost {
 public:
  LonelyHost() {
    world_.struct_size = sizeof world_;
    world_.size = 1;
    world_.all_reduce = [](const lockstep_group*, lockstep_run*, std::uint32_t,
                           const lockstep_buffer*, std::int32_t) { return kRefused; };
    world_.all_gather = [](const lockstep_group*, lockstep_run*, std::uint32_t,
                           const lockstep_buffer*, const lockstep_buffer*) { return kRefused; };
    world_.reduce_scatter = [](const lockstep_group*, lockstep_run*, std::uint32_t,
                               const lockstep_buffer*, const lockstep_buffer*,
                               std::int32_t) { return kRefused; };
    world_.broadcast = [](const lockstep_group*, lockstep_run*, std::uint32_t,
                          const lockstep_buffer*, std::int32_t) { return kRefused; };
    world_.all_to_all = [](const lockstep_group*, lockstep_run*, std::uint32_t,
                           const lockstep_buffer*, const std::int64_t*, const lockstep_buffer*,
                           const std::int64_t*) { return kRefused; };
    world_.exchange = [](const lockstep_group*, lockstep_run*, std::uint32_t,
                         const lockstep_buffer*, std::int32_t, const lockstep_buffer*,
                         std::int32_t) { return kRefused; };
    host_.struct_size = sizeof host_;
    host_.data = this;
    host_.name = "lockstep-hookscan";
    host_.version = "";
    host_.extension = [](const lockstep_host*, const char* id) -> const void* {
      return std::string_view(id) == "lockstep.math/1" ? &kMath : nullptr;
    };
    host_.log = [](const lockstep_host*, std::int32_t, const char*) {};
    host_.fail = [](const lockstep_host* host, lockstep_run*, lockstep_status, const char* text) {
      of(host).reason_ = text == nullptr ? "" : text;
    };
    host_.scratch = [](lockstep_run*, std::int64_t, std::int32_t, lockstep_buffer*) {
      return kRefused;
    };
    host_.mark = [](lockstep_run*, std::int32_t, std::int32_t) {};
    host_.counter = [](lockstep_run*, const char*, double) {};
    host_.no_more = [](lockstep_run*) {};
    host_.result_ready = [](lockstep_run*) {};
    host_.complete = [](lockstep_run*) {};
    host_.slot = [](lockstep_run*) -> void** { return nullptr; };
    // Groups may be made in create(); of this world the only one is the world itself.
    host_.subgroup = [](const lockstep_host* host, const std::int32_t* ranks, std::uint32_t count,
                        const lockstep_group** out) -> lockstep_status {
      const bool own = count == 1 && ranks[0] == 0;
      *out = own ? &of(host).world_ : nullptr;
      return own ? LOCKSTEP_OK : kRefused;
    };
    host_.world = [](const lockstep_host* host) -> const lockstep_group* {
      return &of(host).world_;
    };
  }
  LonelyHost(const LonelyHost&) = delete;
  LonelyHost& operator=(const LonelyHost&) = delete;

  [[nodiscard]] const lockstep_host* table() const { return &host_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  static constexpr lockstep_status kRefused = LOCKSTEP_E_UNSUPPORTED;
  static constexpr lockstep_ext_math kMath{
      sizeof(lockstep_ext_math),
      [](const lockstep_host*, const lockstep_buffer*, std::int64_t, std::int32_t,
         lockstep_buffer*) { return kRefused; },
      [](const lockstep_host*, const lockstep_buffer*) {},
      [](const lockstep_host*, const lockstep_buffer*, const lockstep_buffer*) { return kRefused; },
      [](const lockstep_host*, const lockstep_buffer*, double) { return kRefused; },
      [](const lockstep_host*, const lockstep_buffer*, double) { return kRefused; },
      [](const lockstep_host*, const lockstep_buffer*, double) { return kRefused; },
      [](const lockstep_host*, const lockstep_buffer*, const lockstep_buffer*, double) {
        return kRefused;
      },
      [](const lockstep_host*, const lockstep_buffer*, const lockstep_buffer*,
         const lockstep_buffer*, std::int64_t, std::int64_t, std::int64_t, std::uint32_t) {
        return kRefused;
      }};
  static LonelyHost& of(const lockstep_host* host) { return *static_cast<LonelyHost*>(host->data); }

  lockstep_group world_{};
  lockstep_host host_{};
  std::string reason_;
};

constexpr std::array<std::pair<std::string_view, const char*>, 4> kExtensions{{
    {"state", "lockstep.state/1"},
    {"step", "lockstep.step/1"},
    {"optimizer", "lockstep.optimizer/1"},
    {"live-params", "lockstep.live-params/1"},
}};

bool drifts(lockstep_hook& made) {
  const auto* table = made.extension == nullptr
                          ? nullptr
                          : static_cast<const lockstep_ext_replicas*>(
                                made.extension(&made, "lockstep.replicas/1"));
  return table != nullptr && table->drift != nullptr && table->drift(&made) != 0;
}

}  // namespace

void probe(HookInfo& hook, const Create& create) {
  LonelyHost host;
  const auto values = valuesOf(hook, {});
  lockstep_hook* made = nullptr;
  const lockstep_status status = create(host.table(), hook.id.c_str(), values.data(),
                                        static_cast<std::uint32_t>(values.size()), &made);
  if (status != LOCKSTEP_OK) {
    hook.refusal =
        host.reason().empty() ? fmt::format("it returned status {}", status) : host.reason();
    return;
  }
  // It cannot be destroyed either.
  if (!isWhole(made)) {
    hook.refusal = "its table lacks run, resume or destroy";
    return;
  }
  for (const auto& [name, id] : kExtensions) {
    if (made->extension != nullptr && made->extension(made, id) != nullptr) {
      hook.extensions.emplace_back(name);
    }
  }
  if (drifts(*made)) {
    hook.extensions.emplace_back("replicas");
  }
  made->destroy(made);
}

}  // namespace lockstep::plugin::detail
