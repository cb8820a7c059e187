#pragma once

#include <functional>

#include "engine/base/Result.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

/// What the command line asked for; returns the exit code. Set by the chosen subcommand while
/// the command line is parsed and called afterwards. An error is complained about by main().
using Command = std::function<base::Result<int>()>;

void addList(CLI::App& app, Command& chosen);
void addValidate(CLI::App& app, Command& chosen);
void addRun(CLI::App& app, Command& chosen);
void addRecord(CLI::App& app, Command& chosen);
void addCapture(CLI::App& app, Command& chosen);
void addJoin(CLI::App& app, Command& chosen);
void addFollow(CLI::App& app, Command& chosen);
void addInfo(CLI::App& app, Command& chosen);
void addCompare(CLI::App& app, Command& chosen);
void addDiagnose(CLI::App& app, Command& chosen);
void addWhatIf(CLI::App& app, Command& chosen);
void addTune(CLI::App& app, Command& chosen);
void addSimulate(CLI::App& app, Command& chosen);
void addReport(CLI::App& app, Command& chosen);
void addExport(CLI::App& app, Command& chosen);
void addImport(CLI::App& app, Command& chosen);
void addGlossary(CLI::App& app, Command& chosen);
void addHooks(CLI::App& app, Command& chosen);
void addSet(CLI::App& app, Command& chosen);
void addStop(CLI::App& app, Command& chosen);
void addCopy(CLI::App& app, Command& chosen);

}  // namespace lockstep::cli
