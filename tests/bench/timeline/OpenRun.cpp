#include "tests/bench/timeline/OpenRun.h"

#include <QEventLoop>
#include <QTimer>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

namespace lockstep::bench {
namespace {

constexpr int kOpeningLimitMs = 120'000;

double bytesOf(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) {
      return std::strtod(line.c_str() + key.size(), nullptr) * 1024;
    }
  }
  return 0;
}

}  // namespace

QString waitUntilOpen(ui::RunModel& model) {
  QEventLoop loop;
  QString failure = QStringLiteral("it was not open within two minutes");
  QObject::connect(&model, &ui::RunModel::loaded, &loop, [&] {
    failure.clear();
    loop.quit();
  });
  QObject::connect(&model, &ui::RunModel::failed, &loop, [&](const QString& sentence) {
    failure = sentence;
    loop.quit();
  });
  QTimer::singleShot(kOpeningLimitMs, &loop, &QEventLoop::quit);
  loop.exec();
  return failure.isEmpty() && model.spanCount() == 0 ? QStringLiteral("it holds no events")
                                                     : failure;
}

double residentBytes() {
  return bytesOf("VmRSS:");
}

double mostResidentBytes() {
  return bytesOf("VmHWM:");
}

double percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::ceil(last * fraction))];
}

}  // namespace lockstep::bench
