#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>

#include "app/rank/Ending.h"
#include "app/rank/Process.h"
#include "app/rank/RankRun.h"
#include "engine/base/FreedMemory.h"
#include "engine/base/Log.h"
#include "engine/base/Thread.h"
#include "engine/base/Try.h"
#include "engine/experiment/Parse.h"
#include "engine/plugin/ResolveHooks.h"
#include "engine/process_group/EndBackends.h"
#include "engine/train/data/Dataset.h"
#include "engine/train/models/MakeModel.h"

namespace {

using namespace lockstep;
using base::ExitCode;

struct Arguments {
  std::string file;
  std::string describe;
  std::vector<std::string> overrides;  ///< key=value
};

[[noreturn]] void fail(const std::string& who, const base::Error& error) {
  rank::report(who, error);
  rank::leave(error.code);
}

template <typename T>
T orFail(const std::string& who, base::Result<T> result, const char* where = nullptr) {
  if (!result.ok()) {
    fail(who, where == nullptr ? result.error() : result.error().within(where));
  }
  return std::move(result).value();
}

experiment::Experiment accept(const std::string& who, experiment::ParseOutcome outcome) {
  if (outcome.mistakes.empty()) {
    return std::move(outcome.experiment);
  }
  for (const auto& mistake : outcome.mistakes) {
    fmt::print(stderr, "{}: {}\n", who, mistake.message());
  }
  rank::leave(ExitCode::kBadInput);
}

experiment::Overrides splitOverrides(const Arguments& arguments) {
  experiment::Overrides overrides;
  for (const auto& text : arguments.overrides) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) {
      fail("lockstep-rank", {ExitCode::kBadInput, "is no key=value", "--set " + text});
    }
    overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return overrides;
}

base::Result<std::string> describeModel(const experiment::Experiment& experiment) {
  const auto shape = LOCKSTEP_TRY(train::expectedShape(experiment));
  const auto model = LOCKSTEP_TRY(train::makeModel(experiment.model, shape));
  return train::describeModelJson(experiment.model.kind, *model);
}

struct Asked {
  experiment::Experiment experiment;
  plugin::HookChoice hooks;
};

// A supervisor hands the experiment over as an open file, which has in it what a command line or a
// sweep changed and where its plugins are: a file that is edited while the ranks start changes none
// of them. Under torchrun each rank reads FILE by itself, applies its --set, and looks for plugins
// beside it.
Asked readExperiment(const std::string& who, const Arguments& arguments,
                     const train::TorchrunEnvironment& environment) {
  const auto overrides = splitOverrides(arguments);
  const auto withHooks = [&who](experiment::ParseOutcome parsed, const std::string& file) {
    auto hooks = plugin::resolveHooks(parsed, file).choice;
    return Asked{accept(who, std::move(parsed)), std::move(hooks)};
  };
  if (environment.experimentFd) {
    const auto text =
        orFail(who, rank::readFromStart(*environment.experimentFd), "LOCKSTEP_EXPERIMENT_FD");
    return withHooks(
        experiment::parseText(text, "experiment", std::filesystem::current_path(), overrides), "");
  }
  if (arguments.file.empty()) {
    fail(who,
         {ExitCode::kBadInput, "no experiment: give a FILE, or start it by `lockstep run`", ""});
  }
  return withHooks(experiment::parseFile(arguments.file, overrides), arguments.file);
}

std::unique_ptr<trace::Tracer> makeTracer(const std::string& who,
                                          const train::TorchrunEnvironment& environment) {
  if (!environment.traceFd) {
    // Nobody records: all of the engine calls the tracer just the same, and it writes nothing.
    return std::make_unique<trace::Tracer>();
  }
  return std::make_unique<trace::Tracer>(
      orFail(who, trace::Segment::attach(*environment.traceFd), "LOCKSTEP_TRACE_FD"));
}

[[noreturn]] void describe(const Arguments& arguments) {
  const auto experiment =
      accept("lockstep-rank", experiment::parseFile(arguments.describe, splitOverrides(arguments)));
  fmt::print("{}\n", orFail("lockstep-rank", describeModel(experiment)));
  rank::leave(ExitCode::kOk);
}

[[noreturn]] void runRank(const Arguments& arguments, base::ClockReading started,
                          std::int64_t ageNs) {
  const auto environment = orFail("lockstep-rank", train::torchrunEnvironment());
  const std::string who = fmt::format("rank {}", environment.rank);
  base::configureLog(who);
  base::nameThisThread("step");
  if (const auto supervisor = environment.supervisorPid) {
    if (const auto tied = rank::dieWith(*supervisor); !tied.ok()) {
      fail(who, tied.error());
    }
  }
  auto tracer = makeTracer(who, environment);
  rank::tellOfCrashes(tracer->lastWords(), who);
  auto [experiment, hooks] = readExperiment(who, arguments, environment);
  // Stays alive until the process has ended: its threads may be in the middle of anything.
  auto& run =
      *new rank::RankRun(environment, std::move(experiment), std::move(hooks), std::move(tracer));
  rank::Culprits culprits;
  base::Result<train::TrainOutcome> outcome = [&]() -> base::Result<train::TrainOutcome> {
    try {
      return run.run(started, ageNs);
    } catch (...) {
      culprits = rank::culpritsOf(std::current_exception());
      return rank::errorOf(std::current_exception());
    }
  }();
  if (!outcome.ok()) {
    run.abandon(outcome.error(), culprits);
    fail(who, outcome.error());
  }
  // Of a rank that ended well alone. A failed one leaves its groups as they are, since whoever
  // finishes MPI waits for ranks that may be gone.
  process_group::endBackends();
  rank::leave(outcome.value().stopped ? ExitCode::kInterrupted : ExitCode::kOk);
}

}  // namespace

int main(int argc, char** argv) {
  // First, and together: what has passed before this is the loading of libtorch.
  const auto started = base::readClock();
  const std::int64_t ageNs = rank::processAgeNs();
  base::keepFreedMemory();
  // Writing to a peer that is gone is an error of the write, which names the peer.
  signal(SIGPIPE, SIG_IGN);

  CLI::App app("One rank of a data-parallel run; `lockstep run` or torchrun starts it.");
  app.name("lockstep-rank");
  Arguments arguments;
  app.add_option("FILE", arguments.file, "Experiment file");
  app.add_option("--describe-model", arguments.describe,
                 "Print the parameters of this experiment's model as JSON, and end");
  app.add_option("--set", arguments.overrides, "Override one key: --set key=value")
      ->allow_extra_args(false);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help
    if (!asked) {
      fail("lockstep-rank", {ExitCode::kBadInput, error.what(), ""});
    }
    return app.exit(error);
  }
  if (!arguments.describe.empty()) {
    describe(arguments);
  }
  runRank(arguments, started, ageNs);
}
