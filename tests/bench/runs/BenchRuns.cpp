#include <fmt/format.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ui/panels/runs/RunsScanner.h"
#include "ui/panels/runs/RunsTable.h"
#include "ui/table/RowsModel.h"

// bench_runs FILE COUNT: makes a folder of COUNT links to a run file beside it and lists them as
// two starts of the studio do: the first has seen none of them, the second knows all. Prints one
// JSON object: ms until the list stands, sorted and in a model. It needs no display.
namespace lockstep::ui {
namespace {

namespace fs = std::filesystem;

struct Start {
  double listedMs = 0;  ///< all runs stand in the list, whatever is known of them
  double readMs = 0;    ///< and nothing is left to be read
  RunsScanner::Work work;
};

Start startOf(const fs::path& folder, std::size_t runs) {
  Start start;
  QElapsedTimer clock;
  clock.start();
  const auto ms = [&clock] { return static_cast<double>(clock.nsecsElapsed()) / 1e6; };
  RunsScanner scanner(folder);
  RowsModel model;
  model.sort(RunsTable::kStarted, Qt::DescendingOrder);
  QObject::connect(&scanner, &RunsScanner::scanned, [&](std::vector<RunEntry> entries) {
    model.setRows(std::make_shared<RunsTable>(std::move(entries)));
    if (start.listedMs == 0 && static_cast<std::size_t>(model.rowCount()) == runs) {
      start.listedMs = ms();
    }
  });
  scanner.scan();
  start.readMs = ms();
  start.work = scanner.work();
  return start;
}

int bench(const fs::path& run, std::size_t count) {
  const fs::path folder = run.parent_path() / "listed";
  fs::create_directories(folder);
  for (std::size_t i = 0; i < count; ++i) {
    fs::create_hard_link(run, folder / fmt::format("run-{}.lockstep", i));
  }
  const Start first = startOf(folder, count);
  const Start second = startOf(folder, count);
  fmt::print(
      "{{\"first_listed_ms\": {:.1f}, \"first_read_ms\": {:.1f}, \"again_listed_ms\": {:.1f}, "
      "\"again_opened\": {}}}\n",
      first.listedMs, first.readMs, second.listedMs, second.work.read + second.work.analysed);
  return 0;
}

}  // namespace
}  // namespace lockstep::ui

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_runs FILE COUNT\n");
    return 2;
  }
  const QCoreApplication application(argc, argv);
  return lockstep::ui::bench(argv[1], std::stoul(argv[2]));
}
