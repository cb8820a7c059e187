#include "engine/hooks/plugin/detail/HostTables.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/base/Log.h"
#include "engine/hooks/plugin/detail/HostMath.h"
#include "engine/hooks/plugin/detail/PluginSession.h"

namespace lockstep::hooks::detail {

namespace {

using process_group::ReduceOp;
using Works = QueuedOperation::Works;

std::shared_ptr<process_group::ProcessGroup> groupOf(const lockstep_group* group) {
  // The table is the first member of a HostGroup, and plugins know no other pointer.
  return reinterpret_cast<const HostGroup*>(group)->group;
}

ReduceOp reduceOp(std::int32_t op) {
  switch (op) {
    case LOCKSTEP_SUM: return ReduceOp::kSum;
    case LOCKSTEP_AVERAGE: return ReduceOp::kAverage;
    case LOCKSTEP_MAX: return ReduceOp::kMax;
    case LOCKSTEP_MIN: return ReduceOp::kMin;
    default: throw std::invalid_argument(fmt::format("{} is no reduction", op));
  }
}

/// `whole` as one tensor for each rank.
std::vector<at::Tensor> parts(const at::Tensor& whole, const at::Tensor& one, int size,
                              const char* operation) {
  if (whole.numel() != one.numel() * size || whole.scalar_type() != one.scalar_type()) {
    throw std::invalid_argument(
        fmt::format("{}: {} elements of {} are not {} times {} of {}", operation, whole.numel(),
                    c10::toString(whole.scalar_type()), size, one.numel(),
                    c10::toString(one.scalar_type())));
  }
  return whole.chunk(size);
}

/// Checks and queues: `body` is given the tensor whose bytes the operation carries, which may be
/// undefined, and returns what starts it. Everything is checked there, while the plugin gets the
/// answer; the start comes later, in turn (Note [The order of a plugin's operations]).
template <typename Body>
lockstep_status queued(lockstep_run* run, std::uint32_t stage, const char* name,
                       const lockstep_buffer* carried, Body body) {
  PluginSession& session = *run->session;
  try {
    const at::Tensor tensor = carried == nullptr ? at::Tensor() : session.tensorWithin(*carried);
    QueuedOperation operation;
    operation.stage = stage;
    operation.bytes = tensor.defined() ? static_cast<std::uint64_t>(tensor.nbytes()) : 0;
    operation.start = body(tensor, session.callOptions(*run));
    return session.queue(run, name, std::move(operation));
  } catch (const std::exception& error) {
    return session.refuse(name, error);
  }
}

lockstep_status allReduce(const lockstep_group* group, lockstep_run* run, std::uint32_t stage,
                          const lockstep_buffer* inout, std::int32_t op) {
  return queued(run, stage, "all_reduce", inout, [&](const at::Tensor& tensor, auto options) {
    return [pg = groupOf(group), tensor, reduce = reduceOp(op), options] {
      return Works{pg->allreduce({tensor}, reduce, options)};
    };
  });
}

lockstep_status allGather(const lockstep_group* group, lockstep_run* run, std::uint32_t stage,
                          const lockstep_buffer* in, const lockstep_buffer* out) {
  return queued(run, stage, "all_gather", in, [&](const at::Tensor& input, auto options) {
    const auto pg = groupOf(group);
    const at::Tensor output = run->session->tensorWithin(*out);
    return [pg, input, outputs = parts(output, input, pg->size(), "out"), options] {
      return Works{pg->allgather(outputs, input, options)};
    };
  });
}

lockstep_status reduceScatter(const lockstep_group* group, lockstep_run* run, std::uint32_t stage,
                              const lockstep_buffer* in, const lockstep_buffer* out,
                              std::int32_t op) {
  return queued(run, stage, "reduce_scatter", in, [&](const at::Tensor& input, auto options) {
    const auto pg = groupOf(group);
    const at::Tensor output = run->session->tensorWithin(*out);
    return [pg, output, inputs = parts(input, output, pg->size(), "in"), reduce = reduceOp(op),
            options] { return Works{pg->reduceScatter(output, inputs, reduce, options)}; };
  });
}

lockstep_status broadcast(const lockstep_group* group, lockstep_run* run, std::uint32_t stage,
                          const lockstep_buffer* inout, std::int32_t root) {
  return queued(run, stage, "broadcast", inout, [&](const at::Tensor& tensor, auto options) {
    return [pg = groupOf(group), tensor, root, options] {
      return Works{pg->broadcast({tensor}, root, options)};
    };
  });
}

std::vector<std::int64_t> splitsOf(const std::int64_t* splits, int size) {
  return splits == nullptr ? std::vector<std::int64_t>()
                           : std::vector<std::int64_t>(splits, splits + size);
}

lockstep_status allToAll(const lockstep_group* group, lockstep_run* run, std::uint32_t stage,
                         const lockstep_buffer* in, const std::int64_t* inSplits,
                         const lockstep_buffer* out, const std::int64_t* outSplits) {
  return queued(run, stage, "all_to_all", in, [&](const at::Tensor& input, auto options) {
    const auto pg = groupOf(group);
    return [pg, input, output = run->session->tensorWithin(*out),
            sent = splitsOf(inSplits, pg->size()), received = splitsOf(outSplits, pg->size()),
            options] { return Works{pg->alltoall(output, input, received, sent, options)}; };
  });
}

void requirePeer(const process_group::ProcessGroup& group, int peer, const char* parameter) {
  if (peer < 0 || peer >= group.size()) {
    throw std::invalid_argument(fmt::format("{} is {}; ranks of this group are 0 to {}", parameter,
                                            peer, group.size() - 1));
  }
  // It would wait for itself: send and recv of one rank meet only between ranks.
  if (peer == group.rank()) {
    throw std::invalid_argument("a rank cannot exchange with itself");
  }
}

lockstep_status exchange(const lockstep_group* group, lockstep_run* run, std::uint32_t stage,
                         const lockstep_buffer* out, std::int32_t to, const lockstep_buffer* in,
                         std::int32_t from) {
  return queued(run, stage, "exchange", out, [&](const at::Tensor& sent, auto options) {
    const auto pg = groupOf(group);
    const at::Tensor received = in == nullptr ? at::Tensor() : run->session->tensorWithin(*in);
    if (sent.defined()) {
      requirePeer(*pg, to, "to");
    }
    // Now, and not by recv() at the start: the send would have begun by then.
    if (received.defined()) {
      requirePeer(*pg, from, "from");
    }
    return [pg, sent, to, received, from, options] {
      Works works;
      if (sent.defined()) {
        works.push_back(pg->send(sent, to, 0, options));
      }
      if (received.defined()) {
        works.push_back(pg->recv(received, from, 0, options));
      }
      return works;
    };
  });
}

const void* extension(const lockstep_host* host, const char* id) {
  static const lockstep_ext_inner inner{
      sizeof(lockstep_ext_inner),
      [](lockstep_run* run, std::uint32_t stage, const lockstep_buffer* inout) {
        return run->session->runInner(run, stage, *inout);
      }};
  if (std::strcmp(id, "lockstep.math/1") == 0) {
    return mathTable();
  }
  return sessionOf(host).hasInner() && std::strcmp(id, "lockstep.inner/1") == 0 ? &inner : nullptr;
}

void log(const lockstep_host* host, std::int32_t level, const char* text) {
  const std::string line = fmt::format("hook {}: {}", sessionOf(host).info().id, text);
  if (level == LOCKSTEP_LOG_WARNING) {
    base::logWarning("{}", line);
  } else {
    base::logInfo("{}", line);
  }
}

lockstep_status subgroup(const lockstep_host* host, const std::int32_t* ranks, std::uint32_t count,
                         const lockstep_group** out) {
  PluginSession& session = sessionOf(host);
  try {
    return session.subgroup(std::vector<int>(ranks, ranks + count), out);
  } catch (const std::exception& error) {
    return session.refuse("subgroup", error);
  }
}

lockstep_status scratch(lockstep_run* run, std::int64_t numel, std::int32_t dtype,
                        lockstep_buffer* out) {
  try {
    return run->session->scratch(run, numel, dtype, out);
  } catch (const std::exception& error) {
    return run->session->refuse("scratch", error);
  }
}

/// No exception goes through a plugin: it ends the run.
template <typename Body>
void guarded(lockstep_run* run, Body body) {
  try {
    body();
  } catch (const std::exception&) {
    run->session->broke(run, std::current_exception());
  }
}

}  // namespace

PluginSession& sessionOf(const lockstep_host* host) {
  return *static_cast<PluginSession*>(host->data);
}

lockstep_host hostTable(PluginSession* session) {
  lockstep_host host{};
  host.struct_size = sizeof host;
  host.data = session;
  host.name = "lockstep";
  host.version = LOCKSTEP_VERSION;
  host.extension = extension;
  host.log = log;
  host.fail = [](const lockstep_host* from, lockstep_run* run, lockstep_status status,
                 const char* text) { sessionOf(from).fail(run, status, text); };
  host.scratch = scratch;
  host.mark = [](lockstep_run* run, std::int32_t phase, std::int32_t begin) {
    guarded(run, [&] { run->session->mark(run, phase, begin != 0); });
  };
  host.counter = [](lockstep_run* run, const char* key, double value) {
    guarded(run, [&] { run->session->counter(run, key, value); });
  };
  host.no_more = [](lockstep_run* run) { guarded(run, [&] { run->session->noMore(run); }); };
  host.result_ready = [](lockstep_run* run) {
    guarded(run, [&] { run->session->resultReady(run); });
  };
  host.complete = [](lockstep_run* run) { guarded(run, [&] { run->session->complete(run); }); };
  host.slot = [](lockstep_run* run) { return &run->slot; };
  host.subgroup = subgroup;
  host.world = [](const lockstep_host* from) { return sessionOf(from).world(); };
  return host;
}

void fillGroup(HostGroup& entry, std::shared_ptr<process_group::ProcessGroup> group) {
  entry.table.struct_size = sizeof entry.table;
  entry.table.rank = group->rank();
  entry.table.size = group->size();
  entry.table.all_reduce = allReduce;
  entry.table.all_gather = allGather;
  entry.table.reduce_scatter = reduceScatter;
  entry.table.broadcast = broadcast;
  entry.table.all_to_all = allToAll;
  entry.table.exchange = exchange;
  entry.group = std::move(group);
}

}  // namespace lockstep::hooks::detail
