#include "engine/glossary/Terms.h"

namespace lockstep::glossary {

std::vector<Entry> bucketTerms() {
  return {
      {"allreduce",
       {"all-reduce"},
       "The collective after which every rank holds the sum (DDP: the average) of what all ranks "
       "brought. DDP reduces each bucket by one, unless a hook does otherwise.",
       "",
       "",
       "Timeline, communication and World lanes; Buckets",
       {"collective", "hook", "bucket"}},
      {"bucket",
       {"buckets", "gradient bucket"},
       "Gradients of several parameters that are communicated together. A parameter is never "
       "split: a bucket closes once its bytes have reached the cap, and may be larger by almost "
       "its last parameter. Buckets are numbered in the order of their launch.",
       "",
       "",
       "Live; Timeline; Buckets; Overlap, rank x bucket",
       {"bucket cap", "rebuild", "ready", "launched"}},
      {"bucket cap",
       {"cap", "ddp.bucket_cap_mb", "bucket_cap_mb"},
       "From how many bytes on a bucket is closed. Small buckets leave early and pay each a "
       "call's latency; large ones leave late, when little computing is left to hide them.",
       "ddp.bucket_cap_mb x 2^20 bytes; of the first bucket ddp.first_bucket_mb",
       "MiB",
       "Setup; Buckets; What if; lockstep whatif, tune",
       {"bucket", "late bucket", "rebuild"}},
      {"call number",
       {"sequence", "sequence number"},
       "Counts the collectives of a process group, on each rank by itself. The calls with one "
       "number are one collective; where ranks made different calls under one number, training is "
       "wrong.",
       "",
       "",
       "Inspector; Divergence, tab of calls",
       {"collective", "process group"}},
      {"collective",
       {"collectives", "call"},
       "An operation in which all ranks of a group take part: allreduce, broadcast, allgather and "
       "others. It begins on a rank when that rank comes to it, and moves data once all have come.",
       "",
       "",
       "Timeline, communication lane; World lane; Events",
       {"waiting", "transfer", "world lane", "call number", "process group"}},
      {"compression ratio",
       {"ratio"},
       "How much smaller the tensors that a hook hands to its collectives are than the gradients "
       "of the bucket.",
       "bytes of the bucket's gradients / payload bytes of its collectives",
       "none, written as 2.00 : 1",
       "Hooks",
       {"hook", "payload bytes", "wire bytes"}},
      {"cost",
       {"cost of a bucket", "costs most", "bucket cost"},
       "Of a bucket, the time in which it was in flight and the rank did not compute, each moment "
       "given to one bucket: of several in flight together to the one that the rank came to "
       "first. By it a bucket is said to cost a rank most.",
       "exposed time that is the bucket's alone, over all measured steps of the rank / their "
       "number",
       "ms a step",
       "The verdict in front of the views; Overlap, rank x bucket; lockstep info, report",
       {"bucket", "exposed time", "late bucket"}},
      {"decode",
       {"hook decode", "decode_ms"},
       "The phase in which a hook works on what it received, and does not encode: to make "
       "gradients of it again.",
       "sum over the hook's calls of a step",
       "ms a step",
       "Timeline, hook lane; Hooks; Compare",
       {"hook phase", "encode"}},
      {"encode",
       {"hook encode", "encode_ms"},
       "The phase in which a hook works on what it will send: casts, selects, factorises. The "
       "backward does not go on meanwhile.",
       "sum over the hook's calls of a step",
       "ms a step",
       "Timeline, hook lane; Hooks; Compare",
       {"hook phase", "decode"}},
      {"gradient norm",
       {"gradient_norm"},
       "The length of a rank's own gradients before they are averaged, where they were sampled "
       "(capture.gradient_check_every).",
       "square root of the sum of the squares of all gradients",
       "none",
       "Timeline, counters; Divergence, tab of parameters",
       {"replica", "loss"}},
      {"hook",
       {"communication hook", "comm hook"},
       "What communicates a bucket in place of DDP's own allreduce: it may cast, compress, delay "
       "or talk to neighbours alone.",
       "",
       "",
       "Setup; Hooks; lockstep hooks",
       {"hook phase", "compression ratio", "bucket"}},
      {"hook phase",
       {"hook phases"},
       "Every moment of a hook's work on a bucket belongs to one of encode, queued, waiting, "
       "transfer and decode, so that they add up to the call.",
       "encode + queued + waiting + transfer + decode = the call",
       "ms",
       "Hooks; Statistics by hook phase; lockstep export --csv hooks",
       {"encode", "decode", "queued", "waiting", "transfer"}},
      {"launched",
       {"bucket launched"},
       "The bucket was handed to the hook, or to the backend: its communication begins as soon as "
       "that takes it up. Buckets are launched in their order, also where a later one is ready "
       "first.",
       "",
       "",
       "Timeline, gradient lane; Buckets",
       {"ready", "in-order stall", "queued"}},
      {"payload bytes",
       {"bytes a step", "payload", "payload_bytes"},
       "The bytes of the tensors that a rank hands to its collectives and sends. What the "
       "algorithm makes of them on the network are the wire bytes.",
       "sum of the tensors' bytes over the collectives of a step, without what is received",
       "B a step",
       "Hooks; Compare; Events",
       {"wire bytes", "compression ratio"}},
      {"process group",
       {},
       "Ranks that make collectives together, over one backend: gloo, shared_memory, "
       "hierarchical, mpi, nccl.",
       "",
       "",
       "Timeline, a communication lane each; Setup",
       {"collective", "call number"}},
      {"queued",
       {},
       "The bucket was launched and nothing of it is in flight: it is in line for the hook's "
       "thread, for a thread of the backend, or behind a bucket before it.",
       "time of a hook's call in which it neither works nor communicates",
       "ms",
       "Hooks; Buckets, what waited for what",
       {"launched", "hook phase"}},
      {"ready",
       {"bucket ready", "gradient ready", "ready ms"},
       "A gradient is ready when the backward has computed it; a bucket is, when its last "
       "gradient is. From then on it could be launched.",
       "when it was ready - begin of the step on the first rank to begin it",
       "ms",
       "Live, buckets; Timeline, gradient lane; Buckets",
       {"ready order", "launched", "late bucket"}},
      {"ready order",
       {"out of place"},
       "The order in which the backward computes the gradients. Out of place are the fewest "
       "parameters that would have to move for the order to be the expected one.",
       "",
       "",
       "Buckets, table Parameters",
       {"ready", "rebuild"}},
      {"rebuild",
       {"rebuilt", "rebuilt buckets", "rebuild of buckets"},
       "After the first step the buckets are made anew, once, in the order in which the gradients "
       "of rank 0 became ready, and with the caps of the experiment. It is never done with "
       "find_unused_parameters, unless the graph is static.",
       "",
       "",
       "Timeline; Buckets, before and after",
       {"bucket", "bucket cap", "ready order", "warm-up"}},
      {"shaped link",
       {"modelled link", "link preset", "shaped"},
       "A network that is modelled on top of the real one: each transfer is made as long as a "
       "link of that bandwidth and latency would make it.",
       "by operation; an allreduce of S bytes among n ranks: 2 (n - 1) / n x S / bandwidth + 2 (n "
       "- 1) x latency",
       "µs; bandwidth in Gbit/s",
       "Setup, table link; Timeline, shaped spans; What if; lockstep whatif --link",
       {"slow link", "transfer", "forecast"}},
      {"unused parameter",
       {"unused parameters", "unused", "marked unused", "unused_parameter_size"},
       "A parameter that took no part in the forward of a step and gets no gradient. With "
       "find_unused_parameters it is counted as ready at once, or its bucket would never be.",
       "bytes of the parameters that took no part",
       "B",
       "Timeline, marks on the gradient lane and counters; lockstep diagnose",
       {"ready", "rebuild"}},
      {"wire bytes",
       {"wire bytes a step", "wire_bytes", "sent"},
       "The bytes that a rank really sent to others: what the algorithm makes of the payload. A "
       "ring allreduce of b bytes among n ranks sends 2 (n - 1) / n x b. Shared memory and MPI do "
       "not see their data move; there it is what the call takes over a network.",
       "bytes that all ranks sent since the start / steps of all ranks",
       "B a step; the counter Sent: B/s",
       "Compare; Timeline, counter Sent; lockstep info",
       {"payload bytes", "compression ratio"}},
  };
}

}  // namespace lockstep::glossary
