#pragma once

#include "engine/ddp/Join.h"
#include "engine/train/StopAgreement.h"

namespace lockstep::train {

/// Carries a request to stop from a rank that is out of inputs to those that go on: in a Join it
/// is called once for each iteration that the rank shadows, and communicates nothing itself.
/// [step-thread]
class StopRelay final : public ddp::Joinable {
 public:
  /// `joinable` is another one of the same Join; both outlive this.
  StopRelay(StopAgreement& stop, const ddp::Joinable& joinable)
      : stop_(stop), joinable_(joinable) {}

  void shadow(std::uint32_t /*step*/) override { stop_.passOn(); }
  void allJoined(bool /*lastJoiner*/) override {}
  [[nodiscard]] process_group::ProcessGroup& joinGroup() const override {
    return joinable_.joinGroup();
  }
  [[nodiscard]] at::Device joinDevice() const override { return joinable_.joinDevice(); }

 private:
  StopAgreement& stop_;
  const ddp::Joinable& joinable_;
};

}  // namespace lockstep::train
