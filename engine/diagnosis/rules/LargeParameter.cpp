#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/SlowLink.h"
#include "engine/base/NumberText.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {
namespace {

using Parameters = std::vector<trace::ParametersMessage::Parameter>;

std::uint64_t bytesOfAll(const Parameters& parameters) {
  return std::accumulate(
      parameters.begin(), parameters.end(), std::uint64_t{0},
      [](std::uint64_t sum, const auto& parameter) { return sum + parameter.bytes; });
}

/// The parameter that most bytes are of; none: no parameter has so many.
std::optional<std::uint32_t> mostOfTheBytes(const Parameters& parameters) {
  const auto largest =
      std::max_element(parameters.begin(), parameters.end(),
                       [](const auto& one, const auto& other) { return one.bytes < other.bytes; });
  return parameters.size() > 1 &&
                 static_cast<std::uint64_t>(largest->bytes) * 2 > bytesOfAll(parameters)
             ? std::optional(static_cast<std::uint32_t>(largest - parameters.begin()))
             : std::nullopt;
}

}  // namespace

std::vector<Finding> judgeLargeParameter(const Evidence& evidence) {
  const auto parameter = mostOfTheBytes(evidence.data.parameters);
  if (!parameter || !evidence.recorded.ok() || !evidence.forecaster.ok()) {
    return {};
  }
  const std::uint64_t bytes = evidence.data.parameters[*parameter].bytes;
  const cost::Forecaster& forecaster = evidence.forecaster.value();
  auto plan = cost::planOf(forecaster.steps().front());
  const auto bucket = std::find_if(plan.begin(), plan.end(), [&](const cost::PlannedBucket& of) {
    return std::find(of.parameters.begin(), of.parameters.end(), *parameter) != of.parameters.end();
  });
  if (bucket == plan.end() || bucket->bytes < bytes) {
    return {};  // it is in no bucket, or sent in another type
  }
  bucket->bytes -= bytes;
  const auto forecast = forecaster.forecast(plan);
  const auto saving = forecast.ok() ? savingOf(forecast.value()) : std::nullopt;
  if (!saving || saving->low < analysis::kTellingShare * evidence.stepMs) {
    return {};
  }
  const std::string name = evidence.parameter(*parameter);
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title = fmt::format("{} is most of what is sent", name);
  finding.sentence = fmt::format(
      "The gradient of {} alone is {} of the {} that a step reduces: without its transfer the "
      "replayed steps take {} ms in place of {}.",
      name, base::bytesText(static_cast<double>(bytes)),
      base::bytesText(static_cast<double>(bytesOfAll(evidence.data.parameters))),
      base::msText(evidence.stepMs - saving->mean), base::msText(evidence.stepMs));
  finding.remedy = fmt::format(
      "Send less of {}: a sparse gradient where a batch uses few of its rows, a hook that "
      "compresses, or one weight in place of two that are tied.",
      name);
  finding.savingMs = saving;
  finding.atMost = true;
  finding.place = {.bucket = static_cast<std::uint16_t>(bucket - plan.begin()),
                   .parameter = parameter,
                   .phase = "backward"};
  return {finding};
}

}  // namespace lockstep::diagnosis
