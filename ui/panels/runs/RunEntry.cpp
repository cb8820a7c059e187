#include "ui/panels/runs/RunEntry.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/analysis/RunAnalysis.h"
#include "engine/experiment/Parse.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t kCourseParts = 32;  // as many as a line of a table can show

/// What rank 0 says that it took; empty where it has not said.
QString backendOf(const trace::RunSummary& summary) {
  if (summary.ranks.empty()) {
    return {};
  }
  const auto& facts = summary.ranks.front().environment;
  const auto taken = facts.find("backend");
  return taken == facts.end() ? QString() : QString::fromStdString(taken->second);
}

}  // namespace

RunEntry unreadRunEntry(const std::filesystem::path& path) {
  RunEntry entry;
  entry.path = QString::fromStdString(path.string());
  entry.name = QString::fromStdString(path.stem().string());
  entry.unread = true;
  return entry;
}

RunEntry readRunEntry(const std::filesystem::path& path) {
  RunEntry entry = unreadRunEntry(path);
  entry.unread = false;
  const auto read = trace::readRunSummary(path);
  if (!read.ok()) {
    entry.problem = QString::fromStdString(read.error().message());
    return entry;
  }
  const trace::RunSummary& summary = read.value();
  entry.state = summary.info.state;
  entry.kind = summary.info.kind;
  if (!summary.info.name.empty()) {  // a run that has just begun has none yet
    entry.name = QString::fromStdString(summary.info.name);
  }
  entry.worldSize = summary.info.worldSize;
  // A run that diverged need not have failed: then where it diverged is the line to show.
  entry.failure = QString::fromStdString(summary.info.failure.empty() && summary.info.divergence
                                             ? summary.info.divergence->text
                                             : summary.info.failure);
  entry.started =
      QDateTime::fromString(QString::fromStdString(summary.info.startedAt), Qt::ISODate);
  for (const trace::RankInfo& rank : summary.ranks) {
    entry.drops += rank.eventsDropped;
  }
  entry.settings = runSettingsOf(summary);

  if (summary.info.kind != trace::RunKind::kExperiment) {
    entry.model = summary.info.kind == trace::RunKind::kSimulated ? QStringLiteral("simulated")
                  : summary.info.kind == trace::RunKind::kImported
                      ? QStringLiteral("PyTorch (imported)")
                      : QStringLiteral("PyTorch");
    entry.backend = backendOf(summary);
    return entry;
  }
  // A resolved experiment holds absolute paths alone; the folder changes nothing.
  const auto parsed = experiment::parseText(summary.info.experimentToml, path.string(), "/");
  if (!parsed.mistakes.empty()) {
    return entry;  // of another version, perhaps; the experiment holds defaults then
  }
  entry.model = QString::fromStdString(parsed.experiment.model.kind);
  entry.sweep = QString::fromStdString(parsed.experiment.sweep.group);
  const experiment::ProcessesConfig& processes = parsed.experiment.processes;
  if (processes.strategy == "ddp") {
    entry.backend = QString::fromStdString(processes.backend);
    if (const QString taken = backendOf(summary); processes.backend == "auto" && !taken.isEmpty()) {
      entry.backend = taken;
    }
    entry.hook = QString::fromStdString(parsed.experiment.hook.name);
    entry.bucketCapMb = parsed.experiment.ddp.bucketCapMb;
  } else {
    entry.backend = QString::fromStdString(processes.strategy);
  }
  return entry;
}

RunFigures figuresOf(const analysis::RunAnalysis& run) {
  RunFigures figures{run.wallStepsPerSecond, run.overlapPercent, run.exposedMs, {}, {}};
  const auto& ofRanks = run.stepRows.lists();
  const auto chosen = ofRanks.find(run.exposedRank.value_or(0));
  if (chosen == ofRanks.end()) {
    return figures;
  }
  std::vector<double> ms;
  for (const analysis::StepTicks& step : chosen->second) {
    if (step.step >= run.warmUp.firstMeasured && !step.incomplete) {
      ms.push_back(static_cast<double>(step.duration()) * run.nsPerTick / 1e6);
    }
  }
  const std::size_t parts = std::min(ms.size(), kCourseParts);
  for (std::size_t part = 0; part < parts; ++part) {
    const auto begin = ms.begin() + static_cast<std::ptrdiff_t>(ms.size() * part / parts);
    const auto end = ms.begin() + static_cast<std::ptrdiff_t>(ms.size() * (part + 1) / parts);
    figures.course.push_back(
        static_cast<float>(std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin)));
  }
  figures.stepMs = analysis::median(std::move(ms));
  return figures;
}

void takeFigures(RunEntry& entry, const RunFigures& figures) {
  entry.stepsPerSecond = figures.stepsPerSecond;
  entry.overlapPercent = figures.overlapPercent;
  entry.exposedMs = figures.exposedMs;
  entry.stepMs = figures.stepMs;
  entry.course = figures.course;
}

RunFigures readRunFigures(const std::filesystem::path& path) {
  const auto data = analysis::readRunData(path);
  if (!data.ok()) {
    return {};
  }
  return figuresOf(analysis::analyse(data.value()));
}

}  // namespace lockstep::ui
