#include "ui/views/whatif/WhatIfLinks.h"

#include <QComboBox>
#include <QSignalBlocker>
#include <array>

#include "engine/experiment/LinkPresets.h"
#include "ui/stage/Boxes.h"

namespace lockstep::ui {
namespace {

struct Times {
  const char* what;
  double factor;
};
constexpr std::array<Times, 4> kTimes{
    {{QT_TRANSLATE_NOOP("WhatIfLinks", "a tenth of its bandwidth"), 0.1},
     {QT_TRANSLATE_NOOP("WhatIfLinks", "half its bandwidth"), 0.5},
     {QT_TRANSLATE_NOOP("WhatIfLinks", "twice its bandwidth"), 2},
     {QT_TRANSLATE_NOOP("WhatIfLinks", "ten times its bandwidth"), 10}}};
constexpr std::array<int, 4> kInFlight{1, 2, 4, 8};

/// The bandwidth and the latency of a link stand in it itself, and in no preset.
experiment::LinkConfig writtenOut(experiment::LinkConfig link) {
  if (const auto* preset = experiment::findLinkPreset(link.preset)) {
    link.bandwidthGbps = preset->bandwidthGbps();
    link.latencyUs = preset->latencyUs();
    link.preset = "none";
  }
  return link;
}

}  // namespace

WhatIfLinks::WhatIfLinks(QWidget* parent)
    : QWidget(parent), links_(new QComboBox), inFlight_(new QComboBox) {
  links_->setObjectName(QStringLiteral("whatIfLink"));
  links_->setAccessibleName(tr("Link to forecast"));
  links_->setToolTip(tr("Another network, over the backend that the run had; nothing is run"));
  inFlight_->setObjectName(QStringLiteral("whatIfInFlight"));
  inFlight_->setAccessibleName(tr("Buckets in flight to forecast"));
  inFlight_->setToolTip(tr("How many buckets travel at once on a modelled link"));
  for (QComboBox* box : {links_, inFlight_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    box->setMinimumWidth(90);  // in a narrow window
    connect(box, &QComboBox::activated, this, &WhatIfLinks::changed);
  }
  fill(this, inRow({labelOf(links_, tr("the &link")), links_, inFlight_}, 6));
}

void WhatIfLinks::setOwn(const experiment::LinkConfig* own) {
  const auto given = own == nullptr ? std::nullopt : std::optional(writtenOut(*own));
  setVisible(given.has_value());
  if (given == own_) {
    return;
  }
  own_ = given;
  links_->clear();
  inFlight_->clear();
  if (!own_) {
    return;
  }
  links_->addItem(tr("the link of the run"));
  for (const Times& times : kTimes) {
    if (own_->bandwidthGbps > 0) {
      links_->addItem(tr(times.what), times.factor);
    }
  }
  for (const experiment::LinkPreset& preset : experiment::linkPresets()) {
    links_->addItem(QString::fromStdString(preset.what), QString::fromStdString(preset.name));
  }
  inFlight_->addItem(tr("as many in flight as in the run"));
  for (const int number : kInFlight) {
    if (number != own_->inFlight) {
      inFlight_->addItem(tr("%1 in flight").arg(number), number);
    }
  }
}

void WhatIfLinks::reset() {
  const QSignalBlocker ofLinks(links_);
  const QSignalBlocker ofInFlight(inFlight_);
  links_->setCurrentIndex(0);
  inFlight_->setCurrentIndex(0);
}

void WhatIfLinks::addTo(diagnosis::WantedChange& wanted) const {
  if (links_->currentIndex() > 0) {
    const QVariant chosen = links_->currentData();
    if (chosen.typeId() == QMetaType::QString) {
      wanted.link = chosen.toString().toStdString();
    } else {
      wanted.bandwidthGbps = own_->bandwidthGbps * chosen.toDouble();
    }
  }
  if (inFlight_->currentIndex() > 0) {
    wanted.inFlight = inFlight_->currentData().toInt();
  }
}

}  // namespace lockstep::ui
