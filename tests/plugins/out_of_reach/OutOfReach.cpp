// A hook of the library, INSIDE, between this and the host: what the host has on the CPU it is
// shown as memory of a device, at addresses that no instruction can read, so that it gets along
// with lockstep.math/1 or dies.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <lockstep/comm_hook.h>

namespace {

constexpr std::uintptr_t kOutOfReach = std::uintptr_t{1} << 62;
int stream;  // its address is the stream

lockstep_buffer shown(lockstep_buffer buffer) {
  if (buffer.data != nullptr) {
    buffer.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(buffer.data) + kOutOfReach);
  }
  buffer.device = LOCKSTEP_CUDA;
  buffer.stream = &stream;
  return buffer;
}

lockstep_buffer real(lockstep_buffer buffer) {
  if (buffer.device == LOCKSTEP_CUDA) {
    if (buffer.data != nullptr) {
      buffer.data =
          reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(buffer.data) - kOutOfReach);
    }
    buffer.device = LOCKSTEP_CPU;
    buffer.stream = nullptr;
  }
  return buffer;
}

const lockstep_plugin* inside = nullptr;
std::atomic<decltype(lockstep_host::scratch)> realScratch{nullptr};  // the same of all hosts

struct Group {
  lockstep_group table;
  const lockstep_group* real;
};

const lockstep_group* realOf(const lockstep_group* group) {
  return reinterpret_cast<const Group*>(group)->real;
}

struct Posing {
  lockstep_hook table{};
  lockstep_host host{};
  const lockstep_host* real = nullptr;
  const lockstep_ext_math* math = nullptr;
  lockstep_hook* hook = nullptr;
  std::deque<Group> groups;
  std::map<lockstep_run*, lockstep_bucket> buckets;

  const lockstep_group* show(const lockstep_group* group) {
    Group& shown = groups.emplace_back(Group{*group, group});
    shown.table.all_reduce = [](const lockstep_group* of, lockstep_run* run, std::uint32_t stage,
                                const lockstep_buffer* inout, std::int32_t op) {
      const lockstep_buffer there = ::real(*inout);
      return realOf(of)->all_reduce(realOf(of), run, stage, &there, op);
    };
    return &shown.table;
  }
};

Posing& of(const lockstep_host* host) {
  return *static_cast<Posing*>(host->data);
}
Posing& of(lockstep_hook* hook) {
  return *static_cast<Posing*>(hook->self);
}

const lockstep_ext_math& shownMath() {
  static const lockstep_ext_math table{
      sizeof table,
      [](const lockstep_host* host, const lockstep_buffer* like, std::int64_t numel,
         std::int32_t dtype, lockstep_buffer* out) {
        const lockstep_buffer there = real(*like);
        const lockstep_status status =
            of(host).math->allocate(of(host).real, &there, numel, dtype, out);
        *out = shown(*out);
        return status;
      },
      [](const lockstep_host* host, const lockstep_buffer* buffer) {
        const lockstep_buffer there = real(*buffer);
        of(host).math->release(of(host).real, &there);
      },
      [](const lockstep_host* host, const lockstep_buffer* in, const lockstep_buffer* out) {
        const lockstep_buffer from = real(*in);
        const lockstep_buffer to = real(*out);
        return of(host).math->copy(of(host).real, &from, &to);
      },
      [](const lockstep_host* host, const lockstep_buffer* out, double value) {
        const lockstep_buffer there = real(*out);
        return of(host).math->fill(of(host).real, &there, value);
      },
      [](const lockstep_host* host, const lockstep_buffer* inout, double factor) {
        const lockstep_buffer there = real(*inout);
        return of(host).math->multiply(of(host).real, &there, factor);
      },
      [](const lockstep_host* host, const lockstep_buffer* inout, double divisor) {
        const lockstep_buffer there = real(*inout);
        return of(host).math->divide(of(host).real, &there, divisor);
      },
      [](const lockstep_host* host, const lockstep_buffer* inout, const lockstep_buffer* in,
         double factor) {
        const lockstep_buffer to = real(*inout);
        const lockstep_buffer from = real(*in);
        return of(host).math->add_scaled(of(host).real, &to, &from, factor);
      },
      [](const lockstep_host* host, const lockstep_buffer* a, const lockstep_buffer* b,
         const lockstep_buffer* out, std::int64_t m, std::int64_t k, std::int64_t n,
         std::uint32_t transposed) {
        const lockstep_buffer left = real(*a);
        const lockstep_buffer right = real(*b);
        const lockstep_buffer product = real(*out);
        return of(host).math->matmul(of(host).real, &left, &right, &product, m, k, n, transposed);
      }};
  return table;
}

void fillHost(Posing& posing) {
  posing.host = *posing.real;
  posing.host.data = &posing;
  posing.host.extension = [](const lockstep_host*, const char* id) -> const void* {
    return std::strcmp(id, "lockstep.math/1") == 0 ? &shownMath() : nullptr;
  };
  posing.host.fail = [](const lockstep_host* host, lockstep_run* run, lockstep_status status,
                        const char* text) { of(host).real->fail(of(host).real, run, status, text); };
  posing.host.log = [](const lockstep_host* host, std::int32_t level, const char* text) {
    of(host).real->log(of(host).real, level, text);
  };
  posing.host.scratch = [](lockstep_run* run, std::int64_t numel, std::int32_t dtype,
                           lockstep_buffer* out) {
    const lockstep_status status = realScratch.load()(run, numel, dtype, out);
    *out = shown(*out);
    return status;
  };
  posing.host.subgroup = nullptr;
  posing.host.world = [](const lockstep_host* host) -> const lockstep_group* {
    return &of(host).groups.front().table;
  };
}

const lockstep_ext_state* stateOf(lockstep_hook* hook) {
  return static_cast<const lockstep_ext_state*>(
      of(hook).hook->extension(of(hook).hook, "lockstep.state/1"));
}

const void* extension(lockstep_hook* hook, const char* id) {
  if (std::strcmp(id, "lockstep.state/1") != 0 || stateOf(hook) == nullptr) {
    return nullptr;
  }
  static const lockstep_ext_state table{
      sizeof table, stateOf(hook)->schema,
      [](lockstep_hook* own, const lockstep_writer* writer) {
        return stateOf(own)->save(of(own).hook, writer);
      },
      [](lockstep_hook* own, std::uint32_t schema, std::int32_t world, lockstep_reader* reader) {
        return stateOf(own)->load(of(own).hook, schema, world, reader);
      }};
  return &table;
}

lockstep_status create(const lockstep_host* host, const char* id, const lockstep_value* values,
                       std::uint32_t count, lockstep_hook** out) {
  auto posing = std::make_unique<Posing>();
  realScratch = host->scratch;
  posing->real = host;
  posing->math =
      static_cast<const lockstep_ext_math*>(host->extension(host, "lockstep.math/1"));
  posing->show(host->world(host));
  fillHost(*posing);
  posing->table = {
      sizeof posing->table, posing.get(),
      [](lockstep_hook* hook, lockstep_run* run, const lockstep_group*,
         const lockstep_bucket* bucket) {
        lockstep_bucket& seen = of(hook).buckets[run];
        seen = *bucket;
        seen.flat = shown(seen.flat);
        return of(hook).hook->run(of(hook).hook, run, &of(hook).groups.front().table, &seen);
      },
      [](lockstep_hook* hook, lockstep_run* run, std::uint32_t stage) {
        return of(hook).hook->resume(of(hook).hook, run, stage);
      },
      [](lockstep_hook* hook, lockstep_run* run) { of(hook).hook->cancel(of(hook).hook, run); },
      extension,
      [](lockstep_hook* hook) {
        of(hook).hook->destroy(of(hook).hook);
        delete &of(hook);
      }};
  const lockstep_status status = inside->create(&posing->host, id, values, count, &posing->hook);
  if (status == LOCKSTEP_OK) {
    *out = &posing.release()->table;
  }
  return status;
}

/// Opens the hook that stands in the folder of the library's own hooks, and refuses one that does
/// not take devices.
lockstep_status init(const char* path) {
  const auto file =
      std::filesystem::path(path).parent_path().parent_path() / "hooks" / INSIDE ".so";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  inside = library == nullptr
               ? nullptr
               : static_cast<const lockstep_plugin*>(dlsym(library, LOCKSTEP_PLUGIN_SYMBOL));
  const bool takes =
      inside != nullptr && (inside->hook_info(0)->devices & (1U << LOCKSTEP_CUDA)) != 0;
  return takes ? LOCKSTEP_OK : LOCKSTEP_E_UNSUPPORTED;
}

const lockstep_hook_info* info(std::uint32_t index) {
  static lockstep_hook_info shownInfo = *inside->hook_info(0);
  shownInfo.devices = 1U << LOCKSTEP_CPU;
  return index == 0 ? &shownInfo : nullptr;
}

}  // namespace

extern "C" const lockstep_plugin lockstep_comm_hook_plugin_v1 = {
    sizeof(lockstep_plugin), LOCKSTEP_ABI_MINOR, init, nullptr, [] { return 1U; }, info, create};
