#include "engine/process_group/hierarchical/Plans.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/process_group/JoinedWork.h"

namespace lockstep::process_group::hierarchical {

using WorkPtr = ProcessGroup::WorkPtr;

namespace {

// What comes from another host without a place of its own in the caller's tensors goes through
// memory of this one; gradients are not recorded.
at::Tensor plain(const at::Tensor& tensor) {
  return tensor.detach();
}

WorkPtr joined(std::vector<WorkPtr> parts, const Part& part, const CallOptions& options) {
  CommError::Where where;
  where.group = part->groupName();
  where.rank = part->rank();
  return joinWorks(std::move(parts), std::move(where), options.timeout);
}

// Several tensors, or one that is not contiguous, as one flat tensor.
struct Flattened {
  explicit Flattened(const std::vector<at::Tensor>& tensors) : tensors_(tensors) {
    if (tensors.size() == 1 && tensors[0].is_contiguous()) {
      flat = plain(tensors[0]).view({-1});
      return;
    }
    std::vector<at::Tensor> parts;
    for (const at::Tensor& tensor : tensors) {
      parts.push_back(plain(tensor).reshape({-1}));
    }
    flat = at::cat(parts);
    copied_ = true;
  }

  void copyBack() const {
    if (!copied_) {
      return;
    }
    std::int64_t offset = 0;
    for (const at::Tensor& tensor : tensors_) {
      plain(tensor).copy_(flat.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
      offset += tensor.numel();
    }
  }

  at::Tensor flat;

 private:
  std::vector<at::Tensor> tensors_;
  bool copied_ = false;
};

}  // namespace

Plans::Plans(const Level& level, const HostMap& hosts, int rank, trace::Tracer* tracer)
    : level_(level),
      map_(hosts),
      rank_(rank),
      hosts_(hosts.count()),
      host_(hosts.hostOf(rank)),
      place_(hosts.placeOf(rank)),
      even_(hosts.even()),
      here_(hosts.members(host_)),
      tracer_(tracer) {}

std::vector<at::Tensor> Plans::ofHost(const std::vector<at::Tensor>& byRank, int host) const {
  std::vector<at::Tensor> tensors;
  for (const int rank : map_.members(host)) {
    tensors.push_back(byRank[static_cast<std::size_t>(rank)]);
  }
  return tensors;
}

Plans::Combined Plans::combined(ReduceOp op) const {
  if (op != ReduceOp::kAverage) {
    return {op};
  }
  return {ReduceOp::kSum, static_cast<double>(here_.size()) / map_.ranks()};
}

Plan Plans::broadcast(std::vector<at::Tensor> tensors, int root) const {
  Plan plan;
  const int from = map_.hostOf(root);
  const int relay = relayPlace(root);
  if (sharesHost()) {
    // The root's host need not wait for the others.
    const bool atRoot = host_ == from;
    const Part& part = atRoot ? level_.in : level_.out;
    const int first = atRoot ? map_.placeOf(root) : relay;
    plan.steps[atRoot ? kIn : kOut] = {&part, [&part, tensors, first](const CallOptions& options) {
                                         return part->broadcast(tensors, first, options);
                                       }};
  }
  if (meetsOthers() && place_ == relay) {
    plan.steps[kAcross] = {&level_.across, [this, tensors, from](const CallOptions& options) {
                             return level_.across->broadcast(tensors, from, options);
                           }};
  }
  return plan;
}

Plan Plans::allreduce(std::vector<at::Tensor> tensors, ReduceOp op) const {
  const Flattened flattened(tensors);
  // Nothing to add up, and narrow() below wants elements.
  if (flattened.flat.numel() == 0) {
    return {};
  }
  Plan plan;
  if (hosts_ == 1) {
    plan.steps[kIn] = {&level_.in, [this, flat = flattened.flat, op](const CallOptions& options) {
                         return level_.in->allreduce({flat}, op, options);
                       }};
  } else {
    plan = even_ ? evenAllreduce(flattened.flat, op) : unevenAllreduce(flattened.flat, op);
  }
  plan.finish = [flattened](const Work*) { flattened.copyBack(); };
  return plan;
}

Plan Plans::evenAllreduce(at::Tensor flat, ReduceOp op) const {
  Plan plan;
  const auto ranks = static_cast<std::int64_t>(here_.size());
  const std::int64_t elements = flat.numel();
  // Rounded up, so that every rank has a shard of one size, as reduceScatter wants it.
  const std::int64_t each = (elements + ranks - 1) / ranks;
  // Shards are alike. Where that makes the last ones overlap, both have the same bits, and this
  // rank's own needs memory that the others may read meanwhile.
  std::vector<at::Tensor> shards;
  for (std::int64_t i = 0; i < ranks; ++i) {
    shards.push_back(flat.narrow(0, std::min(i * each, elements - each), each));
  }
  const at::Tensor mine = elements % ranks == 0 ? shards[static_cast<std::size_t>(place_)]
                                                : at::empty({each}, flat.options());
  if (sharesHost()) {
    plan.steps[kIn] = {&level_.in, [this, mine, shards, op](const CallOptions& options) {
                         return level_.in->reduceScatter(mine, shards, op, options);
                       }};
    plan.steps[kOut] = {&level_.out, [this, mine, shards](const CallOptions& options) {
                          return level_.out->allgather(shards, mine, options);
                        }};
  }
  plan.steps[kAcross] = {&level_.across, [this, mine, op](const CallOptions& options) {
                           return level_.across->allreduce({mine}, op, options);
                         }};
  return plan;
}

Plan Plans::unevenAllreduce(const at::Tensor& flat, ReduceOp op) const {
  Plan plan;
  if (sharesHost()) {
    plan.steps[kIn] = {&level_.in, [this, flat, op](const CallOptions& options) {
                         return level_.in->reduce(flat, 0, op, options);
                       }};
    plan.steps[kOut] = {&level_.out, [this, flat](const CallOptions& options) {
                          return level_.out->broadcast({flat}, 0, options);
                        }};
  }
  if (meetsOthers()) {
    plan.steps[kAcross] = {&level_.across,
                           [this, flat, how = combined(op)](const CallOptions& options) {
                             // An average within the host, weighed by the host's share of all
                             // ranks, adds up to the average of all.
                             if (how.weight != 1) {
                               at::Tensor(flat).mul_(how.weight);
                             }
                             return level_.across->allreduce({flat}, how.op, options);
                           }};
  }
  return plan;
}

Plan Plans::reduce(at::Tensor tensor, int root, ReduceOp op) const {
  Plan plan;
  const int relay = relayPlace(root);
  const bool relays = place_ == relay;
  // The tensors of all but the root stay as they were: a relay that is not the root needs memory of
  // its own for the sum.
  const at::Tensor work = relays && rank_ != root ? plain(tensor).clone() : tensor;
  if (sharesHost()) {
    plan.steps[kIn] = {&level_.in, [this, work, relay, op](const CallOptions& options) {
                         return level_.in->reduce(work, relay, op, options);
                       }};
  }
  if (meetsOthers() && relays) {
    const Combined how = even_ ? Combined{op} : combined(op);
    plan.steps[kAcross] = {&level_.across,
                           [this, work, to = map_.hostOf(root), how](const CallOptions& options) {
                             if (how.weight != 1) {
                               plain(work).mul_(how.weight);
                             }
                             return level_.across->reduce(work, to, how.op, options);
                           }};
  }
  // Last, on the root's host alone: the relay hands the result on, where it is not the root itself.
  if (host_ == map_.hostOf(root) && map_.placeOf(root) != relay) {
    if (relays) {
      plan.steps[kOut] = {&level_.out,
                          [this, work, to = map_.placeOf(root)](const CallOptions& options) {
                            return level_.out->send(work, to, 0, options);
                          }};
    } else if (rank_ == root) {
      plan.steps[kOut] = {&level_.out, [this, tensor, relay](const CallOptions& options) {
                            return level_.out->recv(tensor, relay, 0, options);
                          }};
    }
  }
  return plan;
}

Plan Plans::allgather(std::vector<at::Tensor> outputs, at::Tensor input) const {
  Plan plan;
  if (hosts_ == 1) {
    plan.steps[kIn] = {&level_.in, [this, outputs, input](const CallOptions& options) {
                         return level_.in->allgather(outputs, input, options);
                       }};
    return plan;
  }
  if (even_) {
    return evenAllgather(std::move(outputs), std::move(input));
  }
  const bool leads = place_ == 0;
  // Straight into the places that the host's ranks have among the outputs.
  plan.steps[kIn] = {
      &level_.in,
      [this, input, own = leads ? ofHost(outputs, host_) : std::vector<at::Tensor>{}](
          const CallOptions& options) { return level_.in->gather(own, input, 0, options); }};
  if (leads) {
    plan.steps[kAcross] = {
        &level_.across, [this, outputs](const CallOptions& options) {
          // One broadcast a host, all in flight at once, from the first rank of each.
          std::vector<WorkPtr> works;
          for (int host = 0; host < hosts_; ++host) {
            works.push_back(level_.across->broadcast(ofHost(outputs, host), host, options));
          }
          return joined(std::move(works), level_.across, options);
        }};
  }
  if (sharesHost()) {
    plan.steps[kOut] = {&level_.out, [this, outputs](const CallOptions& options) {
                          return level_.out->broadcast(outputs, 0, options);
                        }};
  }
  return plan;
}

Plan Plans::evenAllgather(std::vector<at::Tensor> outputs, at::Tensor input) const {
  Plan plan;
  std::vector<at::Tensor> ofPlace;
  for (const int rank : map_.atPlace(place_)) {
    ofPlace.push_back(outputs[static_cast<std::size_t>(rank)]);
  }
  // First across, while every rank has only its own tensor: so each byte crosses the hosts once.
  plan.steps[kAcross] = {&level_.across, [this, ofPlace, input](const CallOptions& options) {
                           return level_.across->allgather(ofPlace, input, options);
                         }};
  if (sharesHost()) {
    plan.steps[kOut] = {
        &level_.out, [this, outputs, ofPlace](const CallOptions& options) {
          std::vector<WorkPtr> works;
          for (int host = 0; host < hosts_; ++host) {
            works.push_back(level_.out->allgather(
                ofHost(outputs, host), ofPlace[static_cast<std::size_t>(host)], options));
          }
          return joined(std::move(works), level_.out, options);
        }};
  }
  return plan;
}

Plan Plans::reduceScatter(at::Tensor output, std::vector<at::Tensor> inputs, ReduceOp op) const {
  if (hosts_ > 1) {
    return even_ ? evenReduceScatter(std::move(output), std::move(inputs), op)
                 : unevenReduceScatter(output, inputs, op);
  }
  Plan plan;
  plan.steps[kIn] = {&level_.in, [this, output, inputs, op](const CallOptions& options) {
                       return level_.in->reduceScatter(output, inputs, op, options);
                     }};
  return plan;
}

Plan Plans::evenReduceScatter(at::Tensor output, std::vector<at::Tensor> inputs,
                              ReduceOp op) const {
  Plan plan;
  std::vector<at::Tensor> partial;  // by host: what this host has for its rank at this place
  for (int host = 0; host < hosts_; ++host) {
    // Alone on its host a rank needs no sum within; its input goes across as it is.
    partial.push_back(sharesHost() ? at::empty(output.sizes(), output.options())
                                   : ofHost(inputs, host)[0]);
  }
  if (sharesHost()) {
    plan.steps[kIn] = {
        &level_.in, [this, partial, inputs, op](const CallOptions& options) {
          std::vector<WorkPtr> works;
          for (int host = 0; host < hosts_; ++host) {
            works.push_back(level_.in->reduceScatter(partial[static_cast<std::size_t>(host)],
                                                     ofHost(inputs, host), op, options));
          }
          return joined(std::move(works), level_.in, options);
        }};
  }
  plan.steps[kAcross] = {&level_.across, [this, output, partial, op](const CallOptions& options) {
                           return level_.across->reduceScatter(output, partial, op, options);
                         }};
  return plan;
}

Plan Plans::unevenReduceScatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs,
                                ReduceOp op) const {
  Plan plan;
  if (output.numel() == 0) {
    return plan;
  }
  // Host by host, so that what goes to a host is one piece.
  std::vector<at::Tensor> pieces;
  for (int host = 0; host < hosts_; ++host) {
    for (const at::Tensor& piece : ofHost(inputs, host)) {
      pieces.push_back(plain(piece).reshape({-1}));
    }
  }
  const at::Tensor all = at::cat(pieces);
  std::vector<at::Tensor> toHost;
  std::int64_t offset = 0;
  for (int host = 0; host < hosts_; ++host) {
    const auto elements = static_cast<std::int64_t>(map_.members(host).size()) * output.numel();
    toHost.push_back(all.narrow(0, offset, elements));
    offset += elements;
  }
  if (sharesHost()) {
    plan.steps[kIn] = {&level_.in, [this, all, op](const CallOptions& options) {
                         return level_.in->reduce(all, 0, op, options);
                       }};
  }
  // What this rank, the first of its host, then scatters: cut back into one piece a rank.
  std::vector<at::Tensor> own;
  if (place_ == 0) {
    for (const at::Tensor& piece : toHost[static_cast<std::size_t>(host_)].split(output.numel())) {
      own.push_back(piece.view(output.sizes()));
    }
    plan.steps[kAcross] = {&level_.across,
                           [this, all, toHost, how = combined(op)](const CallOptions& options) {
                             if (how.weight != 1) {
                               at::Tensor(all).mul_(how.weight);
                             }
                             std::vector<WorkPtr> works;
                             for (int host = 0; host < hosts_; ++host) {
                               works.push_back(level_.across->reduce(
                                   toHost[static_cast<std::size_t>(host)], host, how.op, options));
                             }
                             return joined(std::move(works), level_.across, options);
                           }};
  }
  plan.steps[kOut] = {&level_.out, [this, output, own](const CallOptions& options) {
                        return level_.out->scatter(output, own, 0, options);
                      }};
  return plan;
}

Plan Plans::barrier() const {
  Plan plan;
  const auto through = [](const Part& part) {
    return Step{&part, [&part](const CallOptions& options) { return part->barrier(options); }};
  };
  if (sharesHost()) {
    plan.steps[kIn] = through(level_.in);
  }
  if (meetsOthers()) {
    plan.steps[kAcross] = through(level_.across);
  }
  // With even hosts each rank meets one rank of every host, and enters that meeting only when all
  // of its own host have come: so it knows that all have come. With uneven ones only first ranks
  // know.
  if (sharesHost() && hosts_ > 1 && !even_) {
    plan.steps[kOut] = through(level_.out);
  }
  return plan;
}

}  // namespace lockstep::process_group::hierarchical
