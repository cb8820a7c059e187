#include "tests/ui/panels/hooks/MadeUpHooks.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/plugin/HookInfo.h"
#include "engine/plugin/Verification.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::ui::test {
namespace {

namespace fs = std::filesystem;

std::string description(const std::string& id, const std::string& version) {
  plugin::HookInfo hook;
  hook.id = id;
  hook.name = id;
  hook.version = version;
  hook.summary = "Sends the largest numbers of a bucket";
  hook.dtypes = 1U << LOCKSTEP_F32;
  hook.devices = 1U << LOCKSTEP_CPU;
  hook.meanError = 0.5;
  plugin::HookParam density;
  density.key = "density";
  density.label = "Density";
  density.help = "part that is sent";
  density.min = 0.001;
  density.max = 1;
  density.initial = 0.01;
  density.live = true;
  hook.params.push_back(density);
  return toJson(plugin::PluginInfo{"", 0, {hook}});
}

}  // namespace

MadeUpHooks::MadeUpHooks() {
  fs::create_directories(userFolder());
  if (const char* before = std::getenv("XDG_DATA_HOME")) {
    dataHomeBefore_ = before;
  }
  setenv("LOCKSTEP_HOOKS", userFolder().c_str(), 1);
  setenv("XDG_DATA_HOME", (folder_ / "data").c_str(), 1);
  // A file that begins with "refuse " is refused with the rest; any other is its description.
  program("lockstep-hookscan",
          "text=$(cat \"$1\")\n"
          "case $text in\n"
          "  'refuse '*) echo \"lockstep-hookscan: $1: ${text#refuse }\" >&2; exit 6;;\n"
          "esac\n"
          "printf '%s' \"$text\"\n");
}

MadeUpHooks::~MadeUpHooks() {
  unsetenv("LOCKSTEP_HOOKS");
  if (dataHomeBefore_) {
    setenv("XDG_DATA_HOME", dataHomeBefore_->c_str(), 1);
  } else {
    unsetenv("XDG_DATA_HOME");
  }
}

void MadeUpHooks::program(const std::string& name, const std::string& script) {
  const fs::path path = folder_.write(name, "#!/bin/sh\n" + script);
  fs::permissions(path, fs::perms::owner_all);
}

fs::path MadeUpHooks::addAt(const std::string& file, const std::string& id,
                            const std::string& version) {
  return folder_.write(file, description(id, version));
}

fs::path MadeUpHooks::add(const std::string& id, const std::string& version) {
  return addAt("user/" + id + ".so", id, version);
}

fs::path MadeUpHooks::addRefused(const std::string& file, const std::string& sentence) {
  return folder_.write(file, "refuse " + sentence);
}

void MadeUpHooks::setVerdict(const std::string& json, int exitCode) {
  folder_.write("verdict.json", json);
  program("lockstep", "cat " + (folder_ / "verdict.json").string() + "\necho \"$*\" > " +
                          (folder_ / "asked").string() + "\nexit " + std::to_string(exitCode) +
                          "\n");
}

void MadeUpHooks::setEndless() {
  program("lockstep", "sleep 1000 &\necho $! > " + (folder_ / "child.new").string() + "\nmv " +
                          (folder_ / "child.new").string() + " " + (folder_ / "child").string() +
                          "\nwait\n");
}

HookManagerOptions MadeUpHooks::options() const {
  HookManagerOptions options;
  options.lockstep = QString::fromStdString((folder_ / "lockstep").string());
  options.folder = QString::fromStdString(userFolder().string());
  options.scan.hookscan = (folder_ / "lockstep-hookscan").string();
  options.scan.cache = (folder_ / "cache.json").string();
  return options;
}

std::string verdictJson(const std::string& id, bool passes, const std::string& problem) {
  plugin::Verification run;
  run.ranks = 2;
  run.meanError = 0.25;
  run.gradientsSame = true;
  run.stepMs = 1.5;
  run.allreduceMs = 3;
  run.sentBytes = 4'000;
  if (!problem.empty()) {
    run.problems.push_back(problem);
  }
  return nlohmann::json::array(
             {{{"hook", id},
               {"passes", passes},
               {"runs", nlohmann::json::array({nlohmann::json::parse(toJson(run))})}}})
      .dump();
}

}  // namespace lockstep::ui::test
