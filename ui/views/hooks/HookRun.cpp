#include "ui/views/hooks/HookRun.h"

#include <QStringList>
#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/experiment/Experiment.h"
#include "engine/trace/WholeRun.h"

namespace lockstep::ui {
namespace {

constexpr std::string_view kHookMetric = "hook.";
constexpr std::size_t kColumns = 1000;  // of a curve; each gives two points at most

bool isHookMetric(const std::string& name) {
  return name.starts_with(kHookMetric);
}

QString textOf(const experiment::HookValue& value) {
  return std::visit(
      [](const auto& held) -> QString {
        using Held = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>) {
          return held ? QStringLiteral("on") : QStringLiteral("off");
        } else if constexpr (std::is_arithmetic_v<Held>) {
          return QString::number(held);
        } else {
          return QString::fromStdString(held);
        }
      },
      value);
}

std::optional<double> numberOf(const experiment::HookValue& value) {
  return std::visit(
      [](const auto& held) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(held)>>) {
          return static_cast<double>(held);
        } else {
          return std::nullopt;
        }
      },
      value);
}

/// A value as the resolved experiment has it: true, 0.1, "ring"; what is none of them is text, too.
experiment::HookValue valueOf(const QString& toml) {
  if (toml == QLatin1String("true") || toml == QLatin1String("false")) {
    return toml == QLatin1String("true");
  }
  bool isNumber = false;
  const double number = toml.toDouble(&isNumber);
  if (isNumber) {
    return number;
  }
  const bool quoted = toml.size() >= 2 && toml.startsWith(QLatin1Char('"'));
  return (quoted ? toml.mid(1, toml.size() - 2) : toml).toStdString();
}

/// What the experiment says of its hooks, the outermost first; empty when it says nothing. Looks
/// at the text alone, which the engine wrote, a key a line: a parser that also checks would
/// refuse a run from elsewhere, since its data is not here.
std::vector<experiment::HookSettings> hooksOf(const trace::RunInfo& info, bool& plugin) {
  std::vector<experiment::HookSettings> hooks;
  bool inHook = false;
  // Other strategies than DDP call no hook.
  bool ddp = true;
  for (const QString& raw : QString::fromStdString(info.experimentToml).split(QLatin1Char('\n'))) {
    const QString line = raw.trimmed();
    if (line.startsWith(QLatin1Char('['))) {
      inHook = line == QLatin1String("[hook]") || line.startsWith(QLatin1String("[hook.inner"));
      if (inHook) {
        hooks.emplace_back();
      }
      continue;
    }
    const qsizetype equals = line.indexOf(QLatin1Char('='));
    if (equals < 0 || line.startsWith(QLatin1Char('#'))) {
      continue;
    }
    const std::string key = line.left(equals).trimmed().toStdString();
    const experiment::HookValue value = valueOf(line.mid(equals + 1).trimmed());
    const auto* text = std::get_if<std::string>(&value);
    if (key == "strategy" && text != nullptr) {
      ddp = *text == "ddp";
    } else if (inHook && key == "name" && text != nullptr) {
      hooks.back().name = *text;
    } else if (inHook && key == "library" && text != nullptr) {
      hooks.back().library = *text;
    } else if (inHook) {
      hooks.back().values[key] = value;
    }
  }
  // Without a section no hook was loaded.
  if (!hooks.empty()) {
    experiment::HookConfig config;
    static_cast<experiment::HookSettings&>(config) = hooks.front();
    config.inner.assign(hooks.begin() + 1, hooks.end());
    plugin = !config.isOwn() && ddp;
  }
  return hooks;
}

void describe(HookRun& run, const std::vector<experiment::HookSettings>& hooks) {
  QStringList names;
  QStringList values;
  for (const experiment::HookSettings& hook : hooks) {
    names << QString::fromStdString(hook.name);
    for (const auto& [key, value] : hook.values) {
      values << QString::fromStdString(key) + QStringLiteral(" = ") + textOf(value);
    }
  }
  run.hook = names.isEmpty() ? QStringLiteral("unknown") : names.join(QStringLiteral(" + "));
  run.values = values.join(QStringLiteral(", "));
}

/// The extremes of equal stretches, in the order in which they came.
std::vector<QPointF> thinned(const std::vector<MetricPoint>& points) {
  std::vector<QPointF> kept;
  const std::size_t stride = std::max<std::size_t>(1, (points.size() + kColumns - 1) / kColumns);
  for (std::size_t begin = 0; begin < points.size(); begin += stride) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        points.begin() + static_cast<std::ptrdiff_t>(std::min(begin + stride, points.size()));
    // Both are kept, each where it was: a spike of one step would be lost by taking every n-th.
    auto [low, high] = std::minmax_element(
        first, last, [](const MetricPoint& a, const MetricPoint& b) { return a.value < b.value; });
    if (high < low) {
      std::swap(low, high);
    }
    kept.emplace_back(low->step, low->value);
    if (high != low) {
      kept.emplace_back(high->step, high->value);
    }
  }
  return kept;
}

/// What a parameter was before its first change, where the experiment says it.
std::optional<double> valueBefore(const std::vector<experiment::HookSettings>& hooks,
                                  const QString& key) {
  // "inner.density" is of the hook inside the outermost: each "inner." is one deeper.
  const QStringList path = key.split(QLatin1Char('.'));
  const auto depth = static_cast<std::size_t>(path.size() - 1);  // "inner.density"
  if (depth >= hooks.size()) {
    return std::nullopt;
  }
  const auto value = hooks[depth].values.find(path.back().toStdString());
  return value == hooks[depth].values.end() ? std::nullopt : numberOf(value->second);
}

void addCurves(HookRun& run, const HookFacts& facts,
               const std::vector<experiment::HookSettings>& hooks) {
  for (const auto& [name, ranks] : facts.metrics) {
    HookCurve curve;
    curve.key = QString::fromStdString(name.substr(kHookMetric.size()));
    curve.parameter =
        std::ranges::find(run.changes, curve.key, &HookChange::key) != run.changes.end();
    const std::optional<double> before =
        curve.parameter ? valueBefore(hooks, curve.key) : std::nullopt;
    for (const auto& [rank, points] : ranks) {
      std::vector<QPointF> line = thinned(points);
      // Its curve begins with the first change; until then it had what the experiment says.
      if (before.has_value() && !line.empty() && line.front().x() > 0) {
        line.insert(line.begin(), QPointF(0, *before));
      }
      curve.ranks.emplace(rank, std::move(line));
    }
    run.curves.push_back(std::move(curve));
  }
}

}  // namespace

HookFacts hookFactsOf(const RunModel& model) {
  HookFacts facts;
  facts.info = model.info();
  facts.ranks = model.ranks();
  for (const std::string& name : model.metricNames()) {
    if (isHookMetric(name)) {
      for (int rank = 0; rank < model.rankCount(); ++rank) {
        if (const auto& points = model.metric(name, rank); !points.empty()) {
          facts.metrics[name][rank] = points;
        }
      }
    }
  }
  facts.steps = static_cast<std::uint32_t>(model.stepCount(0));
  if (facts.info.name.empty()) {
    facts.info.name = model.path().stem().string();
  }
  return facts;
}

std::shared_ptr<const HookRun> makeHookRun(const HookFacts& facts, const AnalysedRun& analysed) {
  return GrowingHookRun().refresh(facts, analysed);
}

std::shared_ptr<const HookRun> GrowingHookRun::refresh(const HookFacts& facts,
                                                       const AnalysedRun& analysed) {
  const std::lock_guard lock(mutex_);
  auto run = std::make_shared<HookRun>();
  run->run = QString::fromStdString(facts.info.name);
  run->observed = facts.info.kind != trace::RunKind::kExperiment;
  run->simulated = facts.info.kind == trace::RunKind::kSimulated;
  const auto hooks = hooksOf(facts.info, run->plugin);
  describe(*run, hooks);
  run->ranks = std::max(facts.info.worldSize, static_cast<int>(analysed.analysis.ranks.size()));
  run->steps = facts.steps;
  const analysis::HookNews news = times_.refresh(analysed.data, analysed.analysis);
  if (news.anew) {
    closed_ = {};
    steps_.clear();
    ticks_ = {};
  }
  closed_.add(news.closed);
  run->calls = closed_.with(news.open);
  run->layouts = analysed.data.layouts;
  // The steps that the hook's calls are counted in, too.
  std::vector<double> closed;
  std::vector<double> open;
  for (const auto& [rank, steps] : analysed.analysis.stepRows.lists()) {
    std::size_t& first = steps_[rank];
    for (std::size_t i = first; i < steps.size(); ++i) {
      const bool over = steps[i].step < analysed.analysis.closed.next;
      if (steps[i].step >= analysed.analysis.warmUp.firstMeasured && !steps[i].incomplete) {
        (over ? closed : open).push_back(static_cast<double>(steps[i].duration()));
      }
      first += over ? 1 : 0;
    }
  }
  ticks_.add(std::move(closed));
  if (const auto ticks = ticks_.with(std::move(open)).median()) {
    run->stepMs = *ticks * analysed.analysis.nsPerTick / 1e6;
  }
  run->exposedMs = analysed.analysis.exposedMs;
  run->changes = hookChangesOf(facts.ranks);
  addCurves(*run, facts, hooks);
  // Nothing counted: the rank has not reported yet.
  for (const trace::RankInfo& rank : facts.ranks) {
    if (rank.wireBytes > 0 || rank.wireMessages > 0) {
      run->wire.push_back({rank.rank, rank.wireBytes, rank.wireMessages});
    }
  }
  return run;
}

base::Result<std::shared_ptr<const HookRun>> readHookRun(const std::filesystem::path& path) {
  HookFacts facts;
  AnalysedRun analysed;
  const base::Status read = trace::readWholeRun(path, [&](trace::RunUpdate& update) {
    analysed.data.take(update);
    facts.info = std::move(update.info).value_or(std::move(facts.info));
    facts.ranks = std::move(update.ranks).value_or(std::move(facts.ranks));
    for (const trace::MetricRow& row : update.metrics) {
      if (isHookMetric(row.name)) {
        facts.metrics[row.name][row.rank].push_back({row.step, row.ticks, row.value});
      }
    }
  });
  if (!read.ok()) {
    return read.error();
  }
  analysed.analysis = analysis::analyse(analysed.data);
  // Of rank 0 alone, as a model counts them.
  facts.steps = static_cast<std::uint32_t>(
      std::ranges::count(analysed.analysis.stepRows, 0, &analysis::StepTicks::rank));
  if (facts.info.name.empty()) {
    facts.info.name = path.stem().string();
  }
  return makeHookRun(facts, analysed);
}

}  // namespace lockstep::ui
