#include <fmt/format.h>

#include <string>

#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {

std::vector<Finding> judgeNotFinite(const Evidence& evidence) {
  const analysis::Divergence& divergence = evidence.divergence;
  Finding finding;
  finding.weight = Weight::kWrong;
  if (!divergence.findings.empty()) {
    const analysis::SanityFinding& at = divergence.findings.front();
    const std::string of =
        at.parameter ? evidence.parameter(*at.parameter) : fmt::format("bucket {}", at.bucket);
    finding.title = fmt::format("rank {}'s gradients are no numbers", at.rank);
    finding.sentence = fmt::format(
        "In step {} the gradient of {} on rank {} held {} NaN and {} infinite values, before it "
        "was averaged: from then on every rank has them.",
        at.step, of, at.rank, at.nans, at.infinities);
    finding.remedy = fmt::format(
        "Look at rank {}'s batch of step {}, at the learning rate and at the dtype of {}.", at.rank,
        at.step, of);
    finding.place = {.rank = at.rank,
                     .step = at.step,
                     .bucket = at.bucket,
                     .parameter = at.parameter,
                     .phase = "backward"};
  } else if (divergence.firstBadLoss) {
    const analysis::SanityFinding& at = *divergence.firstBadLoss;
    finding.title = fmt::format("rank {}'s loss is no number", at.rank);
    finding.sentence =
        fmt::format("The loss of rank {} is no finite number from step {} on.", at.rank, at.step);
    finding.remedy =
        "Check gradients in every step (capture.gradient_check_every = 1) to see in which "
        "parameter it begins.";
    finding.settings = {{"capture.gradient_check_every", "1"}};
    finding.place = {.rank = at.rank, .step = at.step, .phase = "forward"};
  } else if (divergence.lost) {
    const analysis::LostParameter& at = *divergence.lost;
    const auto parameter = static_cast<std::uint32_t>(at.parameter);
    finding.title =
        fmt::format("{} holds values that are no numbers", evidence.parameter(parameter));
    finding.sentence = fmt::format("In step {} {} of rank {} held a value that is not finite.",
                                   at.step, evidence.parameter(parameter), at.rank);
    finding.remedy =
        "Check gradients in every step (capture.gradient_check_every = 1) to see whose gradient "
        "brought it.";
    finding.settings = {{"capture.gradient_check_every", "1"}};
    finding.place = {.rank = at.rank, .step = at.step, .parameter = parameter};
  } else {
    return {};
  }
  return {finding};
}

}  // namespace lockstep::diagnosis
