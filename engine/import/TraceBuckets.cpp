#include "engine/import/TraceBuckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::imports {
namespace {

// Layouts that are kept: DistributedDataParallel makes two.
constexpr std::size_t kMostLayouts = 8;

bool isWhole(const std::string& dtype) {
  return dtype.starts_with("int") || dtype.starts_with("uint") || dtype == "bool";
}

std::int64_t elementsOf(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dimension : shape) {
    elements *= std::max<std::int64_t>(dimension, 0);
  }
  return elements;
}

class Finder {
 public:
  Finder(const TraceSteps& steps, const std::vector<Call>& calls) : steps_(steps), calls_(calls) {}

  TraceBuckets find() {
    std::size_t next = 0;
    for (const TraceBackward& backward : steps_.backwards) {
      BackwardBuckets& here = found_.backwards.emplace_back();
      // Calls and backwards are both in the order of time, and each is passed once.
      while (next < calls_.size() && askedNs(next) < backward.beginNs) {
        ++next;
      }
      for (; next < calls_.size() && askedNs(next) <= backward.endNs; ++next) {
        if (isBucket(backward, calls_[next])) {
          here.buckets.push_back({next, {}});
        }
      }
      if (!here.buckets.empty()) {
        fill(backward, here);
      }
    }
    say();
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::int64_t askedNs(std::size_t call) const {
    return calls_[call].askedNs.value_or(calls_[call].beginNs);
  }

  static bool isBucket(const TraceBackward& backward, const Call& call) {
    if (!call.askedNs || isWhole(call.facts.dtype)) {
      return false;
    }
    // The evaluation of a gradient that the call lies in began before it, and ended after it, on
    // the same thread. Begins are sorted, ends are not: a few steps back from the call's place, as
    // many as there may be threads that evaluate at once.
    const auto behind =
        std::partition_point(backward.gradients.begin(), backward.gradients.end(),
                             [&](const HostOp* op) { return op->beginNs <= *call.askedNs; });
    // Evaluations of several threads may lie beside each other.
    constexpr int kThreads = 16;
    auto op = behind;
    for (int i = 0; i < kThreads && op != backward.gradients.begin(); ++i) {
      --op;
      if ((*op)->thread == call.thread && (*op)->endNs >= call.askedEndNs) {
        return true;
      }
    }
    return false;
  }

  void fill(const TraceBackward& backward, BackwardBuckets& here) {
    std::vector<const HostOp*> accumulates;
    for (const HostOp* gradient : backward.gradients) {
      accumulates.push_back(accumulateOf(backward, *gradient));
    }
    // The first backward with buckets names the parameters.
    if (found_.parameters.empty()) {
      name(accumulates);
    }
    if (!isFirstOrder(accumulates)) {
      ++others_;
      return;
    }
    here.parameters.resize(backward.gradients.size());
    for (std::uint32_t i = 0; i < here.parameters.size(); ++i) {
      here.parameters[i] = i;
    }
    std::uint32_t gradient = 0;
    for (TraceBucket& bucket : here.buckets) {
      // All that began to be evaluated up to the launch: the last of them is the one whose hook
      // launched it.
      while (gradient < backward.gradients.size() &&
             backward.gradients[gradient]->beginNs <= *calls_[bucket.call].askedNs) {
        bucket.gradients.push_back(gradient++);
      }
    }
    // Gradients after the last launch belong to no bucket, and elements that do not match say that
    // some bucket holds others: then none of them is believed. The buckets themselves remain.
    if (gradient < backward.gradients.size() || !hasElements(here)) {
      ++unlike_;
      for (TraceBucket& bucket : here.buckets) {
        bucket.gradients.clear();
      }
      return;
    }
    addLayout(backward, here);
  }

  void name(const std::vector<const HostOp*>& accumulates) {
    for (std::size_t i = 0; i < accumulates.size(); ++i) {
      trace::ParametersMessage::Parameter& parameter = found_.parameters.emplace_back();
      const HostOp* op = accumulates[i];
      parameter.name = fmt::format("gradient {}", i);
      if (op != nullptr && !op->dtype.empty()) {
        parameter.shape = op->shape;
        parameter.dtype = op->dtype;
        parameter.numel = elementsOf(op->shape);
        parameter.bytes = parameter.numel * static_cast<std::int64_t>(dtypeBytes(op->dtype));
      } else {
        shapesKnown_ = false;
      }
    }
  }

  [[nodiscard]] bool isFirstOrder(const std::vector<const HostOp*>& accumulates) const {
    if (accumulates.size() != found_.parameters.size()) {
      return false;
    }
    for (std::size_t i = 0; i < accumulates.size(); ++i) {
      if (!found_.parameters[i].dtype.empty() &&
          // Order is compared by shape alone: parameters of one shape may have changed places
          // unseen.
          (accumulates[i] == nullptr || accumulates[i]->shape != found_.parameters[i].shape)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool hasElements(const BackwardBuckets& here) const {
    for (const TraceBucket& bucket : here.buckets) {
      std::int64_t elements = 0;
      for (const std::uint32_t gradient : bucket.gradients) {
        elements += found_.parameters[gradient].numel;
      }
      const std::uint64_t sent = calls_[bucket.call].facts.elements;
      if (bucket.gradients.empty() ||
          // Without shapes, or without the size of the call, there is nothing to check with.
          (shapesKnown_ && sent != 0 && static_cast<std::uint64_t>(elements) != sent)) {
        return false;
      }
    }
    return true;
  }

  void addLayout(const TraceBackward& backward, const BackwardBuckets& here) {
    trace::BucketsMessage layout;
    layout.step = backward.step;
    for (const TraceBucket& bucket : here.buckets) {
      const CallFacts& facts = calls_[bucket.call].facts;
      trace::BucketsMessage::Bucket& made = layout.buckets.emplace_back();
      made.dtype = facts.dtype;
      made.bytes = facts.elements * dtypeBytes(facts.dtype);
      std::uint64_t offset = 0;
      for (const std::uint32_t gradient : bucket.gradients) {
        made.parameters.push_back(gradient);
        made.offsets.push_back(offset);
        offset += static_cast<std::uint64_t>(found_.parameters[gradient].bytes);
      }
    }
    keepLayout(found_.layouts, std::move(layout), found_.notes);
  }

  void say() {
    if (!found_.parameters.empty()) {
      found_.notes.insert(
          shapesKnown_
              ? "parameters have no names in a trace: they are numbered in the order in "
                "which their gradients were ready"
              : "parameters have neither names nor sizes in this trace (record_shapes=True "
                "would give sizes): they are numbered in the order in which their "
                "gradients were ready");
    }
    if (others_ > 0) {
      found_
          .counts
              ["{0} of its backwards had other gradients, or in another order, than the first: "
               "these are left out"]
          .some = others_;
    }
    if (unlike_ > 0) {
      found_
          .counts
              ["in {0} of its backwards the collectives do not carry what was ready before "
               "them (a communication hook, or buckets in another order): which gradients "
               "share a bucket is not known there"]
          .some = unlike_;
    }
  }

  const TraceSteps& steps_;
  const std::vector<Call>& calls_;
  TraceBuckets found_;
  bool shapesKnown_ = true;
  std::size_t others_ = 0;
  std::size_t unlike_ = 0;
};

}  // namespace

const HostOp* accumulateOf(const TraceBackward& backward, const HostOp& gradient) {
  const auto at =
      std::partition_point(backward.accumulates.begin(), backward.accumulates.end(),
                           [&](const HostOp* op) { return op->beginNs < gradient.beginNs; });
  for (auto op = at; op != backward.accumulates.end() && (*op)->beginNs <= gradient.endNs; ++op) {
    if ((*op)->thread == gradient.thread) {
      return *op;
    }
  }
  return nullptr;
}

void keepLayout(std::vector<trace::BucketsMessage>& kept, trace::BucketsMessage layout,
                std::set<std::string>& notes) {
  if (!kept.empty() && kept.back().buckets == layout.buckets) {
    return;
  }
  if (kept.size() == kMostLayouts) {
    notes.insert("its buckets change again and again: the first layouts are kept");
    return;
  }
  layout.layout = static_cast<std::uint32_t>(kept.size());
  layout.reason = kept.empty() ? "first seen" : "changed";
  kept.push_back(std::move(layout));
}

TraceBuckets bucketsOf(const TraceSteps& steps, const std::vector<Call>& calls) {
  return Finder(steps, calls).find();
}

}  // namespace lockstep::imports
