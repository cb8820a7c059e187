#include "ui/views/divergence/ParameterTab.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QPushButton>
#include <QTabWidget>
#include <QTextBrowser>
#include <QUrl>
#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include "engine/trace/Event.h"
#include "ui/model/Format.h"
#include "ui/panels/KeyTips.h"
#include "ui/panels/OwnKeys.h"
#include "ui/stage/Steps.h"
#include "ui/table/TableView.h"
#include "ui/views/divergence/DivergenceRows.h"
#include "ui/views/divergence/SequenceScene.h"

namespace lockstep::ui {
ParameterTab::ParameterTab(QWidget* parent)
    : PlacesTab(tr("Replicas: parameter by iteration"), QStringLiteral("fingerprint"), parent),
      measure_(named(new QComboBox, "heatMeasure", tr("What the heat map shows"))),
      first_(named(new QPushButton(tr("First difference")), "firstDifference")),
      copySetting_(
          named(new QPushButton(tr("Copy the setting")), "copyFingerprintSetting", {},
                tr("Copies the lines that turn fingerprints on, for the experiment file"))),
      tables_(new QTabWidget),
      parameters_(
          named(new TableView(tr("Parameters and where their replicas differ")), "parameterTable")),
      findings_(named(new TableView(tr("Gradients that held NaN or Inf")), "findingTable")),
      values_(named(new TableView(tr("Loss, gradient norm and consensus distance of the ranks")),
                    "valueTable")),
      details_(
          named(new QTextBrowser, "replicaDetails", tr("What is known of the selected cell"))) {
  keepOwnKeys(measure_);
  measure_->addItem(tr("Hash mismatch"));
  measure_->addItem(tr("Norms against the first rank"));
  measure_->setItemData(0, tr("How many ranks hold other bits than most do."), Qt::ToolTipRole);
  measure_->setItemData(1,
                        tr("The largest difference of a norm from the first rank's, logarithmic."),
                        Qt::ToolTipRole);
  copySetting_->hide();
  fillBar({labelOf(measure_, tr("Heat map")), measure_, first_, copySetting_, Part::rest()});

  for (TableView* table : {parameters_, findings_, values_}) {
    table->fitOtherColumns();
  }
  tables_->setDocumentMode(true);
  tables_->addTab(parameters_, tr("Parameters"));
  tables_->addTab(findings_, tr("NaN and Inf"));
  tables_->addTab(values_, tr("Values"));
  details_->setOpenLinks(false);
  details_->setFrameShape(QFrame::NoFrame);
  below_ = split(Qt::Horizontal, {{tables_, 3}, {details_, 2}});
  setBelow(below_, {parameters_, findings_, values_}, 0.31);
  shareBelow();

  connect(below_, &QSplitter::splitterMoved, this, [this] { sharedByHand_ = true; });
  connect(measure_, &QComboBox::currentIndexChanged, this, [this] { repaintSoon(); });
  connect(first_, &QPushButton::clicked, this, &ParameterTab::showFirstDifference);
  connect(copySetting_, &QPushButton::clicked, this,
          [] { QApplication::clipboard()->setText(fingerprintSetting()); });
  connect(parameters_, &TableView::rowChosen, this, [this](std::size_t parameter) {
    const analysis::ReplicaMatrix& replicas = facts_->divergence.replicas;
    // Its first bad sample; without one the last, which is as good as any.
    std::size_t sample = 0;
    while (sample + 1 < replicas.steps.size() && replicas.cell(sample, parameter).differing == 0) {
      ++sample;
    }
    choose({sample, parameter});
  });
  connect(findings_, &TableView::rowChosen, this, &ParameterTab::chooseFinding);
  connect(details_, &QTextBrowser::anchorClicked, this,
          [this](const QUrl& link) { emit callsRequested(link.toString().toUInt()); });
}

void ParameterTab::runChanged() {
  visible_.reset();
  dragFrom_.reset();
  PlacesTab::runChanged();
}

void ParameterTab::setFacts(std::shared_ptr<const DivergenceFacts> facts) {
  const bool first = facts_ == nullptr;
  DivergenceTab::setFacts(std::move(facts));
  if (facts_ == nullptr) {
    for (TableView* table : {parameters_, findings_, values_}) {
      table->setRows(nullptr);
    }
    details_->clear();
    first_->setEnabled(false);
    copySetting_->hide();
    tables_->setTabText(1, tr("NaN and Inf"));
    return;
  }
  const analysis::ReplicaMatrix& replicas = facts_->divergence.replicas;
  if (selected_ &&
      (selected_->sample >= replicas.steps.size() || selected_->parameter >= replicas.parameters)) {
    selected_.reset();
  }
  // Opened at the first difference; later facts of the same run move no selection.
  if (first && !selected_ && facts_->divergence.first) {
    selected_ = ReplicaPlace{facts_->divergence.first->sample, facts_->divergence.first->parameter};
  }
  parameters_->setRows(parameterRows(facts_));
  findings_->setRows(findingRows(facts_));
  values_->setRows(stripRows(facts_));
  const std::size_t found = facts_->divergence.findings.size();
  tables_->setTabText(
      1, found > 0 ? tr("NaN and Inf (%1)").arg(formatCount(found)) : tr("NaN and Inf"));
  // The table that has something to say comes first.
  if (first) {
    tables_->setCurrentIndex(replicas.parameters > 0 ? 0 : found > 0 ? 1 : 2);
  }
  first_->setEnabled(facts_->divergence.first.has_value());
  tellKeys();
  // A job that was only recorded has no experiment file to put the setting into.
  copySetting_->setVisible(replicas.steps.empty() && !facts_->observed);
  measure_->setEnabled(!replicas.steps.empty());
  if (selected_) {
    parameters_->showRow(selected_->parameter);
  }
  explain();
}

void ParameterTab::setCommand(const QAction* firstDifference) {
  firstCommand_ = firstDifference;
  tellKeys();
}

void ParameterTab::tellKeys() {
  const bool any = facts_ != nullptr && facts_->divergence.first.has_value();
  setTip(first_,
         any ? tr("Select the first parameter and iteration in which ranks differ")
             : tr("No difference was seen."),
         any ? firstCommand_ : nullptr);
}

ParameterFrame ParameterTab::frame(QSizeF size) const {
  const TimeRange shown =
      visible_.value_or(TimeRange{facts_->firstStep * 1.0, facts_->lastStep + 1.0});
  return {size,      shown.startNs, shown.endNs, static_cast<HeatMeasure>(measure_->currentIndex()),
          selected_, pointer_};
}

TimeAxis ParameterTab::axis() const {
  const ParameterFrame now = frame(canvas()->size());
  return ParameterScene::axisFor(now.size.width(), now.firstStep, now.endStep);
}

QString ParameterTab::description() const {
  const Verdict verdict = verdictOf(*facts_);
  return verdict.title + QStringLiteral(". ") + verdict.more;
}

void ParameterTab::show(const TimeAxis& axis) {
  // An axis of iterations, each one wide: so the last ends at its number and one.
  const TimeAxis within = axis.clamped(facts_->firstStep, facts_->lastStep + 1.0);
  visible_ = TimeRange{within.startNs(), within.endNs()};
  repaintSoon();
}

void ParameterTab::showAll() {
  visible_.reset();
  repaintSoon();
}

void ParameterTab::zoom(double factor) {
  if (facts_ != nullptr) {
    show(axis().zoomedAbout(factor, pointer_));
  }
}

void ParameterTab::pan(double part) {
  if (facts_ != nullptr) {
    show(axis().panned(part * axis().width()));
  }
}

void ParameterTab::showFirstDifference() {
  if (facts_ == nullptr || !facts_->divergence.first) {
    return;
  }
  const ReplicaPlace place{facts_->divergence.first->sample, facts_->divergence.first->parameter};
  // Out of sight: the zoom is given up, not moved, so that it is seen among all.
  if (!rectOf(place)) {
    showAll();
  }
  choose(place);
}

void ParameterTab::choose(const ReplicaPlace& place) {
  selected_ = place;
  parameters_->showRow(place.parameter);
  explain();
  repaintSoon();
  // In the timeline it is the sample of the first rank that differs.
  const analysis::ReplicaMatrix& replicas = facts_->divergence.replicas;
  const std::vector<int> ranks = replicas.differingRanks(place.sample, place.parameter);
  const int rank = !ranks.empty() ? ranks.front() : replicas.ranks.front();
  const std::uint32_t step = replicas.steps[place.sample];
  for (const trace::SpanRow& span : facts_->data().spans) {
    if (span.kind != trace::EventKind::kFingerprint || span.step != step) {
      continue;
    }
    const auto track =
        std::find_if(facts_->data().tracks.begin(), facts_->data().tracks.end(),
                     [&span](const trace::TrackInfo& info) { return info.id == span.track; });
    if (track != facts_->data().tracks.end() && track->rank == rank) {
      select(rank, span);
      return;
    }
  }
}

void ParameterTab::chooseFinding(std::size_t finding) {
  const analysis::SanityFinding& found = facts_->divergence.findings[finding];
  // A finding has no span: what its rank did in the middle of that iteration stands for it.
  const int lane = laneId(found.rank, LaneRole::kPhases);
  if (model_ == nullptr || state_ == nullptr || model_->lane(lane) == nullptr) {
    return;
  }
  if (const auto step = model_->step(found.rank, found.step)) {
    if (const auto span = model_->findSpan(lane, 0, (step->startNs + step->endNs) / 2)) {
      state_->select(span);
    }
  }
}

// The last five calls before an iteration: what the ranks exchanged before they were seen to
// differ.
QString ParameterTab::callsBefore(std::uint32_t step) const {
  // The group of most calls is the one that gradients are averaged in.
  const analysis::CallSequence* most = nullptr;
  for (const analysis::CallSequence& sequence : facts_->sequences) {
    most = most == nullptr || sequence.rows.size() > most->rows.size() ? &sequence : most;
  }
  if (most == nullptr) {
    return {};
  }
  const auto& rows = most->rows;
  // Rows are in the order of the calls, so iterations only rise.
  const std::size_t behind = *std::ranges::partition_point(
      std::views::iota(std::size_t{0}, rows.size()),
      [&](std::size_t row) { return most->anyCallAt(row).step < step; });
  constexpr std::size_t kCallsShown = 5;
  QString html;
  for (std::size_t row = behind - std::min(kCallsShown, behind); row < behind; ++row) {
    const trace::SpanRow& span = most->anyCallAt(row);
    html +=
        QStringLiteral(
            "<tr><td "
            "align=right>%1&nbsp;&nbsp;</td><td>%2&nbsp;&nbsp;</td><td>%3&nbsp;&nbsp;</td><td>%4</"
            "td></tr>")
            .arg(formatCount(rows[row].sequence), nameOfOperation(span),
                 span.bucket == trace::kNoBucket ? QString() : tr("bucket %1").arg(span.bucket),
                 QString::fromLatin1(analysis::name(rows[row].mismatch)));
  }
  return html.isEmpty() ? QString()
                        : tr("<p><b>Calls before it</b> (%1) <a href=\"%2\">show "
                             "them</a></p><table>%3</table>")
                              .arg(nameOf(*most))
                              .arg(step)
                              .arg(html);
}

// Columns need more room than a sentence about cells that are not selected yet.
void ParameterTab::shareBelow() {
  const bool sentence =
      facts_ != nullptr && !selected_ && !facts_->divergence.replicas.steps.empty();
  if (!sharedByHand_) {
    below_->setSizes(sentence ? QList<int>{800, 170} : QList<int>{600, 370});
  }
}

void ParameterTab::explain() {
  shareBelow();
  if (!selected_) {
    details_->setHtml(
        facts_->divergence.replicas.steps.empty()
            ? tr("<p>%1</p><pre>%2</pre>")
                  .arg(verdictOf(*facts_).more.toHtmlEscaped(),
                       facts_->observed ? QString() : fingerprintSetting())
            : tr("<p>Click a cell to see its parameter, the ranks and their values, and the calls "
                 "before it.</p>"));
    return;
  }
  QString rows;
  for (const Fact& fact : factsOf(*facts_, *selected_)) {
    rows += QStringLiteral("<tr><td>%1&nbsp;&nbsp;</td><td>%2</td></tr>")
                .arg(fact.name.toHtmlEscaped(), fact.value.toHtmlEscaped());
  }
  details_->setHtml(QStringLiteral("<p><b>%1</b></p><table>%2</table>%3")
                        .arg(nameOfParameter(*facts_, selected_->parameter).toHtmlEscaped(), rows,
                             callsBefore(facts_->divergence.replicas.steps[selected_->sample])));
}

void ParameterTab::pointerPressed(const PointerInput& input) {
  canvas()->setFocus(Qt::MouseFocusReason);
  if (facts_ == nullptr) {
    return;
  }
  if (input.button == Qt::LeftButton) {
    if (const auto place = scene().placeAt(input.position)) {
      choose(*place);
      return;
    }
  }
  // Beside the cells the left button pans, too.
  if (input.button == Qt::LeftButton || pans(input)) {
    dragFrom_ = input.position;
    dragAxis_ = axis();
  }
}

void ParameterTab::pointerMoved(const PointerInput& input) {
  if (dragFrom_ && facts_ != nullptr) {
    const double moved = input.position.x() - dragFrom_->x();
    // A hand that shakes moves nothing.
    if (std::abs(moved) >= kDragFrom) {
      show(dragAxis_.panned(-moved));
    }
  }
  DivergenceTab::pointerMoved(input);
}

void ParameterTab::pointerReleased(const PointerInput&) {
  dragFrom_.reset();
}

void ParameterTab::pointerDoubleClicked(const PointerInput& input) {
  if (input.button == Qt::LeftButton && facts_ != nullptr && selected_ &&
      scene().placeAt(input.position)) {
    emit timelineRequested();
  }
}

void ParameterTab::wheelTurned(const WheelInput& input) {
  pointer_ = input.position;
  if (input.sideways()) {
    pan(-input.steps() * kPanANotch);
  } else {
    zoom(std::pow(kZoomANotch, input.steps()));
  }
}

}  // namespace lockstep::ui
