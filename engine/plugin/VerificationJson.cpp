#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/plugin/Verification.h"

namespace lockstep::plugin {

using nlohmann::json;

std::string toJson(const Verification& verification) {
  return json{{"ranks", verification.ranks},
              {"problems", verification.problems},
              {"refusal", verification.refusal},
              {"notes", verification.notes},
              {"optimizer", verification.optimizer},
              {"owns_update", verification.ownsUpdate},
              {"gradients_same", verification.gradientsSame},
              {"parameters_same", verification.parametersSame},
              {"mean_error", verification.meanError},
              {"state_bytes", verification.stateBytes},
              {"step_ms", verification.stepMs},
              {"allreduce_ms", verification.allreduceMs},
              {"sent_bytes", verification.sentBytes}}
      .dump(2, ' ', false, json::error_handler_t::replace);
}

base::Result<Verification> verificationFromJson(std::string_view text) {
  try {
    const json in = json::parse(text);
    Verification verification;
    in.at("ranks").get_to(verification.ranks);
    in.at("problems").get_to(verification.problems);
    in.at("refusal").get_to(verification.refusal);
    in.at("notes").get_to(verification.notes);
    in.at("optimizer").get_to(verification.optimizer);
    in.at("owns_update").get_to(verification.ownsUpdate);
    in.at("gradients_same").get_to(verification.gradientsSame);
    in.at("parameters_same").get_to(verification.parametersSame);
    in.at("mean_error").get_to(verification.meanError);
    in.at("state_bytes").get_to(verification.stateBytes);
    in.at("step_ms").get_to(verification.stepMs);
    in.at("allreduce_ms").get_to(verification.allreduceMs);
    in.at("sent_bytes").get_to(verification.sentBytes);
    return verification;
  } catch (const std::exception& error) {
    return base::Error{base::ExitCode::kHookFailed,
                       fmt::format("not the outcome of a verification: {}", error.what()),
                       {}};
  }
}

}  // namespace lockstep::plugin
