#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/Commands.h"
#include "app/cli/Complaint.h"
#include "app/cli/FindingJson.h"
#include "app/cli/TextTable.h"
#include "engine/diagnosis/Diagnose.h"
#include "engine/diagnosis/Rule.h"

namespace lockstep::cli {
namespace {

using nlohmann::ordered_json;

struct DiagnoseOptions {
  std::string path;
  bool json = false;
  bool rules = false;
};

std::string jsonOf(const diagnosis::Diagnosis& diagnosis, const diagnosis::Evidence& evidence) {
  ordered_json json{{"run", evidence.info.name},
                    {"state", trace::name(evidence.info.state)},
                    {"measured_steps", evidence.measuredSteps},
                    {"step_ms", evidence.stepMs},
                    {"findings", ordered_json::array()}};
  for (const diagnosis::Finding& finding : diagnosis.findings) {
    json["findings"].push_back(findingJson(finding));
  }
  if (diagnosis.findings.empty()) {
    json["nothing"] = diagnosis.nothing;
  }
  // Words of run files need not be UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

int printRules() {
  TextTable table({"rule", "looks at", "speaks where", "advises"});
  for (const diagnosis::Rule& rule : diagnosis::rules()) {
    table.add({std::string(rule.name), std::string(rule.looksAt), std::string(rule.threshold),
               std::string(rule.remedy)});
  }
  fmt::print("{}", table.text());
  return 0;
}

int diagnoseRun(const DiagnoseOptions& options) {
  const auto evidence = diagnosis::readEvidence(options.path);
  if (!evidence.ok()) {
    return fail(evidence.error());
  }
  const diagnosis::Diagnosis found = diagnosis::diagnose(evidence.value());
  printPlain(options.json ? jsonOf(found, evidence.value()) : diagnosis::textOf(found));
  return 0;
}

}  // namespace

void addDiagnose(CLI::App& app, Command& chosen) {
  auto* command =
      app.add_subcommand("diagnose", "Say what a run suffers from, what that costs and what to do");
  auto options = std::make_shared<DiagnoseOptions>();
  auto* run = command->add_option("RUN", options->path, "Run file, live or finished");
  command->add_flag("--json", options->json, "Print all that is known, as JSON");
  auto* rules = command->add_flag("--rules", options->rules,
                                  "Print what is looked for, and when it is spoken of");
  run->excludes(rules);
  command->footer(
      "What is wrong comes first, then what costs most. A saving is what a step would take less,\n"
      "by a replay of the recorded steps without the cause, or at most, where none is possible;\n"
      "in brackets by how much runs with and without it are expected to differ (99 %, or nine of\n"
      "ten where settings change). A rank, a link or a setting is found fault with only beyond\n"
      "chance, and beyond what missing cores explain.");
  command->callback([&chosen, options] {
    if (!options->rules && options->path.empty()) {
      throw CLI::RequiredError("RUN");
    }
    chosen = [options] { return options->rules ? printRules() : diagnoseRun(*options); };
  });
}

}  // namespace lockstep::cli
