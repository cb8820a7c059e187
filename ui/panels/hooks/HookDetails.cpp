#include "ui/panels/hooks/HookDetails.h"

#include <QHeaderView>
#include <algorithm>
#include <utility>

#include "plugins/abi/include/lockstep/comm_hook.h"
#include "ui/model/Format.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/hooks/LiveParameters.h"
#include "ui/table/WrittenTable.h"

namespace lockstep::ui {
namespace {

constexpr int kMostRows = 9;

LowTable* makeTable(const char* name, const QString& called, const QStringList& titles) {
  std::vector<TableRows::Column> columns;
  for (const QString& title : titles) {
    columns.push_back({title});
  }
  auto* table = named(new LowTable(called, std::move(columns), kMostRows), name, called);
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 8);
  table->horizontalHeader()->setStretchLastSection(false);
  return table;
}

QLabel* makeText(const char* name) {
  auto* label = wrapped({}, name);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

QString resultOf(const plugin::HookInfo& hook) {
  const QString same = (hook.caps & LOCKSTEP_CAP_SAME_RESULT) != 0
                           ? HookDetails::tr("the same gradients on all ranks")
                       : (hook.caps & LOCKSTEP_CAP_LOCAL_RESULT) != 0
                           ? HookDetails::tr("each rank may have gradients of its own")
                           : HookDetails::tr("no promise that all ranks have the same gradients");
  const QString near =
      hook.meanError < 0
          ? HookDetails::tr("no promise how near they are to the mean")
          : HookDetails::tr("at most %1 of the mean's root mean square away from the mean")
                .arg(hook.meanError, 0, 'g', 2);
  return same + QStringLiteral("; ") + near;
}

QString factsOf(const HookRow& row) {
  const plugin::HookInfo& hook = row.info;
  const auto joined = [](const std::vector<std::string>& names) {
    QStringList list;
    for (const std::string& name : names) {
      list << QString::fromStdString(name);
    }
    return list.join(QStringLiteral(", "));
  };
  QStringList lines;
  lines << QString::fromStdString(hook.summary);
  if (!hook.vendor.empty()) {
    lines << HookDetails::tr("From: %1").arg(QString::fromStdString(hook.vendor));
  }
  lines << HookDetails::tr("Takes: gradients of %1 on %2")
               .arg(joined(hook.dtypeNames()), joined(hook.deviceNames()));
  lines << HookDetails::tr("Promises: %1").arg(resultOf(hook));
  lines << (!hook.refusal.empty()
                ? HookDetails::tr("State: not known, it was not made for one rank: %1")
                      .arg(QString::fromStdString(hook.refusal))
            : hook.has("state") ? HookDetails::tr("State: kept with checkpoints")
                                : HookDetails::tr("State: none"));
  // Said beside the promises: elsewhere replicas that differ are a mistake.
  if (hook.has("replicas")) {
    lines << HookDetails::tr("Lets the replicas drift apart, by design.");
  }
  if ((hook.caps & LOCKSTEP_CAP_INNER) != 0) {
    lines << HookDetails::tr("Takes another hook inside.");
  }
  lines << HookDetails::tr("Library: %1").arg(row.path);
  if (row.state == HookRow::State::kDisabled) {
    lines << HookDetails::tr(
        "Disabled: the setup form does not offer it. Experiment files that name it still run.");
  }
  return lines.join(QLatin1Char('\n'));
}

}  // namespace

HookDetails::HookDetails(QWidget* parent)
    : QWidget(parent),
      title_(bold()),
      facts_(makeText("hookFacts")),
      parametersTitle_(bold(tr("Parameters"))),
      parameters_(
          makeTable("hookParameters", tr("Parameters of the hook"),
                    {tr("Key"), tr("Begins with"), tr("Allowed"), tr("Live"), tr("What it does")})),
      verdictTitle_(bold(tr("Verification"))),
      verdict_(
          makeTable("hookVerdict", tr("What the verification of the hook found"),
                    {tr("Ranks"), tr("Verdict"), tr("Off the mean"), tr("Promised"),
                     tr("Same on all ranks"), tr("A step"), tr("Allreduce"), tr("Sent a step")})),
      findings_(makeText("hookFindings")) {
  setObjectName("hookDetails");
  fill(this,
       inColumn({title_, facts_, verdictTitle_, verdict_, findings_, parametersTitle_, parameters_,
                 Part::rest()}),
       {8, 6, 8, 6});
  show(nullptr);
}

void HookDetails::show(const HookRow* row) {
  // Of a library that was refused nothing is known but why: it could not be asked for its hooks.
  const bool known = row != nullptr && !row->refused();
  title_->setText(row == nullptr ? tr("Choose a hook to see what it does")
                                 : row->id + QLatin1Char(' ') + row->version);
  facts_->setVisible(row != nullptr);
  parametersTitle_->setVisible(known);
  parameters_->setVisible(known);
  const bool verified = known && row->verdict.has_value();
  verdictTitle_->setVisible(verified);
  findings_->setVisible(verified);
  verdict_->setVisible(verified && !row->verdict->runs.empty());
  if (row == nullptr) {
    return;
  }
  facts_->setText(known ? factsOf(*row)
                        : tr("Refused: %1\nLibrary: %2").arg(row->error, row->path));
  if (known) {
    fillParameters(*row);
  }
  if (verified) {
    fillVerdict(*row);
  }
}

void HookDetails::fillParameters(const HookRow& row) {
  // A table without rows would still show its titles.
  parametersTitle_->setText(row.info.params.empty() ? tr("No parameters") : tr("Parameters"));
  parameters_->setVisible(!row.info.params.empty());
  std::vector<WrittenRows::Row> rows;
  for (const plugin::HookParam& param : row.info.params) {
    QString begins = textOf(param, initialOf(param));
    if (!param.unit.empty()) {
      begins += QLatin1Char(' ') + QString::fromStdString(param.unit);
    }
    rows.push_back({{QString::fromStdString(param.key)},
                    {begins},
                    {rangeOf(param)},
                    {param.live ? tr("yes") : tr("no")},
                    {QString::fromStdString(param.help)}});
  }
  parameters_->write(std::move(rows));
}

void HookDetails::fillVerdict(const HookRow& hook) {
  std::vector<WrittenRows::Row> rows;
  const HookVerdict& verdict = *hook.verdict;
  QStringList findings;
  if (!verdict.error.isEmpty()) {
    findings << verdict.error;
  }
  const QString promised =
      hook.info.meanError < 0 ? tr("no promise") : QString::number(hook.info.meanError, 'e', 1);
  for (const plugin::Verification& run : verdict.runs) {
    // A refusal comes before any training, and a failure may come before any timing.
    const bool trained = run.meanError >= 0;
    const bool timed = run.stepMs > 0;
    const QString none = QStringLiteral("–");
    const QString tip =
        tr("Off the mean: largest distance of a result from the mean gradient, in units of the "
           "mean's root mean square. A step: all calls of one, beside the engine's own "
           "allreduce of the same tensors.");
    WrittenRows::Row& row = rows.emplace_back();
    for (const QString& text :
         {QString::number(run.ranks),
          !run.problems.empty() ? tr("✗ fails")
          : run.refusal.empty() ? tr("✓ keeps its promises")
                                : tr("refuses"),
          trained ? QString::number(run.meanError, 'e', 1) : none, promised,
          !trained            ? none
          : run.gradientsSame ? tr("yes")
                              : tr("no"),
          timed ? formatMs(run.stepMs) : none, timed ? formatMs(run.allreduceMs) : none,
          timed ? formatBytes(run.sentBytes) : none}) {
      row.push_back({text, {}, tip});
    }
    const auto tell = [&](const std::string& sentence) {
      findings << tr("On %1 ranks: %2").arg(run.ranks).arg(QString::fromStdString(sentence));
    };
    std::for_each(run.problems.begin(), run.problems.end(), tell);
    std::for_each(run.notes.begin(), run.notes.end(), tell);
    if (!run.refusal.empty()) {
      tell(run.refusal);
    }
  }
  findings_->setText(findings.join(QLatin1Char('\n')));
  findings_->setVisible(!findings.isEmpty());
  if (!verdict.runs.empty()) {
    verdict_->write(std::move(rows));
  }
}

}  // namespace lockstep::ui
