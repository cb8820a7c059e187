#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/TextTable.h"
#include "app/cli/VerifyHooks.h"
#include "app/cli/VerifyInPyTorch.h"
#include "engine/base/Try.h"
#include "engine/plugin/PluginScan.h"
#include "engine/plugin/ResolveHooks.h"
#include "engine/plugin/VerifiedHooks.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::cli {
namespace {

using base::Error;
using base::ExitCode;
using plugin::FoundLibrary;
using plugin::HookInfo;

struct HooksArguments {
  std::string hook;
  std::string file;
  bool json = false;
  bool verify = false;
  std::string where = "engine";
  std::string python = "python3";
  double timeoutSeconds = 10;
};

/// "density = 0.01   part of the gradients that is sent; a number from 1e-06 to 1".
std::string paramText(const plugin::HookParam& param) {
  const auto field = plugin::fieldOf(param, param.key);
  return fmt::format("{} = {}   {}; {}{}", param.key, field.initial, param.help,
                     experiment::allowedValues(field), param.live ? "; live: lockstep set" : "");
}

/// Of a table: whether it keeps a state.
std::string stateCell(const HookInfo& hook) {
  return !hook.refusal.empty() ? "?" : hook.has("state") ? "kept" : "-";
}

std::string refusedText(const std::vector<FoundLibrary>& libraries) {
  std::string text;
  for (const FoundLibrary& library : libraries) {
    if (!library.error.empty()) {
      text += fmt::format("refused: {}: {}\n", library.path, library.error);
    }
  }
  return text;
}

std::string listText(const std::vector<FoundLibrary>& libraries) {
  TextTable table({"hook", "version", "from", "parameters", "state", "what it does"});
  bool any = false;
  for (const FoundLibrary& library : libraries) {
    for (const HookInfo& hook : library.info.hooks) {
      any = true;
      table.add({hook.id, hook.version, std::string(plugin::name(library.from)),
                 std::to_string(hook.params.size()), stateCell(hook), hook.summary});
    }
  }
  return (any ? table.text() : std::string()) + refusedText(libraries);
}

std::string resultText(const HookInfo& hook) {
  const char* same = (hook.caps & LOCKSTEP_CAP_SAME_RESULT) != 0    ? "the same on all ranks"
                     : (hook.caps & LOCKSTEP_CAP_LOCAL_RESULT) != 0 ? "each rank may have its own"
                                                                    : "not said whether all ranks "
                                                                      "have the same";
  return hook.meanError < 0
             ? fmt::format("{}; how near it is to the mean is not promised", same)
             : fmt::format(
                   "{}; at most {:.2g} away from the mean, in units of its root mean square", same,
                   hook.meanError);
}

std::string alsoText(const HookInfo& hook) {
  std::vector<std::string> also;
  if (hook.has("step")) {
    also.emplace_back("is called around each step");
  }
  if (hook.has("optimizer")) {
    also.emplace_back("is told of the optimizer");
  }
  if (hook.has("replicas")) {
    also.emplace_back("lets the replicas drift apart, by design");
  }
  if ((hook.caps & LOCKSTEP_CAP_JOIN) != 0) {
    also.emplace_back("can do with ranks that have run out of inputs");
  }
  if ((hook.caps & LOCKSTEP_CAP_INNER) != 0) {
    also.emplace_back("takes another hook inside");
  }
  return fmt::format("{}", fmt::join(also, "; "));
}

std::string hookText(const FoundLibrary& library, const HookInfo& hook) {
  std::string text = fmt::format("{} {} ({}, {})\n{}\n", hook.id, hook.version,
                                 plugin::name(library.from), library.path, hook.summary);
  const auto line = [&text](const char* label, const std::string& what) {
    text += what.empty() ? "" : fmt::format("  {:<8} {}\n", label, what);
  };
  line("vendor", hook.vendor);
  line("takes", fmt::format("gradients of {} on {}", fmt::join(hook.dtypeNames(), ", "),
                            fmt::join(hook.deviceNames(), ", ")));
  line("result", resultText(hook));
  line("state", !hook.refusal.empty()
                    ? fmt::format("not known: it was not made for one rank: {}", hook.refusal)
                : hook.has("state") ? "kept with checkpoints"
                                    : "none");
  line("also", alsoText(hook));
  text += hook.params.empty() ? "no parameters\n" : "parameters\n";
  for (const auto& param : hook.params) {
    text += fmt::format("  {}\n", paramText(param));
  }
  return text;
}

nlohmann::json hooksJson(const FoundLibrary& library) {
  auto hooks = nlohmann::json::parse(plugin::toJson(library.info))["hooks"];
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const HookInfo& info = library.info.hooks[i];
    hooks[i]["takes"] = info.dtypeNames();
    hooks[i]["takes_on"] = info.deviceNames();
    hooks[i]["same_result"] = (info.caps & LOCKSTEP_CAP_SAME_RESULT) != 0;
    hooks[i]["keeps_state"] =
        info.refusal.empty() ? nlohmann::json(info.has("state")) : nlohmann::json();
  }
  return hooks;
}

std::string listJson(const std::vector<FoundLibrary>& libraries) {
  auto list = nlohmann::json::array();
  for (const FoundLibrary& library : libraries) {
    list.push_back(
        {{"path", library.path},
         {"from", plugin::name(library.from)},
         {"error", library.error},
         {"hooks", library.error.empty() ? hooksJson(library) : nlohmann::json::array()}});
  }
  return list.dump(2) + "\n";
}

/// Why a hook was not found: as a rule it is the library of its name, which may have been refused.
Error notFound(const HooksArguments& arguments, const std::vector<FoundLibrary>& libraries) {
  for (const FoundLibrary& library : libraries) {
    // Of a library that could not be opened nobody knows what hooks it has; its file is as a rule
    // named for one of them.
    if (!library.error.empty() && std::filesystem::path(library.path).stem() == arguments.hook) {
      return {ExitCode::kHookFailed, library.error, library.path};
    }
  }
  return {ExitCode::kBadInput,
          fmt::format("there is no hook \"{}\" in {}; see lockstep hooks", arguments.hook,
                      plugin::pathsText(plugin::pluginFolders(arguments.file))),
          ""};
}

/// All of a library that is named by its path, else what is in the plugin folders.
base::Result<std::vector<FoundLibrary>> find(const HooksArguments& arguments) {
  if (!arguments.hook.ends_with(".so")) {
    return plugin::scanFolders(plugin::pluginFolders(arguments.file));
  }
  const auto path = std::filesystem::absolute(arguments.hook).lexically_normal().string();
  FoundLibrary library = plugin::scanLibrary(path, plugin::PluginFolder::Kind::kUser);
  if (!library.error.empty()) {
    return Error{ExitCode::kHookFailed, library.error, arguments.hook};
  }
  return std::vector{std::move(library)};
}

/// The hooks to verify, with the values that the experiment gives to its own.
std::vector<VerifiedHook> toVerify(const std::string& id,
                                   const std::vector<FoundLibrary>& libraries,
                                   const plugin::ResolvedHooks& experiment) {
  std::vector<VerifiedHook> hooks;
  // The experiment's first: its values are those that will be trained with, so that a library's
  // hook of the same name adds nothing but where it came from.
  for (std::size_t i = 0; i < experiment.choice.size(); ++i) {
    if (id.empty() || experiment.choice[i].id == id) {
      hooks.push_back({{"experiment", experiment.infos[i], experiment.choice[i]}, {}});
    }
  }
  for (const FoundLibrary& library : libraries) {
    for (const HookInfo& info : library.info.hooks) {
      const auto is = [&](const VerifiedHook& other) {
        return other.info.id == info.id && (!id.empty() || other.chosen.library == library.path);
      };
      const auto known = std::find_if(hooks.begin(), hooks.end(), is);
      if (known != hooks.end()) {
        known->from = known->chosen.library == library.path
                          ? std::string(plugin::name(library.from))
                          : known->from;
      } else if (id.empty() || info.id == id) {
        hooks.push_back(
            {{std::string(plugin::name(library.from)), info, {library.path, info.id, {}}}, {}});
      }
    }
  }
  return hooks;
}

base::Result<int> verifyInPyTorch(const HooksArguments& arguments,
                                  const std::vector<VerifiedHook>& chosen,
                                  const std::string& refused, std::chrono::milliseconds timeLimit) {
  std::vector<HookInPyTorch> hooks;
  for (const VerifiedHook& hook : chosen) {
    hooks.push_back({hook, {}});
  }
  LOCKSTEP_TRY(verifyEachInPyTorch(hooks, arguments.python, timeLimit));
  printPlain(arguments.json ? inPyTorchJson(hooks) : inPyTorchText(hooks) + refused);
  const bool passes = std::all_of(hooks.begin(), hooks.end(),
                                  [](const HookInPyTorch& hook) { return hook.passes(); });
  return static_cast<int>(passes && refused.empty() ? ExitCode::kOk : ExitCode::kHookFailed);
}

base::Result<int> verify(const HooksArguments& arguments,
                         const std::vector<FoundLibrary>& libraries) {
  const std::string id = arguments.hook.ends_with(".so") ? "" : arguments.hook;
  plugin::ResolvedHooks experiment;
  if (!arguments.file.empty()) {
    auto parsed = experiment::parseFile(arguments.file);
    experiment = plugin::resolveHooks(parsed, arguments.file);
    if (!parsed.mistakes.empty()) {
      return fail(parsed.mistakes);
    }
  }
  auto hooks = toVerify(id, libraries, experiment);
  if (!id.empty() && hooks.empty()) {
    return notFound(arguments, libraries);
  }
  const std::chrono::milliseconds timeLimit(
      static_cast<std::int64_t>(arguments.timeoutSeconds * 1000));
  // A library that was refused fails the verification of all hooks, whichever it would have had.
  // Where one hook is asked for by name, other libraries say nothing of it.
  const auto all = id.empty() ? libraries : std::vector<FoundLibrary>();
  const std::string refused = refusedText(all);
  if (arguments.where == "pytorch") {
    return verifyInPyTorch(arguments, hooks, refused, timeLimit);
  }
  verifyEach(hooks, timeLimit);
  for (const VerifiedHook& hook : hooks) {
    if (hook.passes()) {  // what forecasts of whatif and simulate take
      plugin::keepVerified(
          hook.chosen, hook.from == plugin::name(plugin::PluginFolder::Kind::kBuiltIn), hook.runs);
    }
  }
  printPlain(arguments.json ? verificationJson(hooks, all) : verificationText(hooks) + refused);
  const bool passes = std::all_of(hooks.begin(), hooks.end(),
                                  [](const VerifiedHook& hook) { return hook.passes(); });
  return static_cast<int>(passes && refused.empty() ? ExitCode::kOk : ExitCode::kHookFailed);
}

base::Result<int> tell(const HooksArguments& arguments,
                       const std::vector<FoundLibrary>& libraries) {
  if (arguments.hook.empty()) {
    printPlain(arguments.json ? listJson(libraries) : listText(libraries));
    return 0;
  }
  if (arguments.hook.ends_with(".so")) {
    if (arguments.json) {
      printPlain(listJson(libraries));
    } else {
      for (const HookInfo& hook : libraries.front().info.hooks) {
        printPlain(hookText(libraries.front(), hook));
      }
    }
    return 0;
  }
  const auto found = plugin::findHook(libraries, arguments.hook);
  if (found.hook == nullptr) {
    return notFound(arguments, libraries);
  }
  printPlain(arguments.json ? listJson({*found.library}) : hookText(*found.library, *found.hook));
  return 0;
}

base::Result<int> hooks(const HooksArguments& arguments) {
  const auto libraries = LOCKSTEP_TRY(find(arguments));
  return arguments.verify ? verify(arguments, libraries) : tell(arguments, libraries);
}

}  // namespace

void addHooks(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      addCommand(app, chosen, "hooks", "List the communication hooks that were found", hooks);
  command->footer(
      "--verify trains with each hook on 2 and on 4 ranks of this machine, with gradients of\n"
      "101,091 numbers in 3 buckets, and compares what it does with what it says of itself:\n"
      "  off the mean       largest distance of a result from the mean gradient, in units of the\n"
      "                     mean's root mean square, where the hook has no history\n"
      "  same on all ranks  bit by bit, the gradients of each step and the parameters at the end\n"
      "  state              what it saves; a hook that is loaded with it must go on bit by bit\n"
      "  ms a step          all calls of a step, beside the engine's own allreduce of the same\n"
      "What it measures of hooks that pass is kept: whatif --hook and simulate --hook take it.\n"
      "With --in pytorch it trains with each hook in PyTorch's DistributedDataParallel, by\n"
      "lockstep.hook(NAME), on 2 ranks for 20 steps, gives the engine the same gradients, and "
      "compares:\n"
      "  off the engine     largest distance of a result from the engine's, in units of its root\n"
      "                     mean square, beside that of two runs of the engine\n"
      "  sent a step        by the rank that sent most, beside the same in the engine\n"
      "Hooks that PyTorch's communication hooks cannot express are refused, with a sentence.\n"
      "It ends with 6 when a hook fails.");
  command->add_option(
      "HOOK", arguments->hook,
      "Tell of this hook and its parameters alone; or of all in a library, FILE.so");
  command->add_option("--for", arguments->file,
                      "Experiment file whose own plugins (hooks/ beside it) count, too; --verify "
                      "takes the parameters of the experiment's hook from it");
  command->add_flag("--verify", arguments->verify,
                    "Try the hooks against what they say of themselves");
  addChecked(*command, "--in", arguments->where, CLI::IsMember({"engine", "pytorch"}),
             "With --verify: \"engine\", or \"pytorch\", in which hooks run by lockstep.hook");
  command->add_option("--python", arguments->python,
                      "With --in pytorch: the Python that has PyTorch; python3 as a rule");
  addChecked(*command, "--timeout", arguments->timeoutSeconds, CLI::Range(0.1, 3600.0),
             "With --verify: seconds that one call of a hook may take; 10 as a rule");
  command->add_flag("--json", arguments->json, "Print JSON");
}

}  // namespace lockstep::cli
