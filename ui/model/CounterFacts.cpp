#include "ui/model/CounterFacts.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kKibi = 1024;

QString tr(const char* text) {
  return QCoreApplication::translate("CounterFacts", text);
}

// Values of DDP's own logger (engine/trace/FORMAT.md).
CounterFacts ofDdp(const QString& title, const QString& meaning) {
  return {title, meaning, CounterUnit::kNanoseconds, CounterGroup::kDdp, false};
}

// The order of this list is the order in which views list counters.
const std::vector<std::pair<std::string, CounterFacts>>& known() {
  using enum CounterUnit;
  using enum CounterGroup;
  static const std::vector<std::pair<std::string, CounterFacts>> facts{
      {"resident_bytes",
       {tr("Memory"), tr("Resident memory of the rank's process."), kBytes, kProcess, false}},
      {"cpu_percent",
       {tr("Processor"), tr("Processor time of all threads; 100 % is one core."), kPercent,
        kProcess, true}},
      {"step_thread_cpu_percent",
       {tr("Step thread"), tr("Processor time of the thread that runs the steps."), kPercent,
        kProcess, true}},
      {"comm_threads_cpu_percent",
       {tr("Comm threads"), tr("Processor time of the backend's threads; 100 % is one core."),
        kPercent, kProcess, true}},
      {"stolen_percent",
       {tr("Stolen"),
        tr("What a hypervisor took of the core of the rank's machine that lost most."), kPercent,
        kProcess, true}},
      {"ring_fill_percent",
       {tr("Ring fill"), tr("The fullest ring of events, of its size; at 100 % events are lost."),
        kPercent, kProcess, true}},
      {"sent_bytes_per_second",
       {tr("Sent"), tr("Bytes that the rank sent to others."), kBytesPerSecond, kWire, true}},
      {"received_bytes_per_second",
       {tr("Received"), tr("Bytes that the rank received from others."), kBytesPerSecond, kWire,
        true}},
      {"loss", {tr("Loss"), tr("Loss of the rank's batch."), kNumber, kTraining, false}},
      {"gradient_norm",
       {tr("Gradient norm"), tr("Of the rank's own gradients, before they are averaged."), kNumber,
        kTraining, false}},
      {"forward_compute_time", ofDdp(tr("Forward"), tr("Forward, as DDP's logger times it."))},
      {"backward_compute_time", ofDdp(tr("Backward"), tr("Backward, as DDP's logger times it."))},
      {"backward_comm_time",
       ofDdp(tr("Comm window"),
             tr("First bucket launched to last bucket done, as DDP's logger times it."))},
      {"backward_compute_comm_overlap_time",
       ofDdp(tr("Overlap window"),
             tr("First bucket launched to end of backward, as DDP's logger times it."))},
      {"unused_parameter_size",
       {tr("Unused"), tr("Bytes of parameters that took no part."), kBytes, kDdp, false}},
  };
  return facts;
}

// Where it stands among those; their number when it is none of them.
std::size_t placeOf(const std::string& name) {
  const auto found = std::find_if(known().begin(), known().end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return static_cast<std::size_t>(found - known().begin());
}

QString plainNumber(double value) {
  constexpr double kCounted = 1e15;  // integers up to here are exact and still read as counts
  const double magnitude = std::abs(value);
  // 1234.5 reads as 1,235, not as 1.23e+03.
  const bool whole = value == std::round(value) || (magnitude >= 1000 && magnitude < 1e7);
  if (whole && magnitude < kCounted) {
    return (value < 0 ? QStringLiteral("-") : QString()) +
           formatCount(static_cast<std::uint64_t>(std::llround(magnitude)));
  }
  return QString::number(value, 'g', 3);
}

double unitSize(CounterUnit unit, double magnitude) {
  // Memory and rates of bytes are round in powers of 1024 (512 MiB), everything else in powers of ten.
  double size = 1;
  if (unit == CounterUnit::kBytes || unit == CounterUnit::kBytesPerSecond) {
    while (magnitude >= size * kKibi) {
      size *= kKibi;
    }
  }
  return size;
}

// The next round number at or above a positive one.
double roundedUp(CounterUnit unit, double value) {
  static constexpr std::array<double, 10> kRound{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
  const double size = unitSize(unit, value);
  const double decade = std::pow(10.0, std::floor(std::log10(value / size)));
  for (const double digit : kRound) {
    const double candidate = digit * decade * size;
    // The tolerance is for rounding in log10 and pow: 1000 shall not become 1500.
    if (candidate >= value * (1 - 1e-12)) {
      return candidate;
    }
  }
  return 10 * decade * size;
}

}  // namespace

CounterFacts counterFacts(const std::string& name) {
  if (const std::size_t place = placeOf(name); place < known().size()) {
    return known()[place].second;
  }
  constexpr const char* kHook = "hook.";
  CounterFacts facts;
  facts.title = QString::fromStdString(name);
  if (facts.title.startsWith(QLatin1String(kHook))) {
    facts.title.remove(0, 5);
    facts.group = CounterGroup::kHook;
    facts.meaning = tr("A number that the hook counts, summed over the buckets of an iteration.");
  } else {
    facts.meaning = tr("A number that the run recorded.");
  }
  return facts;
}

bool isPlotted(const std::string& name) {
  static const std::set<std::string> kNot{"final_loss", "test_loss", "test_accuracy",
                                          "forward_compute_time_start"};
  return !kNot.contains(name);
}

std::vector<std::string> inListedOrder(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    // placeOf is the same for all that are not in the list: they go by name.
    const auto key = [](const std::string& name) {
      return std::tuple(counterFacts(name).group, placeOf(name), name);
    };
    return key(a) < key(b);
  });
  return names;
}

QString titleOf(CounterGroup group) {
  static constexpr std::array kTitles{"Process", "On the wire",  "Training",
                                      "Hook",    "DDP's logger", "Others"};
  return tr(kTitles[static_cast<std::size_t>(group)]);
}

QString counterText(CounterUnit unit, double value) {
  if (!std::isfinite(value)) {
    return tr("not finite");
  }
  switch (unit) {
    case CounterUnit::kBytes:
      return formatBytes(value);
    case CounterUnit::kPercent: {
      const double magnitude = std::abs(value);
      // Three digits: 100 %, 38.2 %, 0.12 %.
      const int decimals = value == std::round(value) || magnitude >= 99.95 ? 0
                           : magnitude < 0.995                              ? 2
                                                                            : 1;
      return formatPercent(value, decimals);
    }
    case CounterUnit::kBytesPerSecond:
      return formatBytes(value) + QStringLiteral("/s");
    case CounterUnit::kNanoseconds:
      return formatDuration(value);
    case CounterUnit::kNumber:
      break;
  }
  return plainNumber(value);
}

// Zero is always on the axis: a counter that varies a little shall not look as if it jumped.
CounterScale counterScale(CounterUnit unit, double minimum, double maximum) {
  CounterScale scale{0, 0};
  if (maximum > 0) {
    scale.high = roundedUp(unit, maximum);
  }
  if (minimum < 0) {
    scale.low = -roundedUp(unit, -minimum);
  }
  if (scale.low == scale.high) {
    scale.high = 1;
  }
  return scale;
}

}  // namespace lockstep::ui
