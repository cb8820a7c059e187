#include "app/cli/FindingJson.h"

namespace lockstep::cli {
namespace {

using nlohmann::ordered_json;

ordered_json jsonOf(const diagnosis::Place& place) {
  ordered_json json = ordered_json::object();
  const auto add = [&](const char* key, const auto& value) {
    if (value) {
      json[key] = *value;
    }
  };
  add("rank", place.rank);
  add("step", place.step);
  add("bucket", place.bucket);
  if (place.parameter) {
    json["parameter"] = place.parameterName;
  }
  if (!place.phase.empty()) {
    json["phase"] = place.phase;
  }
  return json;
}

}  // namespace

ordered_json findingJson(const diagnosis::Finding& finding) {
  ordered_json json{{"rule", finding.rule},
                    {"weight", diagnosis::name(finding.weight)},
                    {"title", finding.title},
                    {"sentence", finding.sentence},
                    {"remedy", finding.remedy}};
  if (finding.savingMs) {
    json["saving_ms"] = {{"mean", finding.savingMs->mean},
                         {"low", finding.savingMs->low},
                         {"high", finding.savingMs->high},
                         {"at_most", finding.atMost}};
  }
  json["settings"] = ordered_json::object();
  for (const diagnosis::Setting& setting : finding.settings) {
    json["settings"][setting.key] = setting.value;
  }
  json["place"] = jsonOf(finding.place);
  return json;
}

}  // namespace lockstep::cli
