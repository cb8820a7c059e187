#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/timeline/MadeRanks.h"
#include "tests/bench/timeline/MadeRun.h"

namespace {

using lockstep::bench::PlantedRank;
using Plants = std::vector<std::pair<PlantedRank::Kind, std::vector<std::string>>>;

lockstep::base::Result<std::uint64_t> make(const std::string& file,
                                           lockstep::bench::MadeRanksOptions options,
                                           const Plants& plants) {
  for (const auto& [kind, texts] : plants) {
    for (const std::string& text : texts) {
      const auto plant = lockstep::bench::plantedFrom(kind, text);
      if (!plant.ok()) {
        return plant.error();
      }
      options.planted.push_back(plant.value());
    }
  }
  return lockstep::bench::writeMadeRanks(file, options);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Makes a run file as training writes it: of a number of spans, or with --world of many "
      "ranks, some of them unlike the rest");
  std::string file;
  lockstep::bench::MadeRunOptions run;
  lockstep::bench::MadeRanksOptions ranks;
  Plants plants{{PlantedRank::Kind::kSlow, {}},
                {PlantedRank::Kind::kLink, {}},
                {PlantedRank::Kind::kPeriodic, {}},
                {PlantedRank::Kind::kSlowHost, {}}};
  app.add_option("FILE", file, "Run file to make")->required();
  app.add_option("SPANS", run.spans, "How many spans, at least")->check(CLI::PositiveNumber);
  app.add_option("RANKS", run.ranks, "Of how many ranks")->check(CLI::Range(1, 1000));
  CLI::Option* world = app.add_option("--world", ranks.ranks, "How many ranks that train alike")
                           ->check(CLI::Range(1, 16384));
  app.add_option("--steps", ranks.steps, "How many steps")->check(CLI::PositiveNumber);
  app.add_option("--host-size", ranks.ranksAHost, "Ranks a host")->check(CLI::PositiveNumber);
  app.add_option("--jitter", ranks.jitter, "Of each event's length")->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", ranks.seed, "Of the jitter");
  const std::vector<std::pair<const char*, const char*>> options{
      {"--slow", "RANK:MS  computes so much longer in every step"},
      {"--link", "RANK:MS  its collectives end so much later than the others'"},
      {"--periodic", "RANK:MS:STEPS  computes so much longer in every STEPSth step"},
      {"--slow-host", "HOST:MS  as --slow, all ranks of a host"}};
  for (std::size_t i = 0; i < options.size(); ++i) {
    app.add_option(options[i].first, plants[i].second, options[i].second);
  }
  CLI11_PARSE(app, argc, argv);
  const bool many = world->count() > 0;
  const auto written = many ? make(file, ranks, plants) : lockstep::bench::writeMadeRun(file, run);
  if (!written.ok()) {
    fmt::print(stderr, "make_run: {}\n", written.error().message());
    return 1;
  }
  fmt::print("{} spans of {} ranks in {}\n", written.value(), many ? ranks.ranks : run.ranks, file);
  return 0;
}
