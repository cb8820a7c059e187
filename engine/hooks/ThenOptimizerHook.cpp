#include "engine/hooks/ThenOptimizerHook.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/base/Thread.h"
#include "engine/hooks/HookStream.h"
#include "engine/hooks/HookTrace.h"
#include "engine/trace/Event.h"

namespace lockstep::hooks {

/// Note [Steps in the backward]
///
///   thread of the backward     thread of a backend         "hook optimizer"
///   run(bucket 0)
///     inner hook starts ─────▶ allreduce 0
///   run(bucket 1)              done: post(task 0) ───────▶ step of bucket 0, then `stepped`
///     inner hook starts ─────▶ allreduce 1                        :
///   end: waits for `stepped` of 0 and of 1                        :
///
/// The Reducer sees one future a bucket, which completes when the parameters have been stepped. The
/// backend's thread only posts: it has the next collective to carry on.
///
/// The Stepper owns the thread. Futures of the inner hook hold it, so that it may outlive the hook
/// if they complete late; by then it has stopped, and touches neither optimizer nor tracer.
class ThenOptimizerHook::Stepper {
 public:
  Stepper(std::shared_ptr<optim::ParameterOptimizer> optimizer, trace::Tracer* tracer)
      : optimizer_(std::move(optimizer)),
        trace_(HookTrace::create(tracer, "hook optimizer")),
        thread_([this] { work(); }) {}

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    for (const Task& task : tasks_) {
      // A future without a value would leave the Reducer to its time limit.
      refuse(task);
    }
    tasks_.clear();
    trace_->close();
  }

  void checkParameters(const GradBucket& bucket) const {
    const auto& own = optimizer_->parameters();
    for (std::size_t i = 0; i < bucket.parameters().size(); ++i) {
      const std::uint32_t index = bucket.parameterIndices()[i];
      if (index >= own.size() || !own[index].is_same(bucket.parameters()[i])) {
        throw std::invalid_argument(fmt::format(
            "parameter {} of the model is not parameter {} of the {} that the optimizer has: give "
            "it the parameters that DistributedDataParallel reduces, in their order",
            index, index, own.size()));
      }
    }
  }

  struct Task {
    GradBucket bucket;
    base::Future<at::Tensor> reduced;  // complete
    base::Future<at::Tensor> stepped;
    StreamPoint begun;  // where the backward had come to
    std::shared_ptr<StreamPoint> done;  // set before `stepped` has its value
  };

  void post(Task task) {
    {
      std::lock_guard lock(mutex_);
      if (!stopping_) {
        tasks_.push_back(std::move(task));
        wake_.notify_one();
        return;
      }
    }
    refuse(task);
  }

 private:
  static void refuse(const Task& task) {
    task.stepped.setException(std::make_exception_ptr(
        std::runtime_error("the hook was destroyed before the optimizer stepped")));
  }

  void work() {
    base::nameThisThread("hook optimizer");
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) {
        return;
      }
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      try {
        const at::Tensor result = task.reduced.value();
        const c10::Device device = task.bucket.buffer().device();
        const auto onStream = stream_.enter(device);
        // The gradients were copied on the backward's stream, the average came on the backend's:
        // the step, on a stream of its own, starts after both.
        task.begun.orderCurrent();
        task.bucket.order();
        step(task.bucket, result);
        // Before setValue(), after which the Reducer may order its stream by it at any moment.
        *task.done = StreamPoint(device);
        task.stepped.setValue(result);
      } catch (...) {
        task.stepped.setException(std::current_exception());
      }
      lock.lock();
    }
  }

  void step(const GradBucket& bucket, const at::Tensor& result) {
    const at::Tensor& buffer = bucket.buffer();
    if (!result.defined() || result.sizes() != buffer.sizes() ||
        result.scalar_type() != buffer.scalar_type()) {
      throw std::invalid_argument(fmt::format(
          "the wrapped hook returned {}; the optimizer steps with a tensor as the bucket, {} [{}]",
          result.defined() ? fmt::format("{} [{}]", toString(result.scalar_type()),
                                         fmt::join(result.sizes(), ", "))
                           : "an undefined tensor",
          toString(buffer.scalar_type()), fmt::join(buffer.sizes(), ", ")));
    }
    const HookTrace::Moment begun = trace_->now(buffer.device());
    // The result cut up as the bucket is: by its offsets, in the parameters' strides.
    GradBucket view = bucket;
    view.setBuffer(result.contiguous());
    optimizer_->stepBucket(view.parameterIndices(), view.gradients());
    trace_->phase(trace::EventKind::kBucketOptimizer, begun, trace_->now(buffer.device()),
                  bucket.step(), eventBucket(bucket.index()), result.nbytes());
  }

  const std::shared_ptr<optim::ParameterOptimizer> optimizer_;
  const std::shared_ptr<HookTrace> trace_;
  HookStream stream_;  // used by thread_ alone
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

ThenOptimizerHook::ThenOptimizerHook(std::shared_ptr<CommHook> inner,
                                     std::shared_ptr<optim::ParameterOptimizer> optimizer,
                                     trace::Tracer* tracer)
    : inner_(std::move(inner)), stepper_(std::make_shared<Stepper>(std::move(optimizer), tracer)) {}

ThenOptimizerHook::~ThenOptimizerHook() {
  stepper_->stop();
}

base::Future<at::Tensor> ThenOptimizerHook::run(GradBucket& bucket) {
  stepper_->checkParameters(bucket);
  base::Future<at::Tensor> stepped;
  // Taken before the inner hook, which may queue much: the optimizer need not wait for that here.
  const StreamPoint begun(bucket.buffer().device());
  const auto done = std::make_shared<StreamPoint>();
  const auto reduced = inner_->run(bucket);
  // By value: the Reducer may let go of the bucket before a late result comes.
  reduced.whenComplete(
      [stepper = stepper_, bucket, stepped, begun, done](const base::Future<at::Tensor>& result) {
        stepper->post({bucket, result, stepped, begun, done});
      });
  if (!bucket.buffer().is_cpu()) {
    bucket.setOrder([done] { done->orderCurrent(); });
  }
  return stepped;
}

}  // namespace lockstep::hooks
