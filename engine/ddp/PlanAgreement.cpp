#include "engine/ddp/PlanAgreement.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <bit>

#include "engine/ddp/DdpError.h"

namespace lockstep::ddp {

namespace {

// The message is int64 and has one length on every rank, since a broadcast needs to know it
// beforehand: bucket count | sizes | limits | indices. Each list is padded to the number of
// parameters, the most buckets that there can be.

at::Tensor encode(const buckets::BucketPlan& plan, std::size_t parameters) {
  const auto count = static_cast<std::int64_t>(parameters);
  at::Tensor message = at::zeros({1 + 3 * count}, at::kLong);
  auto* out = message.data_ptr<std::int64_t>();
  out[0] = static_cast<std::int64_t>(plan.buckets.size());
  std::int64_t* sizes = out + 1;
  std::int64_t* limits = sizes + count;
  std::int64_t* indices = limits + count;
  for (const auto& bucket : plan.buckets) {
    *sizes++ = static_cast<std::int64_t>(bucket.parameters.size());
    *limits++ = std::bit_cast<std::int64_t>(bucket.limitBytes);
    for (const std::uint32_t index : bucket.parameters) {
      *indices++ = index;
    }
  }
  return message;
}

buckets::BucketPlan decode(const at::Tensor& message, const std::vector<buckets::TensorSpec>& specs,
                           int rank) {
  const auto parameters = static_cast<std::int64_t>(specs.size());
  const auto* in = message.data_ptr<std::int64_t>();
  const std::int64_t* sizes = in + 1;
  const std::int64_t* limits = sizes + parameters;
  const std::int64_t* indices = limits + parameters;
  const auto require = [rank](bool condition, std::int64_t value) {
    if (!condition) {
      throw DdpError(
          fmt::format("rank {}: the bucket lists from rank 0 do not hold each parameter "
                      "once (value {}); the ranks run different programs",
                      rank, value));
    }
  };
  // A rank that runs another program may have broadcast something else of the same size: nothing of
  // it is used as an index before it is checked.
  require(in[0] > 0 && in[0] <= parameters, in[0]);
  std::vector<bool> seen(specs.size(), false);
  std::int64_t next = 0;
  buckets::BucketPlan plan;
  for (std::int64_t b = 0; b < in[0]; ++b) {
    require(sizes[b] > 0 && sizes[b] <= parameters - next, sizes[b]);
    buckets::BucketPlan::Bucket& bucket = plan.buckets.emplace_back();
    bucket.limitBytes = std::bit_cast<std::uint64_t>(limits[b]);
    for (std::int64_t i = 0; i < sizes[b]; ++i, ++next) {
      const std::int64_t index = indices[next];
      require(index >= 0 && index < parameters && !seen[static_cast<std::size_t>(index)], index);
      seen[static_cast<std::size_t>(index)] = true;
      const buckets::TensorSpec& spec = specs[static_cast<std::size_t>(index)];
      bucket.parameters.push_back(static_cast<std::uint32_t>(index));
      bucket.bytes += spec.bytes;
      bucket.dtype = spec.dtype;
      bucket.device = spec.device;
    }
  }
  require(next == parameters, next);
  return plan;
}

}  // namespace

buckets::BucketPlan agreeOnPlan(process_group::ProcessGroup& group,
                                const std::vector<buckets::TensorSpec>& specs,
                                const buckets::BucketPlan& own, std::uint32_t step) {
  at::Tensor message = encode(own, specs.size());
  process_group::CallOptions options;
  options.step = step;
  group.broadcast({message}, 0, options)->wait();
  return decode(message, specs, group.rank());
}

}  // namespace lockstep::ddp
