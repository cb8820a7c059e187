#include "ui/panels/hooks/HookDetails.h"

#include <QHeaderView>
#include <QLabel>
#include <QStyle>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "plugins/abi/include/lockstep/comm_hook.h"
#include "ui/model/Format.h"
#include "ui/panels/hooks/LiveParameters.h"
#include "ui/table/TableText.h"

namespace lockstep::ui {
namespace {


QTableWidget* makeTable(const char* name, const QStringList& titles) {
  auto* table = new QTableWidget(0, static_cast<int>(titles.size()));
  table->setObjectName(QLatin1String(name));
  table->setHorizontalHeaderLabels(titles);
  table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table->horizontalHeader()->setHighlightSections(false);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 8);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setTabKeyNavigation(false);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  makeCopyable(*table);
  return table;
}

QLabel* makeText() {
  auto* label = new QLabel;
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

QLabel* makeTitle(const QString& text) {
  auto* label = new QLabel(text);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  return label;
}

void addRow(QTableWidget& table, const QStringList& cells, const QString& tip = QString()) {
  const int row = table.rowCount();
  table.insertRow(row);
  for (int column = 0; column < cells.size(); ++column) {
    auto* item = new QTableWidgetItem(cells[column]);
    item->setToolTip(tip.isEmpty() ? cells[column] : tip);
    table.setItem(row, column, item);
  }
}

/// As tall as its rows, so that the pane scrolls as one.
void fitHeight(QTableWidget& table) {
  constexpr int kMostRows = 9;
  const int rows = std::min(table.rowCount(), kMostRows);
  table.resizeColumnsToContents();
  table.setFixedHeight(table.horizontalHeader()->sizeHint().height() +
                       rows * table.verticalHeader()->defaultSectionSize() +
                       table.style()->pixelMetric(QStyle::PM_ScrollBarExtent) + 4);
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

HookDetails::HookDetails(QWidget* parent) : QWidget(parent) {
  setObjectName("hookDetails");
  title_ = makeTitle(QString());
  facts_ = makeText();
  facts_->setObjectName("hookFacts");
  parametersTitle_ = makeTitle(tr("Parameters"));
  parameters_ = makeTable("hookParameters", {tr("Key"), tr("Begins with"), tr("Allowed"),
                                             tr("Live"), tr("What it does")});
  parameters_->setAccessibleName(tr("Parameters of the hook"));
  verdictTitle_ = makeTitle(tr("Verification"));
  verdict_ = makeTable("hookVerdict",
                       {tr("Ranks"), tr("Verdict"), tr("Off the mean"), tr("Promised"),
                        tr("Same on all ranks"), tr("A step"), tr("Allreduce"), tr("Sent a step")});
  verdict_->setAccessibleName(tr("What the verification of the hook found"));
  findings_ = makeText();
  findings_->setObjectName("hookFindings");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 6, 8, 6);
  for (QWidget* widget : {static_cast<QWidget*>(title_), static_cast<QWidget*>(facts_),
                          static_cast<QWidget*>(verdictTitle_), static_cast<QWidget*>(verdict_),
                          static_cast<QWidget*>(findings_), static_cast<QWidget*>(parametersTitle_),
                          static_cast<QWidget*>(parameters_)}) {
    column->addWidget(widget);
  }
  column->addStretch(1);
  show(nullptr);
}

void HookDetails::show(const HookRow* row) {
  const bool known = row != nullptr && !row->refused();
  title_->setText(row == nullptr ? tr("Choose a hook to see what it does")
                                 : row->id + QLatin1Char(' ') + row->version);
  facts_->setVisible(row != nullptr);
  for (QWidget* widget :
       {static_cast<QWidget*>(parametersTitle_), static_cast<QWidget*>(parameters_)}) {
    widget->setVisible(known);
  }
  const bool verified = known && row->verdict.has_value();
  for (QWidget* widget : {static_cast<QWidget*>(verdictTitle_), static_cast<QWidget*>(findings_)}) {
    widget->setVisible(verified);
  }
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
  parametersTitle_->setText(row.info.params.empty() ? tr("No parameters") : tr("Parameters"));
  parameters_->setVisible(!row.info.params.empty());
  parameters_->setRowCount(0);
  for (const plugin::HookParam& param : row.info.params) {
    const bool textual = param.type == plugin::HookParam::Type::kChoice ||
                         param.type == plugin::HookParam::Type::kText;
    const plugin::HookValue initial =
        textual ? plugin::HookValue(param.initialText) : plugin::HookValue(param.initial);
    QString begins = textOf(param, initial);
    if (!param.unit.empty()) {
      begins += QLatin1Char(' ') + QString::fromStdString(param.unit);
    }
    addRow(*parameters_, {QString::fromStdString(param.key), begins, rangeOf(param),
                          param.live ? tr("yes") : tr("no"), QString::fromStdString(param.help)});
  }
  fitHeight(*parameters_);
}

void HookDetails::fillVerdict(const HookRow& row) {
  verdict_->setRowCount(0);
  const HookVerdict& verdict = *row.verdict;
  QStringList findings;
  if (!verdict.error.isEmpty()) {
    findings << verdict.error;
  }
  const QString promised =
      row.info.meanError < 0 ? tr("no promise") : QString::number(row.info.meanError, 'e', 1);
  for (const plugin::Verification& run : verdict.runs) {
    const bool trained = run.meanError >= 0;
    const bool timed = run.stepMs > 0;
    const QString none = QStringLiteral("–");
    addRow(*verdict_,
           {QString::number(run.ranks),
            !run.problems.empty() ? tr("✗ fails")
            : run.refusal.empty() ? tr("✓ keeps its promises")
                                  : tr("refuses"),
            trained ? QString::number(run.meanError, 'e', 1) : none, promised,
            !trained            ? none
            : run.gradientsSame ? tr("yes")
                                : tr("no"),
            timed ? formatMs(run.stepMs) : none, timed ? formatMs(run.allreduceMs) : none,
            timed ? formatBytes(run.sentBytes) : none},
           tr("Off the mean: largest distance of a result from the mean gradient, in units of the "
              "mean's root mean square. A step: all calls of one, beside the engine's own "
              "allreduce of the same tensors."));
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
    fitHeight(*verdict_);
  }
}

}  // namespace lockstep::ui
