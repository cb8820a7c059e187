#include <CLI/CLI.hpp>

#include "app/cli/Commands.h"
#include "app/cli/Complaint.h"

namespace {

constexpr const char* kExitCodes = R"(Exit codes:
  0    done
  1    a defect of Lockstep
  2    bad input: command line, experiment, data or run file
  3    environment: port taken, output not writable, something missing
  4    communication failed
  5    a rank was ended by a signal
  6    a hook failed
  7    a time limit passed
  8    the run went to its end but diverged: its replicas differ, or a loss or a
       parameter is no finite number
  130  interrupted)";

}  // namespace

int main(int argc, char** argv) {
  using namespace lockstep;
  CLI::App app("Runs data-parallel training experiments and reads what they recorded.", "lockstep");
  app.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
  app.require_subcommand(0, 1);
  app.footer(kExitCodes);
  cli::Command chosen;
  cli::addList(app, chosen);
  cli::addValidate(app, chosen);
  cli::addRun(app, chosen);
  cli::addRecord(app, chosen);
  cli::addCapture(app, chosen);
  cli::addJoin(app, chosen);
  cli::addFollow(app, chosen);
  cli::addInfo(app, chosen);
  cli::addDiagnose(app, chosen);
  cli::addCompare(app, chosen);
  cli::addWhatIf(app, chosen);
  cli::addTune(app, chosen);
  cli::addSimulate(app, chosen);
  cli::addReport(app, chosen);
  cli::addExport(app, chosen);
  cli::addImport(app, chosen);
  cli::addHooks(app, chosen);
  cli::addGlossary(app, chosen);
  cli::addSet(app, chosen);
  cli::addStop(app, chosen);
  cli::addCopy(app, chosen);
  // So that an unknown command can be named. Subcommands made before this still refuse extras.
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help, --version
    }
    cli::complain(std::string(error.what()) + "; see lockstep --help");
    return static_cast<int>(base::ExitCode::kBadInput);
  }
  // A subcommand does nothing while the line is parsed but say what to call: so a mistake further
  // on in the line is found before anything has been done.
  if (!chosen) {
    const auto extras = app.remaining();
    cli::complain(
        (extras.empty() ? "a command is needed" : "no command \"" + extras.front() + "\"") +
        "; there are list, validate, run, record, join, follow, info, compare, whatif, tune, simulate, "
        "report, export, import, hooks, glossary, set, stop and copy, see lockstep --help");
    return static_cast<int>(base::ExitCode::kBadInput);
  }
  const auto done = chosen();
  return done.ok() ? done.value() : cli::fail(done.error());
}
