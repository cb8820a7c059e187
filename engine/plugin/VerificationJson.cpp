#include "engine/base/JsonFields.h"
#include "engine/plugin/PyTorchComparison.h"
#include "engine/plugin/Verification.h"

namespace lockstep::plugin {

namespace {

template <typename Outcome>
std::string textOf(const Outcome& outcome) {
  return base::JsonWriter::of(outcome).dump(2, ' ', false,
                                            nlohmann::json::error_handler_t::replace);
}

}  // namespace

// Note [Fields of JSON]
template <typename A, base::Like<TimedCall> M>
void fields(A& a, M& m) {
  a("bytes", m.bytes, "encode_ms", m.encodeMs, "decode_ms", m.decodeMs);
}

template <typename A, base::Like<Verification> M>
void fields(A& a, M& m) {
  a("ranks", m.ranks, "problems", m.problems, "refusal", m.refusal, "notes", m.notes, "optimizer",
    m.optimizer, "owns_update", m.ownsUpdate, "gradients_same", m.gradientsSame, "parameters_same",
    m.parametersSame, "mean_error", m.meanError, "state_bytes", m.stateBytes, "step_ms", m.stepMs,
    "allreduce_ms", m.allreduceMs, "sent_bytes", m.sentBytes,
    "elements", m.elements, "gradient_bytes", m.gradientBytes, "around_step_ms", m.aroundStepMs,
    "calls", m.calls);
}

template <typename A, base::Like<PyTorchComparison> M>
void fields(A& a, M& m) {
  a("ranks", m.ranks, "steps", m.steps, "problems", m.problems, "refusal", m.refusal, "torch",
    m.torch, "distance", m.distance, "own_distance", m.ownDistance, "sent_bytes", m.sentBytes,
    "engine_sent_bytes", m.engineSentBytes);
}

std::string toJson(const Verification& verification) {
  return textOf(verification);
}

std::string toJson(const PyTorchComparison& comparison) {
  return textOf(comparison);
}

base::Result<Verification> verificationFromJson(std::string_view text) {
  return base::fromJsonText<Verification>(text, "not the outcome of a verification");
}

base::Result<PyTorchComparison> pyTorchComparisonFromJson(std::string_view text) {
  return base::fromJsonText<PyTorchComparison>(text, "not the outcome of a comparison");
}

}  // namespace lockstep::plugin
