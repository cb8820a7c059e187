#include <fmt/format.h>

#include <algorithm>

#include "engine/analysis/Tail.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {

std::vector<Finding> judgeTransfer(const Evidence& evidence) {
  using analysis::TailCause;
  const auto reason = std::find_if(
      evidence.causes.begin(), evidence.causes.end(), [](const analysis::TailReason& of) {
        return of.mean.cause == TailCause::kSlowLink ||
               (of.mean.cause == TailCause::kMuchTransfer && of.mean.telling);
      });
  if (reason == evidence.causes.end()) {
    return {};
  }
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title =
      reason->mean.cause == TailCause::kSlowLink ? "the link is slow" : "communication takes long";
  finding.sentence = analysis::explanation(reason->mean);
  finding.place.rank = reason->worst.rank;
  finding.place.step = reason->worst.step;
  finding.place.ticks = reason->worst.ticks;
  finding.remedy =
      "Send fewer bytes or send them less often: a hook that compresses (hook.name), "
      "ddp.sync_every, a larger batch a rank, a faster link.";
  if (!evidence.forecaster.ok() || !evidence.experiment ||
      evidence.experiment->hook.name != "allreduce") {
    return {finding};
  }
  // Half of the bytes is what the plainest hook sends; what it computes for that is not in it.
  constexpr double kHalf = 0.5;
  const cost::Forecaster& forecaster = evidence.forecaster.value();
  const auto forecast = forecaster.forecast(cost::planOf(forecaster.steps().front()), kHalf);
  const auto saving = forecast.ok() ? savingOf(forecast.value()) : std::nullopt;
  if (saving && saving->low >= kWorthSpeakingOf * evidence.stepMs) {
    finding.remedy =
        "Send half of the bytes: hook.name = \"fp16\". Beyond that a hook that compresses more "
        "(powersgd, topk), ddp.sync_every, a larger batch a rank, a faster link.";
    finding.settings = {{"hook.name", "\"fp16\""}};
    finding.savingMs = saving;
    finding.atMost = true;
  }
  return {finding};
}

}  // namespace lockstep::diagnosis
