#include "engine/ddp/SyncBatchNorm.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "engine/base/Clock.h"
#include "engine/ddp/DdpError.h"
#include "engine/ddp/GatherAll.h"
#include "engine/ddp/TensorText.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

BatchNormExchange::BatchNormExchange(std::shared_ptr<process_group::ProcessGroup> group,
                                     trace::Tracer* tracer)
    : group_(std::move(group)), lane_(tracer == nullptr ? nullptr : &tracer->lane("batch norm")) {}

process_group::CallOptions BatchNormExchange::callOptions() const {
  process_group::CallOptions options;
  options.step = step_.load(std::memory_order_relaxed);
  return options;
}

void BatchNormExchange::record(std::uint64_t startTicks, std::uint64_t bytes) {
  if (lane_ != nullptr) {
    std::lock_guard lock(mutex_);
    lane_->span(trace::EventKind::kSyncBatchNorm, startTicks, callOptions().step, trace::kNoBucket,
                bytes);
  }
}

at::Tensor BatchNormExchange::gather(const at::Tensor& own) {
  const std::uint64_t startTicks = base::ticks();
  at::Tensor all = gatherAll(*group_, own, callOptions());
  record(startTicks, own.nbytes());
  return all;
}

at::Tensor BatchNormExchange::sum(at::Tensor own) {
  const std::uint64_t startTicks = base::ticks();
  group_->allreduce({own}, process_group::ReduceOp::kSum, callOptions())->wait();
  record(startTicks, own.nbytes());
  return own;
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Sums run in double where that is cheap. Few GPUs are quick at it.
c10::ScalarType sumType(const at::Tensor& input) {
  return input.is_cpu() || input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

std::vector<std::int64_t> allButChannels(const at::Tensor& input) {
  std::vector<std::int64_t> dims{0};
  for (std::int64_t dim = 2; dim < input.dim(); ++dim) {
    dims.push_back(dim);
  }
  return dims;
}

/// A vector [C] in a shape that multiplies with `input`.
at::Tensor alongChannels(const at::Tensor& vector, const at::Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = vector.numel();
  return vector.view(shape);
}

/// This rank's [mean, sum of squared deviations, count], 2C + 1 numbers; zeros of an empty batch.
at::Tensor ownStatistics(const at::Tensor& input) {
  const std::int64_t channels = input.size(1);
  const auto type = sumType(input);
  at::Tensor own = at::zeros({2 * channels + 1}, input.options().dtype(type));
  if (input.numel() > 0) {
    const auto dims = allButChannels(input);
    const at::Tensor values = input.to(type);
    const at::Tensor mean = values.mean(dims);
    own.narrow(0, 0, channels).copy_(mean);
    own.narrow(0, channels, channels)
        .copy_((values - alongChannels(mean, input)).square_().sum(dims));
    own[2 * channels].fill_(input.numel() / channels);
  }
  return own;
}

struct Statistics {
  at::Tensor mean;      // [C]
  at::Tensor variance;  // [C], biased
  std::int64_t count = 0;
};

/// Chan, Golub and LeVeque's rule for joining the moments of parts, over all parts at once.
Statistics joined(const at::Tensor& all, std::int64_t channels) {
  const at::Tensor means = all.narrow(1, 0, channels);
  const at::Tensor deviations = all.narrow(1, channels, channels);
  const at::Tensor counts = all.narrow(1, 2 * channels, 1);
  Statistics statistics;
  statistics.count = counts.sum().to(at::kLong).item<std::int64_t>();
  if (statistics.count < 2) {
    throw DdpError(fmt::format(
        "synchronised batch normalisation needs two values a channel to train on; all {} ranks "
        "together have {}. Use a larger batch",
        all.size(0), statistics.count));
  }
  // With n_i values, mean m_i and sum of squared deviations d_i on rank i (Chan, Golub and LeVeque
  // 1983): m = Σ n_i m_i / n and n v = Σ (d_i + n_i (m_i - m)²). Unlike Σx² - n m², nothing large
  // is subtracted, so that data far from zero keep their variance.
  statistics.mean = (means * counts).sum(0) / statistics.count;
  statistics.variance =
      (deviations + (means - statistics.mean).square() * counts).sum(0) / statistics.count;
  return statistics;
}

void updateRunning(const BatchNormSettings& settings, const Statistics& statistics) {
  const auto move = [&](at::Tensor running, const at::Tensor& value) {
    if (running.defined()) {
      running.mul_(1 - settings.momentum).add_(value.to(running.scalar_type()), settings.momentum);
    }
  };
  // Running variances are unbiased, as torch's, though training normalises with the biased one.
  const auto count = static_cast<double>(statistics.count);
  move(settings.runningMean, statistics.mean);
  move(settings.runningVar, statistics.variance * (count / (count - 1)));
}

// Forward: y = (x - μ) s γ + β with s = 1 / sqrt(σ² + ε). As μ and σ depend on the inputs of all
// ranks, so does the gradient of each input, with g = dL/dy and n the values of all ranks:
//
//   dL/dx = γ s (g - Σg / n - (x - μ) s² Σ(g (x - μ)) / n)
//
// The two sums run over all ranks, in one allreduce. Those of β and γ are this rank's part alone:
// DistributedDataParallel averages them with all other gradients.
class Normalise : public torch::autograd::Function<Normalise> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const c10::optional<at::Tensor>& optionalWeight,
                            const c10::optional<at::Tensor>& optionalBias,
                            const BatchNormSettings& settings,
                            const std::shared_ptr<BatchNormExchange>& exchange) {
    const at::Tensor weight = optionalWeight.value_or(at::Tensor());
    const at::Tensor bias = optionalBias.value_or(at::Tensor());
    const Statistics statistics = joined(exchange->gather(ownStatistics(input)), input.size(1));
    updateRunning(settings, statistics);
    const at::Tensor scale = (statistics.variance + settings.eps).rsqrt();
    context->save_for_backward({input, weight, statistics.mean, scale});
    context->saved_data["count"] = statistics.count;
    context->saved_data["hasBias"] = bias.defined();
    context->saved_data["biasType"] =
        static_cast<std::int64_t>(bias.defined() ? bias.scalar_type() : input.scalar_type());
    context->saved_data["exchange"] =
        c10::IValue::make_capsule(c10::make_intrusive<Holder>(exchange));

    at::Tensor factor = weight.defined() ? scale * weight : scale;
    at::Tensor output = (input.to(sumType(input)) - alongChannels(statistics.mean, input)) *
                        alongChannels(factor, input);
    if (bias.defined()) {
      output += alongChannels(bias, input);
    }
    return output.to(input.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (c10::GradMode::is_enabled()) {
      throw DdpError(
          "synchronised batch normalisation cannot be differentiated twice: run the backward "
          "without create_graph");
    }
    const auto saved = context->get_saved_variables();
    const at::Tensor& input = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor& mean = saved[2];
    const at::Tensor& scale = saved[3];
    const std::int64_t channels = input.size(1);
    const auto count = static_cast<double>(context->saved_data["count"].toInt());
    const auto type = mean.scalar_type();
    const auto dims = allButChannels(input);

    const at::Tensor gradient = gradients[0].to(type);
    const at::Tensor centred = input.to(type) - alongChannels(mean, input);
    const at::Tensor sums = at::cat({gradient.sum(dims), (gradient * centred).sum(dims)});
    at::Tensor toWeight;
    at::Tensor toBias;
    const bool hasBias = context->saved_data["hasBias"].toBool();
    if (weight.defined()) {
      toWeight = (sums.narrow(0, channels, channels) * scale).to(weight.scalar_type());
    }
    // An argument that is absent has no edge, so that the bias is the second or the third input.
    // Copied: the memory of `sums` is added up over the ranks below, in place.
    if (hasBias && context->needs_input_grad(weight.defined() ? 2 : 1)) {
      const auto biasType = static_cast<c10::ScalarType>(context->saved_data["biasType"].toInt());
      toBias = sums.narrow(0, 0, channels).to(biasType, false, /*copy=*/true);
    }
    at::Tensor toInput;
    // The same on all ranks, as their models are: none is left waiting in the collective.
    if (context->needs_input_grad(0)) {
      const auto holder = context->saved_data["exchange"].toCapsule();
      const at::Tensor all = static_cast<Holder&>(*holder).exchange->sum(sums) / count;
      const at::Tensor shift = all.narrow(0, 0, channels);
      const at::Tensor slope = all.narrow(0, channels, channels) * scale.square();
      const at::Tensor factor = weight.defined() ? scale * weight : scale;
      toInput = ((gradient - alongChannels(shift, input) - centred * alongChannels(slope, input)) *
                 alongChannels(factor, input))
                    .to(input.scalar_type());
    }
    return {toInput, toWeight, toBias, {}, {}};
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<BatchNormExchange> held) : exchange(std::move(held)) {}
    std::shared_ptr<BatchNormExchange> exchange;
  };
};

}  // namespace

at::Tensor syncBatchNorm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                         const BatchNormSettings& settings,
                         std::shared_ptr<BatchNormExchange> exchange) {
  if (input.dim() < 2 || input.size(1) == 0) {
    throw DdpError(fmt::format(
        "synchronised batch normalisation takes [batch, channels, ...] with at least one channel; "
        "it was given {}",
        describe(input)));
  }
  // An undefined tensor is no input that autograd takes; an absent one is, and has no edge.
  const auto present = [](const at::Tensor& tensor) {
    return tensor.defined() ? c10::optional<at::Tensor>(tensor) : c10::nullopt;
  };
  return Normalise::apply(input, present(weight), present(bias), settings, exchange);
}

}  // namespace lockstep::ddp
