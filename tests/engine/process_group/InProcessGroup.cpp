#include "tests/engine/process_group/InProcessGroup.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/process_group/Reduction.h"

namespace lockstep::process_group {

using trace::Operation;

/// What one rank brings to a collective.
struct InProcessArrival {
  std::shared_ptr<InProcessGroup> group;
  std::shared_ptr<OpenCall> open;
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> inputs;
  std::vector<std::int64_t> outputSplits;
  std::vector<std::int64_t> inputSplits;
};

namespace {

using Arrival = InProcessArrival;
using Arrivals = std::vector<Arrival>;

at::Tensor combined(const std::vector<at::Tensor>& ofRanks, ReduceOp op) {
  std::vector<at::Tensor> flat;
  std::vector<const void*> sources;
  for (const at::Tensor& tensor : ofRanks) {
    flat.push_back(tensor.contiguous());
    sources.push_back(flat.back().data_ptr());
  }
  at::Tensor result = at::empty(flat[0].sizes(), flat[0].options());
  const int ranks = static_cast<int>(ofRanks.size());
  reduction::combiner(result.scalar_type(), op)(result.data_ptr(), sources.data(), ranks,
                                                static_cast<std::size_t>(result.numel()), ranks);
  return result;
}

/// The tensor that each rank has at `index` of one of its lists.
std::vector<at::Tensor> ofEach(const Arrivals& all, std::vector<at::Tensor> Arrival::*list,
                               std::size_t index) {
  std::vector<at::Tensor> tensors;
  for (const Arrival& arrival : all) {
    tensors.push_back((arrival.*list)[index]);
  }
  return tensors;
}

void swapParts(const Arrivals& all) {
  std::vector<at::Tensor> inputs;  // an output may be the input of its own call
  for (const Arrival& arrival : all) {
    inputs.push_back(arrival.inputs[0].clone());
  }
  for (std::size_t to = 0; to < all.size(); ++to) {
    std::int64_t target = 0;
    for (std::size_t from = 0; from < all.size(); ++from) {
      std::int64_t source = 0;
      for (std::size_t before = 0; before < to; ++before) {
        source += all[from].inputSplits[before];
      }
      const std::int64_t rows = all[to].outputSplits[from];
      all[to].outputs[0].narrow(0, target, rows).copy_(inputs[from].narrow(0, source, rows));
      target += rows;
    }
  }
}

void carryOut(const Arrivals& all) {
  const at::NoGradGuard noGrad;
  const Call& call = all[0].open->call;
  const auto root = static_cast<std::size_t>(std::max(call.root, 0));
  const std::vector<at::Tensor> first = all[root].outputs;
  switch (call.operation) {
    case Operation::kBroadcast:
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        for (std::size_t i = 0; rank != root && i < first.size(); ++i) {
          all[rank].outputs[i].copy_(first[i]);
        }
      }
      return;
    case Operation::kAllreduce:
      for (std::size_t i = 0; i < first.size(); ++i) {
        const at::Tensor total = combined(ofEach(all, &Arrival::outputs, i), call.reduce);
        for (const Arrival& arrival : all) {
          arrival.outputs[i].copy_(total);
        }
      }
      return;
    case Operation::kReduce:
      first[0].copy_(combined(ofEach(all, &Arrival::outputs, 0), call.reduce));
      return;
    case Operation::kAllgather:
    case Operation::kGather:
      for (const Arrival& arrival : all) {
        for (std::size_t rank = 0; rank < arrival.outputs.size(); ++rank) {
          arrival.outputs[rank].copy_(all[rank].inputs[0]);
        }
      }
      return;
    case Operation::kScatter:
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        all[rank].outputs[0].copy_(all[root].inputs[rank]);
      }
      return;
    case Operation::kReduceScatter: {
      std::vector<at::Tensor> totals;  // an output may be this rank's part of its inputs
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        totals.push_back(combined(ofEach(all, &Arrival::inputs, rank), call.reduce));
      }
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        all[rank].outputs[0].copy_(totals[rank]);
      }
      return;
    }
    case Operation::kAlltoall: swapParts(all); return;
    default: return;  // a barrier moves nothing
  }
}

std::string difference(const Arrivals& all) {
  const Call& first = all[0].open->call;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const Call& other = all[rank].open->call;
    if (fingerprint(other) != fingerprint(first)) {
      return fmt::format("rank 0 called {}, rank {} {}", describe(first), rank, describe(other));
    }
  }
  return "";
}

}  // namespace

class InProcessHub {
 public:
  explicit InProcessHub(int size) : size_(static_cast<std::size_t>(size)) {}
  [[nodiscard]] int size() const { return static_cast<int>(size_); }

  void arrive(int rank, InProcessArrival arrival) {
    Arrivals all;
    {
      std::lock_guard lock(mutex_);
      if (!aborted_.empty()) {
        arrival.open->fail(Failure{aborted_, -1, CommErrorKind::kAborted});
        all.push_back(std::move(arrival));
      } else {
        Arrivals& slot = slots_[arrival.open->call.sequence];
        slot.resize(size_);
        const std::uint64_t sequence = arrival.open->call.sequence;
        slot[static_cast<std::size_t>(rank)] = std::move(arrival);
        for (const Arrival& here : slot) {
          if (here.open == nullptr) {
            return;
          }
        }
        all = std::move(slot);
        slots_.erase(sequence);
      }
    }
    if (all.size() == size_ && !all[0].open->failed()) {
      const std::string problem = difference(all);
      if (problem.empty()) {
        carryOut(all);
      } else {
        for (const Arrival& here : all) {
          here.open->fail(Failure{problem, -1, CommErrorKind::kMismatch});
        }
      }
    }
    end(all);
  }

  void abort(const std::string& reason) {
    std::map<std::uint64_t, Arrivals> slots;
    {
      std::lock_guard lock(mutex_);
      aborted_ = aborted_.empty() ? reason : aborted_;  // the first is the cause
      slots.swap(slots_);
    }
    for (auto& [sequence, arrivals] : slots) {
      std::erase_if(arrivals, [](const Arrival& arrival) { return arrival.open == nullptr; });
      for (const Arrival& arrival : arrivals) {
        arrival.open->fail(Failure{reason, -1, CommErrorKind::kAborted});
      }
      end(arrivals);
    }
  }

 private:
  static void end(const Arrivals& arrivals) {
    for (const Arrival& arrival : arrivals) {
      arrival.group->end(*arrival.open);
    }
  }

  const std::size_t size_;
  std::mutex mutex_;
  std::map<std::uint64_t, Arrivals> slots_;
  std::string aborted_;
};

InProcessGroup::InProcessGroup(std::shared_ptr<InProcessHub> hub, int rank,
                               const GroupOptions& options)
    : ProcessGroup(rank, hub->size(), options.groupName, "InProcessGroup", Devices::kCpu,
                   options.timeout),
      hub_(std::move(hub)),
      member_(rank, size(), options),
      records_(member_, "in_process queue"),
      ledger_(member_, records_) {}

std::uint64_t InProcessGroup::sequenceNumber() const {
  std::lock_guard lock(mutex_);
  return ledger_.sequence();
}

GroupState InProcessGroup::state() const {
  std::lock_guard lock(mutex_);
  return ledger_.state();
}

void InProcessGroup::abort(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    ledger_.breakBy(Failure{reason, -1, CommErrorKind::kAborted});
  }
  hub_->abort(reason);
}

ProcessGroup::WorkPtr InProcessGroup::start(Request request) {
  if (isDirect(request.call.operation)) {
    throw std::logic_error("in_process has no send and recv");
  }
  std::unique_lock lock(mutex_);
  ledger_.number(request.call);
  const auto limit = timeLimit(request.call.options, *this);
  const auto open = std::make_shared<OpenCall>(std::move(request.call), limit);
  const auto abortAll = [this](const auto&) { abort("aborted by its caller"); };
  ledger_.enter(open, request.outputs, abortAll, nullptr);
  lock.unlock();
  if (open->failed()) {
    open->work->fail(open->error());
  } else {
    hub_->arrive(rank(), {shared_from_this(), open, std::move(request.outputs),
                          std::move(request.inputs), std::move(request.outputSplits),
                          std::move(request.inputSplits)});
  }
  return open->work;
}

void InProcessGroup::end(OpenCall& open) {
  {
    std::lock_guard lock(mutex_);
    ledger_.end(open);
    ledger_.remove(open);
  }
  open.failed() ? open.work->fail(open.error()) : open.work->succeed();
}

std::shared_ptr<InProcessHub> makeInProcessHub(int size) {
  return std::make_shared<InProcessHub>(size);
}

namespace {

// Groups of one name that share a store are one.
base::Result<std::shared_ptr<ProcessGroup>> joinInProcess(
    const std::shared_ptr<store::Store>& store, int rank, int size, const GroupOptions& options) {
  static std::mutex mutex;
  static std::map<std::pair<const store::Store*, std::string>, std::weak_ptr<InProcessHub>> hubs;
  std::lock_guard lock(mutex);
  auto& known = hubs[{store.get(), options.groupName}];
  std::shared_ptr<InProcessHub> hub = known.lock();
  if (hub == nullptr) {
    known = hub = makeInProcessHub(size);
  }
  return std::shared_ptr<ProcessGroup>(
      std::make_shared<InProcessGroup>(std::move(hub), rank, options));
}

const bool kRegistered = registerBackend("in_process", joinInProcess).ok();

}  // namespace

}  // namespace lockstep::process_group
