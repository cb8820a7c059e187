#include "engine/trace/Messages.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

namespace lockstep::trace {
namespace {

using nlohmann::json;

// JSON has no words for the numbers that a diverging training produces.
json fromNumber(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  return value;
}

double toNumber(const json& value) {
  if (!value.is_string()) {
    return value.get<double>();
  }
  const auto& text = value.get_ref<const std::string&>();
  if (text == "inf" || text == "-inf") {
    const double infinity = std::numeric_limits<double>::infinity();
    return text == "inf" ? infinity : -infinity;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

json encode(const ParametersMessage& message) {
  json parameters = json::array();
  for (const auto& p : message.parameters) {
    parameters.push_back({{"name", p.name},
                          {"shape", p.shape},
                          {"dtype", p.dtype},
                          {"numel", p.numel},
                          {"bytes", p.bytes}});
  }
  return {{"type", "parameters"}, {"parameters", std::move(parameters)}};
}

ParametersMessage decodeParameters(const json& object) {
  ParametersMessage message;
  for (const json& p : object.at("parameters")) {
    message.parameters.push_back(
        {p.at("name").get<std::string>(), p.at("shape").get<std::vector<std::int64_t>>(),
         p.at("dtype").get<std::string>(), p.at("numel").get<std::int64_t>(),
         p.at("bytes").get<std::int64_t>()});
  }
  return message;
}

/// Each number as 16 hex digits: exact, and quick to write on a rank's step thread.
template <typename Number>
std::string toHex(const std::vector<Number>& numbers) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16 * numbers.size(), '0');
  auto at = text.begin();
  for (const Number number : numbers) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (int shift = 60; shift >= 0; shift -= 4) {
      *at++ = kDigits[bits >> shift & 15];
    }
  }
  return text;
}

template <typename Number>
std::vector<Number> fromHex(const json& value) {
  const auto& text = value.get_ref<const std::string&>();
  std::vector<Number> numbers;
  numbers.reserve(text.size() / 16);
  for (std::size_t at = 0; at < text.size(); at += 16) {
    std::uint64_t bits = 0;
    const char* end = text.data() + std::min(at + 16, text.size());
    const auto parsed = std::from_chars(text.data() + at, end, bits, 16);
    if (parsed.ptr != text.data() + at + 16 || parsed.ec != std::errc()) {
      throw std::invalid_argument("not 16 hex digits a number");
    }
    numbers.push_back(std::bit_cast<Number>(bits));
  }
  return numbers;
}

json encode(const FingerprintMessage& message) {
  return {{"type", "fingerprint"},
          {"step", message.step},
          {"hashes", toHex(message.hashes)},
          {"norms", toHex(message.norms)},
          {"sketch", toHex(message.sketch)}};
}

FingerprintMessage decodeFingerprint(const json& object) {
  FingerprintMessage message;
  message.step = object.at("step").get<std::uint32_t>();
  message.hashes = fromHex<std::uint64_t>(object.at("hashes"));
  message.norms = fromHex<double>(object.at("norms"));
  message.sketch = fromHex<double>(object.at("sketch"));
  // Whoever reads it takes a norm for each hash: one that is missing is as good as not finite.
  message.norms.resize(message.hashes.size(), std::numeric_limits<double>::quiet_NaN());
  return message;
}

json encode(const GradientsMessage& message) {
  json buckets = json::array();
  for (const auto& b : message.buckets) {
    json bucket = {{"bucket", b.bucket},
                   {"norm", fromNumber(b.norm)},
                   {"largest", fromNumber(b.largest)},
                   {"nans", b.nans},
                   {"infinities", b.infinities}};
    if (b.parameter) {
      bucket["parameter"] = *b.parameter;
    }
    if (b.reduced) {
      bucket["reduced_norm"] = fromNumber(b.reduced->norm);
      if (b.reduced->hash) {
        bucket["reduced_hash"] = *b.reduced->hash;
      }
    }
    buckets.push_back(std::move(bucket));
  }
  return {{"type", "gradients"}, {"step", message.step}, {"buckets", std::move(buckets)}};
}

GradientsMessage decodeGradients(const json& object) {
  GradientsMessage message;
  message.step = object.at("step").get<std::uint32_t>();
  for (const json& b : object.at("buckets")) {
    auto& bucket = message.buckets.emplace_back();
    bucket.bucket = b.at("bucket").get<std::uint16_t>();
    bucket.norm = toNumber(b.at("norm"));
    bucket.largest = toNumber(b.at("largest"));
    bucket.nans = b.at("nans").get<std::uint64_t>();
    bucket.infinities = b.at("infinities").get<std::uint64_t>();
    if (b.contains("parameter")) {
      bucket.parameter = b["parameter"].get<std::uint32_t>();
    }
    if (b.contains("reduced_norm")) {
      bucket.reduced.emplace().norm = toNumber(b["reduced_norm"]);
      if (b.contains("reduced_hash")) {
        bucket.reduced->hash = b["reduced_hash"].get<std::uint64_t>();
      }
    }
  }
  return message;
}

json encode(const BucketsMessage& message) {
  json buckets = json::array();
  for (const auto& b : message.buckets) {
    buckets.push_back({{"parameters", b.parameters},
                       {"offsets", b.offsets},
                       {"bytes", b.bytes},
                       {"limit_bytes", b.limitBytes},
                       {"dtype", b.dtype}});
  }
  return {{"type", "buckets"},
          {"layout", message.layout},
          {"step", message.step},
          {"reason", message.reason},
          {"buckets", std::move(buckets)}};
}

BucketsMessage decodeBuckets(const json& object) {
  BucketsMessage message;
  message.layout = object.at("layout").get<std::uint32_t>();
  message.step = object.at("step").get<std::uint32_t>();
  message.reason = object.at("reason").get<std::string>();
  for (const json& b : object.at("buckets")) {
    message.buckets.push_back(
        {b.at("parameters").get<std::vector<std::uint32_t>>(),
         b.at("offsets").get<std::vector<std::uint64_t>>(), b.at("bytes").get<std::uint64_t>(),
         b.at("limit_bytes").get<std::uint64_t>(), b.at("dtype").get<std::string>()});
  }
  return message;
}

json encode(const EnvironmentMessage& message) {
  return {{"type", "environment"}, {"values", message.values}};
}

json encode(const EvaluationMessage& message) {
  return {{"type", "evaluation"},
          {"step", message.step},
          {"loss", fromNumber(message.loss)},
          {"accuracy", fromNumber(message.accuracy)},
          {"samples", message.samples}};
}

json encode(const BadLossMessage& message) {
  return {{"type", "bad_loss"},
          {"step", message.step},
          {"loss", fromNumber(message.loss)},
          {"before", fromNumber(message.before)},
          {"least", fromNumber(message.least)},
          {"finite", message.finite},
          {"hook", message.hook}};
}

json encode(const SummaryMessage& message) {
  return {{"type", "summary"},
          {"steps", message.steps},
          {"loss", fromNumber(message.loss)},
          {"parameter_hash", message.parameterHash}};
}

json encode(const ProblemMessage& message) {
  return {{"type", "problem"},
          {"severity", message.severity},
          {"step", message.step},
          {"text", message.text}};
}

json encode(const DdpLoggingMessage& message) {
  return {{"type", "ddp_logging"},
          {"step", message.step},
          {"facts", message.facts},
          {"numbers", message.numbers}};
}

Message decode(const std::string& type, const json& object) {
  if (type == "parameters") {
    return decodeParameters(object);
  }
  if (type == "buckets") {
    return decodeBuckets(object);
  }
  if (type == "environment") {
    return EnvironmentMessage{object.at("values").get<std::map<std::string, std::string>>()};
  }
  if (type == "evaluation") {
    return EvaluationMessage{object.at("step").get<std::uint32_t>(), toNumber(object.at("loss")),
                             toNumber(object.at("accuracy")),
                             object.at("samples").get<std::uint64_t>()};
  }
  if (type == "summary") {
    return SummaryMessage{object.at("steps").get<std::uint32_t>(), toNumber(object.at("loss")),
                          object.at("parameter_hash").get<std::string>()};
  }
  if (type == "ddp_logging") {
    return DdpLoggingMessage{object.at("step").get<std::uint32_t>(),
                             object.at("facts").get<std::map<std::string, std::string>>(),
                             object.at("numbers").get<std::map<std::string, double>>()};
  }
  if (type == "fingerprint") {
    return decodeFingerprint(object);
  }
  if (type == "gradients") {
    return decodeGradients(object);
  }
  if (type == "bad_loss") {
    return BadLossMessage{object.at("step").get<std::uint32_t>(),
                          toNumber(object.at("loss")),
                          toNumber(object.at("before")),
                          toNumber(object.at("least")),
                          object.at("finite").get<std::uint64_t>(),
                          object.at("hook").get<std::string>()};
  }
  return ProblemMessage{object.at("severity").get<std::string>(),
                        object.at("step").get<std::uint32_t>(),
                        object.at("text").get<std::string>()};
}

bool isKnown(const std::string& type) {
  // decode() reads every type that it does not name as a problem: unknown ones are refused before.
  for (const char* known : {"parameters", "buckets", "environment", "evaluation", "summary",
                            "problem", "ddp_logging", "fingerprint", "gradients", "bad_loss"}) {
    if (type == known) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string toJson(const Message& message) {
  const json object =
      std::visit([](const auto& alternative) { return encode(alternative); }, message);
  // Texts come from users' files and libraries: a byte that is no UTF-8 is replaced.
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

base::Result<Message> messageFromJson(std::string_view text) {
  const auto refuse = [](std::string what) {
    return base::Error{base::ExitCode::kUnexpected, std::move(what), "message of a rank"};
  };
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("type") || !object["type"].is_string()) {
    return refuse("not a JSON object with a \"type\"");
  }
  const std::string type = object["type"].get<std::string>();
  if (!isKnown(type)) {
    return refuse(fmt::format("unknown type \"{}\"", type));
  }
  try {
    return decode(type, object);
  } catch (const std::exception& error) {
    return refuse(fmt::format("type \"{}\": {}", type, error.what()));
  }
}

}  // namespace lockstep::trace
