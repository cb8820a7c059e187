// On a device a call takes effect behind what its caller has queued. A checked one is made by
// another thread, which works on another stream.
#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "engine/process_group/checked/CheckedGroup.h"
#include "tests/engine/process_group/GroupThreads.h"
#include "tests/engine/process_group/checked/StandIn.h"

namespace lockstep::process_group {
namespace {

// A device type that no build of libtorch here brings, with a current stream a thread.
constexpr c10::DeviceType kDevice = c10::DeviceType::Vulkan;
const c10::Device kFirst(kDevice, 0);
const c10::Stream kUsual(c10::Stream::DEFAULT, kFirst);
const c10::Stream kOther(c10::Stream::UNSAFE, kFirst, 7);

class StreamsOfThreads final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device) const override { return kFirst; }
  c10::Device getDevice() const override { return kFirst; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const noexcept override { return current(); }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return std::exchange(current(), stream);
  }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

 private:
  static c10::Stream& current() {
    thread_local c10::Stream stream = kUsual;
    return stream;
  }
};
C10_REGISTER_GUARD_IMPL(Vulkan, StreamsOfThreads);

/// A tensor of which nothing is asked but what it is.
at::Tensor onDevice() {
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::DispatchKeySet(c10::DispatchKey::Vulkan), caffe2::TypeMeta::Make<float>(), kFirst);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({4});
  return tensor;
}

/// Notes the stream that each call is made on.
class Asked final : public StandIn {
 public:
  using StandIn::StandIn;

  std::vector<c10::Stream> streams;

 protected:
  WorkPtr start(Request request) override {
    streams.push_back(StreamsOfThreads().getStream(kFirst));
    auto work = std::make_shared<WorkState>(CommError::Where{}, request.outputs, timeout());
    work->succeed();
    return work;
  }
};

TEST(CheckedStream, OfACallIsThatOfItsCallerWhoeverMakesIt) {
  runGroup(2, [](ProcessGroup& checks) {
    const auto asked = std::make_shared<Asked>(checks.rank());
    CheckedGroup::Options options;
    options.mode = CheckMode::kAlways;
    CheckedGroup group(asked, {std::shared_ptr<void>(), &checks}, options);
    std::vector<ProcessGroup::WorkPtr> works;
    {
      const c10::StreamGuard hooks(kOther);
      works.push_back(group.allreduce({onDevice()}));
    }
    works.push_back(group.allreduce({onDevice()}));
    for (const auto& work : works) {
      work->wait();
    }
    EXPECT_EQ(asked->streams, (std::vector<c10::Stream>{kOther, kUsual}));
    EXPECT_EQ(StreamsOfThreads().getStream(kFirst), kUsual) << "the caller's is as it was";
    checks.barrier()->wait();
  });
}

}  // namespace
}  // namespace lockstep::process_group
