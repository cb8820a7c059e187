#include "engine/process_group/nccl/NcclLibrary.h"

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace lockstep::process_group::nccl {
namespace {

using Clock = std::chrono::steady_clock;

// How long the end of a communicator waits for the other ranks' ends.
constexpr std::chrono::seconds kFarewell{5};
constexpr std::chrono::microseconds kFarewellPoll{100};

CommErrorKind kindOf(ncclResult_t result) {
  return result == ncclRemoteError   ? CommErrorKind::kRemote
         : result == ncclSystemError ? CommErrorKind::kNetwork
                                     : CommErrorKind::kBackend;
}

[[noreturn]] void raise(ncclResult_t result, const char* what, ncclComm_t communicator) {
  const char* last = ncclGetLastError(communicator);
  std::string text = fmt::format("{}: {}", what, ncclGetErrorString(result));
  if (last != nullptr && *last != '\0') {
    text += fmt::format("; {}", last);
  }
  // NCCL's own words do not say what to do about it.
  if (text.find("Duplicate GPU") != std::string::npos) {
    text += "; ranks may share a GPU where CUDA_VISIBLE_DEVICES is not set";
  }
  throw LibraryError(text, kindOf(result));
}

/// A call that goes on in the background (ncclInProgress) is no failure: communicators do not
/// block.
void check(ncclResult_t result, const char* what, ncclComm_t communicator = nullptr) {
  if (result != ncclSuccess && result != ncclInProgress) {
    raise(result, what, communicator);
  }
}

ncclDataType_t typeOf(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Char:
      return ncclInt8;
    case c10::ScalarType::Byte:
      return ncclUint8;
    case c10::ScalarType::Int:
      return ncclInt32;
    case c10::ScalarType::Long:
      return ncclInt64;
    case c10::ScalarType::Half:
      return ncclFloat16;
    case c10::ScalarType::BFloat16:
      return ncclBfloat16;
    case c10::ScalarType::Float:
      return ncclFloat32;
    case c10::ScalarType::Double:
      return ncclFloat64;
    default:
      break;
  }
  throw LibraryError(fmt::format("NCCL has no {}", c10::toString(type)), CommErrorKind::kBackend);
}

ncclRedOp_t operationOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ncclSum;
    case ReduceOp::kAverage:
      return ncclAvg;
    case ReduceOp::kProduct:
      return ncclProd;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kMax:
      return ncclMax;
    default:
      break;
  }
  throw LibraryError(fmt::format("NCCL has no {}", name(op)), CommErrorKind::kBackend);
}

cudaStream_t of(const c10::Stream& stream) {
  return c10::cuda::CUDAStream(stream).stream();
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const ncclUniqueId& id, int size, int rank, c10::Device device)
      : device_(device) {
    const c10::cuda::CUDAGuard guard(device_);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    // Not blocking, so that a call can be given up from another thread when ranks do not come.
    config.blocking = 0;
    check(ncclCommInitRankConfig(&communicator_, size, id, rank, &config), "ncclCommInitRank");
  }

  ~NcclCommunicator() override {
    if (communicator_ == nullptr || aborted_.exchange(true)) {
      return;
    }
    (void)cudaSetDevice(device_.index());  // the thread is its own, and the device may have failed
    // Waits for the peers, which may never come to it.
    ncclResult_t state = ncclCommFinalize(communicator_);
    const auto deadline = Clock::now() + kFarewell;
    while (state == ncclInProgress && Clock::now() < deadline) {
      std::this_thread::sleep_for(kFarewellPoll);
      (void)ncclCommGetAsyncError(communicator_, &state);
    }
    // Not finalised in time, or failed: it is aborted, which waits for no other rank.
    (void)(state == ncclSuccess ? ncclCommDestroy(communicator_) : ncclCommAbort(communicator_));
  }

  void allreduce(void* data, std::size_t count, c10::ScalarType type, ReduceOp op,
                 const c10::Stream& stream) override {
    check(ncclAllReduce(data, data, count, typeOf(type), operationOf(op), usable(), of(stream)),
          "ncclAllReduce", communicator_);
  }
  void broadcast(void* data, std::size_t count, c10::ScalarType type, int root,
                 const c10::Stream& stream) override {
    check(ncclBroadcast(data, data, count, typeOf(type), root, usable(), of(stream)),
          "ncclBroadcast", communicator_);
  }
  void reduce(const void* from, void* to, std::size_t count, c10::ScalarType type, ReduceOp op,
              int root, const c10::Stream& stream) override {
    check(ncclReduce(from, to, count, typeOf(type), operationOf(op), root, usable(), of(stream)),
          "ncclReduce", communicator_);
  }
  void allgather(const void* from, void* to, std::size_t count, c10::ScalarType type,
                 const c10::Stream& stream) override {
    check(ncclAllGather(from, to, count, typeOf(type), usable(), of(stream)), "ncclAllGather",
          communicator_);
  }
  void reduceScatter(const void* from, void* to, std::size_t count, c10::ScalarType type,
                     ReduceOp op, const c10::Stream& stream) override {
    check(ncclReduceScatter(from, to, count, typeOf(type), operationOf(op), usable(), of(stream)),
          "ncclReduceScatter", communicator_);
  }
  void send(const void* from, std::size_t count, c10::ScalarType type, int peer,
            const c10::Stream& stream) override {
    check(ncclSend(from, count, typeOf(type), peer, usable(), of(stream)), "ncclSend",
          communicator_);
  }
  void recv(void* to, std::size_t count, c10::ScalarType type, int peer,
            const c10::Stream& stream) override {
    check(ncclRecv(to, count, typeOf(type), peer, usable(), of(stream)), "ncclRecv", communicator_);
  }

  [[nodiscard]] bool ready() override {
    // Asks for the communicator's state: the result of everything that was asked of it so far.
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(usable(), &state), "ncclCommGetAsyncError", communicator_);
    check(state, "NCCL", communicator_);
    return state == ncclSuccess;
  }

  void abort() override {
    // Once, and never together with the destructor's farewell.
    if (!aborted_.exchange(true)) {
      (void)cudaSetDevice(device_.index());
      (void)ncclCommAbort(communicator_);  // there is nothing left to do with what it says
    }
  }

 private:
  [[nodiscard]] ncclComm_t usable() const {
    if (aborted_) {
      throw LibraryError("the communicator was given up", CommErrorKind::kAborted);
    }
    return communicator_;
  }

  const c10::Device device_;
  ncclComm_t communicator_ = nullptr;
  std::atomic<bool> aborted_{false};
};

int numberFrom(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

// Ranks that share a GPU, as they do in tests: NCCL 2.30 has a switch for it, and older ones take
// ranks for other hosts' if they are told so. What the user has set stays; and where each rank was
// given a GPU of its own to see, fewer GPUs than ranks mean nothing.
void allowSharedDevices(int version) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 ||
      numberFrom("LOCAL_WORLD_SIZE") <= devices || std::getenv("CUDA_VISIBLE_DEVICES") != nullptr) {
    // The failed question leaves an error in CUDA, which the next call would report as its own.
    (void)cudaGetLastError();
    return;
  }
  if (version >= NCCL_VERSION(2, 30, 0)) {
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  } else {
    std::array<char, 256> host{};
    (void)gethostname(host.data(), host.size() - 1);
    // Ranks that share a device get ids of different hosts: NCCL refuses two ranks of one host on
    // one device.
    const std::string id = fmt::format("{}-{}", host.data(), numberFrom("LOCAL_RANK") / devices);
    setenv("NCCL_HOSTID", id.c_str(), 0);
  }
}

class NcclLibrary final : public Library {
 public:
  NcclLibrary() { allowSharedDevices(version()); }

  [[nodiscard]] std::string name() const override {
    const int number = version();
    return fmt::format("NCCL {}.{}.{}", number / 10'000, number / 100 % 100, number % 100);
  }
  [[nodiscard]] std::string makeId() override {
    ncclUniqueId id{};
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    return {id.internal, sizeof(id.internal)};
  }
  [[nodiscard]] std::unique_ptr<Communicator> join(const std::string& id, int size, int rank,
                                                   c10::Device device) override {
    ncclUniqueId unique{};
    if (id.size() != sizeof(unique.internal)) {
      throw LibraryError(fmt::format("the id in the store has {} bytes, not {}", id.size(),
                                     sizeof(unique.internal)),
                         CommErrorKind::kStore);
    }
    std::memcpy(unique.internal, id.data(), id.size());
    return std::make_unique<NcclCommunicator>(unique, size, rank, device);
  }
  void groupStart() override { check(ncclGroupStart(), "ncclGroupStart"); }
  void groupEnd() override { check(ncclGroupEnd(), "ncclGroupEnd"); }

 private:
  static int version() {
    int number = 0;
    check(ncclGetVersion(&number), "ncclGetVersion");
    return number;
  }
};

}  // namespace

std::shared_ptr<Library> ncclLibrary() {
  return std::make_shared<NcclLibrary>();
}

}  // namespace lockstep::process_group::nccl
