// Prints the table of the overlap view as it is copied: overlap_table RUN. Or writes a made-up run:
// overlap_table --make PATH.

#include <QCoreApplication>
#include <QTextStream>
#include <cstdio>
#include <string>

#include "engine/trace/RunFile.h"
#include "tests/ui/model/DemoRun.h"
#include "ui/views/overlap/OverlapTables.h"

namespace {

int fail(const lockstep::base::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

int print(const std::string& path) {
  using namespace lockstep;
  auto data = analysis::readRunData(path);
  if (!data.ok()) {
    return fail(data.error());
  }
  ui::AnalysedRun run;
  run.data = std::move(data).value();
  run.analysis = analysis::analyse(run.data);
  const auto table = ui::overlapSteps(ui::overlapContent(run));
  QTextStream out(stdout);
  const auto& columns = table->columns();
  for (std::size_t column = 0; column < columns.size(); ++column) {
    out << (column == 0 ? "" : "\t") << columns[column].title;
  }
  out << '\n';
  for (std::size_t row = 0; row < table->size(); ++row) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      out << (column == 0 ? "" : "\t") << table->text(row, column);
    }
    out << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  if (argc == 3 && std::string(argv[1]) == "--make") {
    lockstep::ui::test::DemoOptions options;
    options.gapOnRank0 = true;
    options.coreWaits = true;
    const auto written = lockstep::ui::test::writeDemoRun(argv[2], options);
    return written.ok() ? 0 : fail(written.error());
  }
  if (argc != 2) {
    std::fprintf(stderr, "overlap_table RUN, or overlap_table --make PATH\n");
    return 2;
  }
  return print(argv[1]);
}
