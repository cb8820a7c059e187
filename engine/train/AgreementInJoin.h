#pragma once

#include "engine/ddp/Join.h"
#include "engine/train/StepAgreement.h"

namespace lockstep::train {

/// Lets a rank that is out of inputs go on to take part in the agreement of those that are not:
/// in a Join it is called once for each iteration that the rank shadows, and has no collective of
/// its own. [step-thread]
class AgreementInJoin final : public ddp::Joinable {
 public:
  /// `joinable` is another one of the same Join; both outlive this.
  AgreementInJoin(StepAgreement& agreement, const ddp::Joinable& joinable)
      : agreement_(agreement), joinable_(joinable) {}

  void shadow(std::uint32_t step) override { agreement_.shadowed(std::int64_t{step} + 1); }
  void allJoined(bool /*lastJoiner*/) override {}
  [[nodiscard]] process_group::ProcessGroup& joinGroup() const override {
    return joinable_.joinGroup();
  }
  [[nodiscard]] at::Device joinDevice() const override { return joinable_.joinDevice(); }

 private:
  StepAgreement& agreement_;
  const ddp::Joinable& joinable_;
};

}  // namespace lockstep::train
