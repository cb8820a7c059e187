#include "ui/shell/Views.h"

#include <QCoreApplication>

#include "ui/shell/Stages.h"

namespace lockstep::ui {

Views::Views(Stages& stages)
    : live(new LiveView),
      timeline(new TimelineView),
      buckets(new BucketsView),
      overlap(new OverlapView),
      divergence(new DivergenceView),
      hooks(new HooksView),
      compare(new CompareView),
      ranks(new RanksView),
      whatIf(new WhatIfView) {
  const auto add = [&](const char* name, const char* title, const char* tip, RunView* view) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("Views", text); };
    stages.add(QLatin1String(name), tr(title), tr(tip), view);
  };
  add("live", "Live", "How the run is doing: speed, overlap, the late rank, loss", live);
  add("timeline", "Timeline",
      "What every rank did when, and how collectives overlap with the backward", timeline);
  add("buckets", "Buckets",
      "Which parameters share a bucket, and in which order gradients became ready", buckets);
  add("overlap", "Overlap",
      "How much communication hides behind computing, and why the rest does not", overlap);
  add("divergence", "Divergence", "Whether the replicas are equal, and where they first differ",
      divergence);
  add("hooks", "Hooks", "What the communication hook does with its time and its bytes", hooks);
  add("compare", "Compare", "Two or more runs: what differs, by how much, and why", compare);
  add("ranks", "Ranks", "All ranks at once, iteration by iteration, and which is not like the others",
      ranks);
  add("whatif", "What if", "What another cap, link, hook or number of ranks would do", whatIf);
}

}  // namespace lockstep::ui
