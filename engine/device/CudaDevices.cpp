#include "engine/device/CudaDevices.h"

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

namespace lockstep::device {
namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    (void)cudaGetLastError();  // else the next call of anybody's reports it again
    throw DeviceError(fmt::format("{}: {}", what, cudaGetErrorString(status)));
  }
}

/// libtorch's own exceptions are of the device here.
template <typename Function>
auto guarded(Function function) {
  try {
    return function();
  } catch (const c10::Error& error) {
    throw DeviceError(error.what_without_backtrace());
  }
}

/// While it lives the calling thread works on the device, unlike c10::cuda::CUDAGuard also on one
/// that has failed. Without it a call of CUDA begins to use the first device of the host.
class DeviceOfThread {
 public:
  explicit DeviceOfThread(c10::DeviceIndex device) {
    changed_ = cudaGetDevice(&before_) == cudaSuccess && before_ != device &&
               cudaSetDevice(device) == cudaSuccess;
  }
  ~DeviceOfThread() {
    if (changed_) {
      // Not cudaSetDevice(), which would make a context there that nobody uses.
      (void)c10::cuda::MaybeSetDevice(static_cast<c10::DeviceIndex>(before_));
    }
  }
  DeviceOfThread(const DeviceOfThread&) = delete;
  DeviceOfThread& operator=(const DeviceOfThread&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(c10::DeviceIndex device, bool timed) : device_(device) {
    const c10::cuda::CUDAGuard guard(device_);
    check(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreate");
  }
  ~CudaEvent() override {
    if (event_ != nullptr) {
      (void)cudaEventDestroy(event_);  // of a broken device it fails, and frees nothing
    }
  }

  void record(const c10::Stream& stream) override {
    guarded([&] {
      const c10::cuda::CUDAGuard guard(device_);
      check(cudaEventRecord(event_, c10::cuda::CUDAStream(stream).stream()), "cudaEventRecord");
    });
  }
  void block(const c10::Stream& stream) const override {
    guarded([&] {
      const c10::cuda::CUDAGuard guard(stream.device_index());
      check(cudaStreamWaitEvent(c10::cuda::CUDAStream(stream).stream(), event_, 0),
            "cudaStreamWaitEvent");
    });
  }
  [[nodiscard]] bool passed() const override {
    const DeviceOfThread onDevice(device_);
    const cudaError_t status = cudaEventQuery(event_);
    // CUDA keeps it as the last error, and somebody else would find it.
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    check(status, "cudaEventQuery");
    return true;
  }
  [[nodiscard]] double nanosecondsSince(const Event& earlier) const override {
    const DeviceOfThread onDevice(device_);
    float milliseconds = 0;
    check(
        cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(earlier).event_, event_),
        "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e6;
  }

 private:
  const c10::DeviceIndex device_;
  cudaEvent_t event_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(c10::DeviceIndex index) : device_(c10::DeviceType::CUDA, index) {}

  [[nodiscard]] c10::Device device() const override { return device_; }
  [[nodiscard]] c10::Stream currentStream() const override {
    return guarded([&] { return c10::cuda::getCurrentCUDAStream(device_.index()).unwrap(); });
  }
  [[nodiscard]] c10::Stream makeStream() override {
    // Not from libtorch's pool, which has 32 of them and then gives the first one again.
    return guarded([&] {
      const c10::cuda::CUDAGuard guard(device_);
      int lowest = 0;
      int highest = 0;
      check(cudaDeviceGetStreamPriorityRange(&lowest, &highest),
            "cudaDeviceGetStreamPriorityRange");
      cudaStream_t stream = nullptr;
      check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest),
            "cudaStreamCreateWithPriority");
      return c10::cuda::getStreamFromExternal(stream, device_.index()).unwrap();
    });
  }
  void releaseStream(const c10::Stream& stream) override {
    (void)cudaStreamDestroy(c10::cuda::CUDAStream(stream).stream());
  }
  [[nodiscard]] std::unique_ptr<Event> makeEvent(bool timed) override {
    return guarded([&] { return std::make_unique<CudaEvent>(device_.index(), timed); });
  }
  void onStream(const c10::Stream& stream, const std::function<void()>& queue) override {
    guarded([&] {
      const c10::cuda::CUDAStreamGuard guard(stream);
      queue();
    });
  }

 private:
  const c10::Device device_;
};

class CudaDevices final : public Devices {
 public:
  [[nodiscard]] c10::DeviceType type() const override { return c10::DeviceType::CUDA; }

  [[nodiscard]] c10::DeviceIndex current() const override {
    // libtorch counts no devices where the driver is missing, and does not say why.
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (count == 0) {
      throw DeviceError("CUDA sees no device");
    }
    return guarded([] { return c10::cuda::current_device(); });
  }

  [[nodiscard]] Device& at(c10::DeviceIndex index) override {
    std::lock_guard lock(mutex_);
    auto& device = devices_[index];
    if (device == nullptr) {
      device = std::make_unique<CudaDevice>(index);
    }
    return *device;
  }

 private:
  std::mutex mutex_;
  std::map<c10::DeviceIndex, std::unique_ptr<CudaDevice>> devices_;
};

}  // namespace

std::shared_ptr<Devices> cudaDevices() {
  return std::make_shared<CudaDevices>();
}

}  // namespace lockstep::device
