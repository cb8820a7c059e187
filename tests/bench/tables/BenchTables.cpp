// bench_tables RUN: how long the tables of a run take to list, filter, sort and measure its spans,
// and for how long the UI thread answers nobody meanwhile.

#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QTableView>
#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

#include "ui/panels/events/EventsPanel.h"
#include "ui/panels/statistics/StatisticsPanel.h"

namespace {

using namespace lockstep::ui;

// Measures the longest event that was handled.
class Application : public QApplication {
 public:
  using QApplication::QApplication;

  bool notify(QObject* receiver, QEvent* event) override {
    if (depth_ > 0) {
      return QApplication::notify(receiver, event);
    }
    QElapsedTimer clock;
    clock.start();
    ++depth_;
    const bool handled = QApplication::notify(receiver, event);
    --depth_;
    longestNs = std::max(longestNs, clock.nsecsElapsed());
    return handled;
  }

  qint64 longestNs = 0;

 private:
  int depth_ = 0;
};

std::string memoryLine(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

void report(Application& application, const char* what, const std::function<void()>& begin,
            const std::function<bool()>& busy) {
  application.longestNs = 0;
  QElapsedTimer clock;
  clock.start();
  begin();
  const double beginMs = static_cast<double>(clock.nsecsElapsed()) / 1e6;
  while (busy()) {
    QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  }
  const double took = static_cast<double>(clock.nsecsElapsed()) / 1e6;
  QApplication::processEvents();
  const double longest = std::max(beginMs, static_cast<double>(application.longestNs) / 1e6);
  fmt::print("{:<34} {:8.0f} ms   longest event {:5.1f} ms   memory {}\n", what, took, longest,
             memoryLine("VmRSS:"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_tables RUN\n");
    return 2;
  }
  Application application(argc, argv);
  RunModel model{std::filesystem::path(argv[1])};
  bool failed = false;
  QObject::connect(&model, &RunModel::failed, [&](const QString& sentence) {
    fmt::print(stderr, "{}\n", sentence.toStdString());
    failed = true;
  });
  report(
      application, "open", [] {}, [&] { return !model.isLoaded() && !failed; });
  if (failed) {
    return 1;
  }
  fmt::print("{} spans\n", model.spanCount());

  ViewState state;
  EventsPanel events;
  events.resize(1200, 400);
  events.setRun(&model, &state);
  auto* table = events.findChild<QTableView*>("eventsTable");
  const auto eventsBusy = [&] { return events.busy(); };
  const auto sortBy = [&](EventColumn column, Qt::SortOrder order) {
    return [table, column, order] { table->sortByColumn(static_cast<int>(column), order); };
  };
  report(
      application, "list all", [&] { events.show(); }, eventsBusy);
  report(application, "sort by duration", sortBy(EventColumn::kDuration, Qt::DescendingOrder),
         eventsBusy);
  report(application, "sort by name", sortBy(EventColumn::kName, Qt::AscendingOrder), eventsBusy);
  report(application, "sort by time in iteration", sortBy(EventColumn::kInStep, Qt::AscendingOrder),
         eventsBusy);
  report(
      application, "filter kind:wait bucket:0", [&] { events.setFilter("kind:wait bucket:0"); },
      eventsBusy);
  report(
      application, "select a row", [&] { table->selectRow(table->model()->rowCount() / 2); },
      eventsBusy);
  events.hide();

  StatisticsPanel statistics;
  statistics.resize(1200, 400);
  statistics.setRun(&model, &state);
  const auto measuring = [&] { return statistics.busy(); };
  report(
      application, "statistics by name", [&] { statistics.show(); }, measuring);
  report(
      application, "statistics by phase", [&] { statistics.setGroupBy(GroupBy::kPhase); },
      measuring);
  report(
      application, "statistics of one bucket", [&] { statistics.setFilter("bucket:0"); },
      measuring);
  fmt::print("peak memory {}\n", memoryLine("VmHWM:"));
  statistics.setRun(nullptr, nullptr);
  events.setRun(nullptr, nullptr);
  return 0;
}
