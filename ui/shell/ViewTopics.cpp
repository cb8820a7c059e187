#include "ui/shell/ViewTopics.h"

#include <QCoreApplication>
#include <QStringList>
#include <map>

#include "ui/shell/Stages.h"

namespace lockstep::ui {
namespace {

QString viewTopicText(const char* text) {
  return QCoreApplication::translate("ViewTopics", text);
}

/// How a view is read, and the terms to know.
struct Reading {
  const char* look;
  const char* then;
  const char* terms;  ///< of the glossary
};

const std::map<QString, Reading>& readings() {
  static const std::map<QString, Reading> all{
      {"live",
       {"The tiles are the figures of the run with their course; the buckets below fill as "
        "gradients "
        "become ready. When the run ends, the curves stay.",
        "A click on Overlap, Exposed or Late rank leads to Overlap, one on the iterations to the "
        "Timeline.",
        "steps per second, overlap, exposed time, late rank, throughput, loss, bucket"}},
      {"timeline",
       {"From the top: the whole run, World with each collective once, then each rank with lanes "
        "for "
        "its phases, gradients, hook and communication, and counters. A bar is as long as what it "
        "shows took.",
        "Zoom with the wheel, click a bar for its facts, drag to measure, search with the query "
        "line. The keys are listed under Timeline in Keys and mouse.",
        "span, world lane, collective, ready, launched, no core, dropped events"}},
      {"buckets",
       {"Which parameters share a bucket, in which order their gradients became ready, and what "
        "each "
        "bucket waited for until it was reduced.",
        "Step through the iterations; compare the buckets before and after the rebuild; ask what "
        "another cap would do.",
        "bucket, bucket cap, rebuild, ready, ready order, launched, in-order stall"}},
      {"overlap",
       {"A bar for each step and rank, cut into computing, hidden and exposed parts; beside it the "
        "causes of what is exposed, the largest first, and what overlap could give at most.",
        "A click on a cause selects its worst step; the tables below have every figure.",
        "overlap, exposed time, waiting, transfer, headroom, noop bound, late bucket, slow link"}},
      {"divergence",
       {"Whether the replicas are equal, by the hashes of their parameters: a strip of samples, "
        "and "
        "the first parameter, rank and iteration that differ. Other tabs set the ranks' calls side "
        "by "
        "side.",
        "Where nothing was sampled, the view says which setting does it.",
        "replica, fingerprint, diverged, call number"}},
      {"hooks",
       {"What the communication hook does with its time, phase by phase and bucket by bucket, and "
        "with "
        "its bytes.",
        "Set another run beside it to see what its hook costs and saves; of a live run, parameters "
        "can "
        "be changed.",
        "hook, hook phase, encode, decode, queued, compression ratio, payload bytes"}},
      {"compare",
       {"Two runs or more: what differs in their settings, what that did to each figure, whether "
        "it is "
        "more than chance, and why.",
        "Both timelines stand one above the other, aligned at an iteration.",
        "compared with chance, interval, step, exposed time, wire bytes"}},
      {"ranks",
       {"All ranks by iteration, a figure at a time, and the ranks that are not like the others, "
        "by "
        "name.",
        "A click on the map leads to that rank in the Timeline, beside its neighbour and the "
        "middle "
        "one.",
        "unlike the rest, late rank, lateness, waiting caused, transfer, computing"}},
      {"whatif",
       {"What the run would take with another cap, link, hook or number of ranks, beside what was "
        "measured, with an interval; or why this run cannot tell.",
        "Run this runs a copy of the experiment with it, and says whether the forecast held.",
        "forecast, interval, efficiency, bucket cap, shaped link"}},
  };
  return all;
}

}  // namespace

QString viewsChapter() {
  return viewTopicText("Views");
}

std::vector<HelpTopic> viewTopics(const Stages& stages) {
  std::vector<HelpTopic> topics;
  for (const QString& name : stages.names()) {
    HelpTopic topic{viewsChapter(), stages.titleOf(name), stages.tipOf(name)};
    if (const auto at = readings().find(name); at != readings().end()) {
      topic.lines = {{viewTopicText("What it shows"), viewTopicText(at->second.look)},
                     {viewTopicText("How to go on"), viewTopicText(at->second.then)},
                     {viewTopicText("Terms"), QString::fromLatin1(at->second.terms), true}};
    }
    topics.push_back(std::move(topic));
  }
  return topics;
}

}  // namespace lockstep::ui
