#include "engine/experiment/detail/Table.h"

namespace lockstep::experiment::detail {

void addDdp(Table& table) {
  using D = DdpConfig;
  table.add("ddp.bucket_cap_mb", at<&E::ddp, &D::bucketCapMb>(), "Bucket cap",
            "A bucket is closed once it holds this much.",
            {.unit = "MiB", .above = 0, .to = 1'048'576});
  table.add("ddp.first_bucket_mb", at<&E::ddp, &D::firstBucketMb>(), "First bucket cap",
            "Cap of the bucket that is ready first, so that it leaves early.",
            {.unit = "MiB", .above = 0, .to = 1'048'576, .advanced = true});
  table.add("ddp.bucket_cap_mb_list", at<&E::ddp, &D::bucketCapMbList>(), "Bucket caps",
            "Caps of successive buckets from the first step on, the last for all that follow; "
            "empty: the two above.",
            {.unit = "MiB", .above = 0, .to = 1'048'576, .advanced = true});
  table.add("ddp.bucket_rule", at<&E::ddp, &D::bucketRule>(), "Bucket rule",
            "Whose rule fills the buckets of the first step.",
            {.choices = {"c10d-1.13", "c10d-1.9"}, .advanced = true});
  table.add("ddp.gradient_as_bucket_view", at<&E::ddp, &D::gradientAsBucketView>(),
            "Gradients are views", "Gradients live in bucket memory, which saves a copy each way.");
  table.add("ddp.broadcast_buffers", at<&E::ddp, &D::broadcastBuffers>(), "Broadcast buffers",
            "Rank 0's buffers go to all ranks, at the start and before a forward pass. Off: each "
            "rank keeps its own.");
  table.add("ddp.sync_every", at<&E::ddp, &D::syncEvery>(), "Reduce every",
            "Accumulates this many steps before each reduction (no_sync).",
            {.unit = "steps", .from = 1, .to = 1'000'000});
  table.add("ddp.find_unused_parameters", at<&E::ddp, &D::findUnusedParameters>(),
            "Find unused parameters",
            "Searches each forward's graph, so that a parameter may take no part.",
            {.advanced = true});
  table.add("ddp.static_graph", at<&E::ddp, &D::staticGraph>(), "Static graph",
            "Takes the first iteration's graph for that of all: parameters may take no part or get "
            "several gradients, always the same.",
            {.advanced = true});
  table.add("ddp.batched_grad_copy", at<&E::ddp, &D::batchedGradCopy>(), "Batched copies",
            "Copies the gradients of a bucket all at once when the last has come: fewer launches "
            "on a GPU, less overlap of the copies.",
            {.advanced = true});
  table.add("ddp.forward_sync_buffers", at<&E::ddp, &D::forwardSyncBuffers>(),
            "Buffers before forwards", "Off: rank 0's buffers go to all ranks at the start alone.",
            {.advanced = true});
  table.add("ddp.skip_all_reduce_unused_params", at<&E::ddp, &D::skipAllReduceUnusedParams>(),
            "Skip unused buckets", "Leaves out the buckets that no rank used.", {.advanced = true});
  table.add("ddp.ignore", at<&E::ddp, &D::ignore>(), "Ignored",
            "Full names of parameters and buffers that are neither compared, copied nor reduced: "
            "each rank trains its own.",
            {.advanced = true});
  table.add("ddp.delay_all_reduce_named_params", at<&E::ddp, &D::delayAllReduceNamedParams>(),
            "Delayed",
            "Full names of parameters that are left out of the buckets and averaged by one "
            "allreduce of their own.",
            {.advanced = true});
  table.add("ddp.param_to_hook_all_reduce", at<&E::ddp, &D::paramToHookAllReduce>(),
            "Delayed until", "The parameter whose gradient sets that allreduce off.",
            {.advanced = true});
  table.add("ddp.param_dtype", at<&E::ddp, &D::paramDtype>(), "Compute in",
            "Mixed precision: number format of parameters and inputs in forward and backward; "
            "none: their own.",
            {.choices = {"none", "bfloat16", "float32", "float64"}, .advanced = true});
  table.add("ddp.reduce_dtype", at<&E::ddp, &D::reduceDtype>(), "Reduce in",
            "Mixed precision: number format of buckets; none: that of the gradients.",
            {.choices = {"none", "float16", "bfloat16", "float32", "float64"}, .advanced = true});
  table.add("ddp.buffer_dtype", at<&E::ddp, &D::bufferDtype>(), "Buffers in",
            "Mixed precision: number format of the model's buffers; none: their own.",
            {.choices = {"none", "float16", "bfloat16", "float32", "float64"}, .advanced = true});
  table.add("ddp.init_sync", at<&E::ddp, &D::initSync>(), "Initial sync",
            "Compares the ranks' models and copies rank 0's before the first step.",
            {.advanced = true});
  table.add("ddp.sync_batch_norm", at<&E::ddp, &D::syncBatchNorm>(), "Synchronised batch norm",
            "Batch normalisations use the statistics of all ranks' batches.", {.advanced = true});
  table.add("ddp.join", at<&E::ddp, &D::join>(), "Join",
            "Ranks may run out of inputs at different steps; they then answer for the others until "
            "all have.",
            {.advanced = true});
  table.add("ddp.divide_by_initial_world_size", at<&E::ddp, &D::divideByInitialWorldSize>(),
            "Divide by all ranks",
            "With join: gradients are divided by all ranks, not by those with inputs.",
            {.advanced = true});
  table.add("ddp.throw_on_early_termination", at<&E::ddp, &D::throwOnEarlyTermination>(),
            "End early", "With join: all ranks end with an error when one has no more inputs.",
            {.advanced = true});
}

void addHook(Table& table) {
  table.add("hook.name", at<&E::hook, &HookConfig::name>(), "Communication hook",
            "What is done with a bucket that is ready: allreduce, noop, or the name of a plugin's "
            "hook (lockstep hooks lists them); its parameters are further keys of [hook], and a "
            "hook inside it is [hook.inner].");
  table.add("hook.library", at<&E::hook, &HookConfig::library>(), "Library",
            "Shared library of the hook; empty looks in the plugin folders.",
            {.path = true, .advanced = true});
}

void addOptimizer(Table& table) {
  using O = OptimizerConfig;
  table.add("optimizer.kind", at<&E::optimizer, &O::kind>(), "Optimizer",
            "How gradients become new weights.", {.choices = {"sgd", "adam", "adamw"}});
  table.add("optimizer.learning_rate", at<&E::optimizer, &O::learningRate>(), "Learning rate",
            "Step size.", {.from = 0, .to = 1'000'000});
  table.add("optimizer.momentum", at<&E::optimizer, &O::momentum>(), "Momentum",
            "Share of the last update that is kept.",
            {.from = 0, .to = 1, .onlyFor = "optimizer.kind=sgd"});
  table.add("optimizer.dampening", at<&E::optimizer, &O::dampening>(), "Dampening",
            "Share of the gradient that momentum leaves out.",
            {.from = 0, .to = 1, .onlyFor = "optimizer.kind=sgd", .advanced = true});
  table.add("optimizer.nesterov", at<&E::optimizer, &O::nesterov>(), "Nesterov",
            "Looks one step ahead; needs momentum, no dampening.",
            {.onlyFor = "optimizer.kind=sgd", .advanced = true});
  table.add("optimizer.weight_decay", at<&E::optimizer, &O::weightDecay>(), "Weight decay",
            "Pulls weights to zero; decoupled in adamw.", {.from = 0, .to = 1'000});
  table.add("optimizer.beta1", at<&E::optimizer, &O::beta1>(), "Beta 1",
            "Decay of the gradient's running mean.",
            {.from = 0, .below = 1, .onlyFor = "optimizer.kind=adam,adamw", .advanced = true});
  table.add("optimizer.beta2", at<&E::optimizer, &O::beta2>(), "Beta 2",
            "Decay of the squared gradient's running mean.",
            {.from = 0, .below = 1, .onlyFor = "optimizer.kind=adam,adamw", .advanced = true});
  table.add("optimizer.epsilon", at<&E::optimizer, &O::epsilon>(), "Epsilon",
            "Keeps the division finite.",
            {.from = 0, .to = 1, .onlyFor = "optimizer.kind=adam,adamw", .advanced = true});
  table.add("optimizer.zero", at<&E::optimizer, &O::zero>(), "Share state",
            "Each rank keeps and steps only its share of the parameters (ZeRO).",
            {.advanced = true});
  table.add(
      "optimizer.in_backward", at<&E::optimizer, &O::inBackward>(), "Step in the backward",
      "Each bucket's parameters are stepped as soon as it is reduced, while the backward goes on.",
      {.advanced = true});
}

}  // namespace lockstep::experiment::detail
