#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace lockstep {

/// Loads a profiler plugin and speaks to it as NCCL of one version of the interface does: with the
/// structs as that version lays them out, byte for byte, and on whatever thread it is called on.
/// Facts are from https://github.com/NVIDIA/nccl, src/include/plugin/profiler.
class FakeNccl {
 public:
  /// Bits of the mask.
  static constexpr int kColl = 1 << 1;
  static constexpr int kP2p = 1 << 2;
  static constexpr int kProxyOp = 1 << 3;
  static constexpr int kKernelChannel = 1 << 6;
  static constexpr int kCollApi = 1 << 9;
  static constexpr int kP2pApi = 1 << 10;

  /// Opens the file as NCCL does, and looks for the version's symbol.
  FakeNccl(const std::string& path, int version) : version_(version) {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) {
      table_ = static_cast<void**>(
          dlsym(library_, ("ncclProfiler_v" + std::to_string(version)).c_str()));
    }
  }
  ~FakeNccl() {
    if (library_ != nullptr) {
      dlclose(library_);
    }
  }
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  [[nodiscard]] bool isLoaded() const { return table_ != nullptr; }
  [[nodiscard]] void* library() const { return library_; }
  [[nodiscard]] const char* name() const { return static_cast<const char*>(table_[0]); }

  /// What NCCL asks for before it tells of an event; one for all communicators, as in NCCL.
  int mask = -1;

  void* init(int ranks, int rank) {
    void* context = nullptr;
    const char* name = "a communicator";
    if (version_ == 4) {
      using Init = int (*)(void**, int*, const char*, std::uint64_t, int, int, int, void*);
      result_ |=
          reinterpret_cast<Init>(table_[1])(&context, &mask, name, 77, 1, ranks, rank, nullptr);
    } else {
      using Init = int (*)(void**, std::uint64_t, int*, const char*, int, int, int, void*);
      result_ |=
          reinterpret_cast<Init>(table_[1])(&context, 77, &mask, name, 1, ranks, rank, nullptr);
    }
    return context;
  }

  void* collApi(void* context, const char* function, std::size_t count, const char* type,
                bool captured = false) {
    if ((mask & kCollApi) == 0) {
      return nullptr;
    }
    Descriptor event = descriptor(kCollApi, nullptr);
    event.put(24, function).put(32, count).put(40, type).put<int>(48, 0).put(64, captured);
    void* handle = start(context, event);
    result_ |= stop(handle);
    return handle;
  }

  void* coll(void* context, void* parent, std::uint64_t sequence, const char* function,
             std::size_t count, const char* type, std::uint8_t channels) {
    if ((mask & kColl) == 0) {
      return nullptr;
    }
    Descriptor event = descriptor(kColl, parent);
    event.put(24, sequence).put(32, function).put(56, count).put<int>(64, 0).put(72, type);
    event.put(80, channels).put<std::uint8_t>(81, 16).put(88, "RING").put(96, "SIMPLE");
    void* handle = start(context, event);
    stopIfAny(handle);
    return handle;
  }

  void* p2p(void* context, void* parent, const char* function, std::size_t count, const char* type,
            std::uint8_t channels) {
    Descriptor event = descriptor(kP2p, parent);
    event.put(24, function).put(40, type).put(48, count).put<int>(56, 1).put(60, channels);
    void* handle = start(context, event);
    stopIfAny(handle);
    return handle;
  }

  void* kernelStart(void* context, void* parent, std::uint8_t channel, std::uint64_t timer) {
    if ((mask & kKernelChannel) == 0) {
      return nullptr;
    }
    Descriptor event = descriptor(kKernelChannel, parent);
    event.put(24, channel).put(32, timer);
    return start(context, event);
  }

  void kernelStop(void* handle, std::uint64_t timer) {
    if (handle == nullptr) {
      return;
    }
    using Record = int (*)(void*, int, void*);
    result_ |= reinterpret_cast<Record>(table_[4])(handle, 22, &timer);
    result_ |= stop(handle);
  }

  /// An event that nobody asked for.
  void* other(void* context, int type) { return start(context, descriptor(type, nullptr)); }

  void finalize(void* context) {
    if (context != nullptr) {
      using Finalize = int (*)(void*);
      result_ |= reinterpret_cast<Finalize>(table_[5])(context);
    }
  }

  /// Whether every call returned ncclSuccess.
  [[nodiscard]] bool succeeded() const { return result_ == 0; }

 private:
  /// An event as it lies in memory; what is not put is rubbish, as on a stack.
  struct Descriptor {
    alignas(8) unsigned char bytes[160];

    template <typename T>
    Descriptor& put(std::size_t offset, T value) {
      std::memcpy(bytes + offset, &value, sizeof(value));
      return *this;
    }
  };

  Descriptor descriptor(int type, void* parent) const {
    Descriptor event;
    std::memset(event.bytes, 0xEE, sizeof(event.bytes));
    if (version_ == 4) {
      event.put(0, static_cast<std::uint8_t>(type));
    } else {
      event.put(0, static_cast<std::uint64_t>(type));
    }
    event.put(8, parent).put<int>(16, 0);
    return event;
  }

  void* start(void* context, Descriptor event) {
    void* handle = &event;  // NCCL does not clear it
    using Start = int (*)(void*, void**, void*);
    result_ |= reinterpret_cast<Start>(table_[2])(context, &handle, event.bytes);
    return handle;
  }

  int stop(void* handle) {
    using Stop = int (*)(void*);
    return reinterpret_cast<Stop>(table_[3])(handle);
  }

  void stopIfAny(void* handle) {
    if (handle != nullptr) {
      result_ |= stop(handle);
    }
  }

  int version_;
  void* library_ = nullptr;
  void** table_ = nullptr;
  std::atomic<int> result_ = 0;  // communicators have threads of their own
};

}  // namespace lockstep
