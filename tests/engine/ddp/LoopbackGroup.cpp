#include "tests/engine/ddp/LoopbackGroup.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "engine/process_group/Request.h"

namespace lockstep::ddp::test {

using process_group::CommError;
using process_group::ReduceOp;
using process_group::Work;
using trace::Operation;
using Tensors = std::vector<at::Tensor>;

class LoopbackWork final : public Work {
 public:
  LoopbackWork(CommError::Where where, std::chrono::milliseconds limit)
      : where_(std::move(where)), limit_(limit) {}

  [[nodiscard]] bool isCompleted() const override { return future_.completed(); }
  [[nodiscard]] bool isSuccess() const override { return isCompleted() && !future_.failed(); }
  [[nodiscard]] std::exception_ptr exception() const override { return future_.exception(); }
  void wait(std::chrono::milliseconds timeout) override {
    if (!future_.waitFor(timeout.count() > 0 ? timeout : limit_)) {
      auto where = where_;
      where.timedOut = true;
      throw CommError(where, "the other ranks did not arrive");
    }
    (void)future_.value();
  }
  void abort() override {}
  [[nodiscard]] Tensors result() const override { return future_.value(); }
  [[nodiscard]] base::Future<Tensors> future() const override { return future_; }
  [[nodiscard]] Operation operation() const override { return where_.operation; }
  [[nodiscard]] std::uint64_t sequence() const override { return where_.sequence; }

  void succeed(Tensors tensors) const { future_.setValue(std::move(tensors)); }
  void fail(const std::string& what) const {
    future_.setException(std::make_exception_ptr(CommError(where_, what)));
  }

 private:
  CommError::Where where_;
  std::chrono::milliseconds limit_;
  base::Future<Tensors> future_;
};

/// What one rank brings to a collective. For an allgather the last tensor is the input.
struct Arrival {
  std::shared_ptr<LoopbackWork> work;
  Operation operation = Operation::kNone;
  Tensors tensors;
  int root = 0;
  ReduceOp op = ReduceOp::kSum;
};

namespace {

void compute(std::vector<Arrival>& all) {
  at::NoGradGuard noGrad;
  if (all[0].operation == Operation::kAllreduce) {
    for (std::size_t i = 0; i < all[0].tensors.size(); ++i) {
      at::Tensor sum = all[0].tensors[i].clone();
      for (std::size_t rank = 1; rank < all.size(); ++rank) {
        all[0].op == ReduceOp::kMax ? sum.copy_(at::maximum(sum, all[rank].tensors[i]))
                                    : sum.add_(all[rank].tensors[i]);
      }
      for (Arrival& arrival : all) {
        arrival.tensors[i].copy_(sum);
      }
    }
  } else if (all[0].operation == Operation::kBroadcast) {
    const auto root = static_cast<std::size_t>(all[0].root);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      for (std::size_t i = 0; rank != root && i < all[root].tensors.size(); ++i) {
        all[rank].tensors[i].copy_(all[root].tensors[i]);
      }
    }
  } else if (all[0].operation == Operation::kAllgather) {
    for (Arrival& arrival : all) {
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        arrival.tensors[rank].copy_(all[rank].tensors.back());
      }
    }
  }
}

std::string difference(const std::vector<Arrival>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].operation != all[0].operation ||
        all[rank].tensors.size() != all[0].tensors.size()) {
      return fmt::format("rank 0 called {}, rank {} {}", trace::name(all[0].operation), rank,
                         trace::name(all[rank].operation));
    }
    for (std::size_t i = 0; i < all[0].tensors.size(); ++i) {
      if (all[rank].tensors[i].numel() != all[0].tensors[i].numel() ||
          all[rank].tensors[i].scalar_type() != all[0].tensors[i].scalar_type()) {
        return fmt::format("tensor {} differs between ranks 0 and {}", i, rank);
      }
    }
  }
  return "";
}

}  // namespace

class LoopbackHub {
 public:
  explicit LoopbackHub(int size) : size_(size) {}
  [[nodiscard]] int size() const { return size_; }

  void arrive(std::uint64_t sequence, int rank, Arrival arrival) {
    std::vector<Arrival> all;
    {
      std::lock_guard lock(mutex_);
      if (!aborted_.empty()) {
        arrival.work->fail(aborted_);
        return;
      }
      auto& slot = slots_[sequence];
      slot.resize(static_cast<std::size_t>(size_));
      slot[static_cast<std::size_t>(rank)] = std::move(arrival);
      for (const Arrival& here : slot) {
        if (here.work == nullptr) {
          return;
        }
      }
      all = std::move(slot);
      slots_.erase(sequence);
    }
    const std::string problem = difference(all);
    if (problem.empty()) {
      compute(all);
    }
    for (const Arrival& here : all) {
      problem.empty() ? here.work->succeed(here.tensors) : here.work->fail(problem);
    }
  }

  void abort(const std::string& reason) {
    std::map<std::uint64_t, std::vector<Arrival>> slots;
    {
      std::lock_guard lock(mutex_);
      aborted_ = aborted_.empty() ? reason : aborted_;  // the first is the cause
      slots.swap(slots_);
    }
    for (auto& [sequence, arrivals] : slots) {
      for (const Arrival& arrival : arrivals) {
        if (arrival.work != nullptr) {
          arrival.work->fail(reason);
        }
      }
    }
  }

 private:
  int size_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<Arrival>> slots_;
  std::string aborted_;
};

LoopbackGroup::LoopbackGroup(std::shared_ptr<LoopbackHub> hub, int rank)
    : ProcessGroup(rank, hub->size(), "default", "loopback", Devices::kCpu,
                   std::chrono::seconds(20)),
      hub_(std::move(hub)) {}

LoopbackGroup::WorkPtr LoopbackGroup::start(process_group::Request request) {
  const process_group::Call& call = request.call;
  Tensors tensors = std::move(request.outputs);
  switch (call.operation) {
    case Operation::kBroadcast: ++broadcasts_; break;
    case Operation::kAllreduce:
      if (call.reduce != ReduceOp::kSum && call.reduce != ReduceOp::kMax) {
        throw std::invalid_argument("loopback::allreduce: only sum and max");
      }
      reducedBuckets_.push_back(call.options.bucket);
      break;
    case Operation::kAllgather: tensors.push_back(request.inputs.front()); break;
    case Operation::kBarrier: break;
    default: throw std::logic_error(fmt::format("loopback has no {}", trace::name(call.operation)));
  }
  const auto limit = call.options.timeout.count() > 0 ? call.options.timeout : timeout();
  CommError::Where where{groupName(), rank(), call.operation, ++sequence_, call.options.bucket,
                         false};
  auto work = std::make_shared<LoopbackWork>(std::move(where), limit);
  hub_->arrive(sequence_, rank(),
               {work, call.operation, std::move(tensors), call.root, call.reduce});
  return work;
}

at::Tensor LoopbackGroup::allocate(std::int64_t bytes) {
  allocatedBytes_ += bytes;
  return at::empty({bytes}, at::kByte);
}

void LoopbackGroup::abort(const std::string& reason) {
  hub_->abort(reason);
}

std::vector<std::string> runRanks(int worldSize,
                                  const std::function<void(std::shared_ptr<LoopbackGroup>)>& body) {
  const auto hub = std::make_shared<LoopbackHub>(worldSize);
  std::vector<std::string> errors(static_cast<std::size_t>(worldSize));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < worldSize; ++rank) {
    ranks.emplace_back([&, rank] {
      auto group = std::make_shared<LoopbackGroup>(hub, rank);
      try {
        body(group);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
        group->abort(fmt::format("rank {} failed", rank));
      }
    });
  }
  for (std::thread& thread : ranks) {
    thread.join();
  }
  return errors;
}

void runRanksWell(int worldSize, const std::function<void(std::shared_ptr<LoopbackGroup>)>& body) {
  const auto errors = runRanks(worldSize, body);
  for (std::size_t rank = 0; rank < errors.size(); ++rank) {
    EXPECT_EQ(errors[rank], "") << "on rank " << rank;
  }
}

}  // namespace lockstep::ddp::test
