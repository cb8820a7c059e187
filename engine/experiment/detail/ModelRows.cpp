#include "engine/experiment/detail/Table.h"

namespace lockstep::experiment::detail {

void addModel(Table& table) {
  using M = ModelConfig;
  table.add("model.kind", at<&E::model, &M::kind>(), "Model", "The network that is trained.",
            {.choices = {"mlp", "branching", "cnn", "resnet18", "char_gpt", "ngram", "deep_linear",
                         "torchscript", "shapes"}});
  table.add("model.layers", at<&E::model, &M::layers>(), "Layer widths",
            "Widths from the input to the classes.",
            {.from = 1, .to = 1'000'000, .onlyFor = "model.kind=mlp,branching"});
  table.add(
      "model.dtypes", at<&E::model, &M::dtypes>(), "Layer types",
      "Number format of each layer, the last for all that follow; empty: float32.",
      {.each = {"float32", "float64", "bfloat16"}, .onlyFor = "model.kind=mlp", .advanced = true});
  table.add("model.width", at<&E::model, &M::width>(), "Width",
            "Inputs and outputs of each linear layer.",
            {.from = 1, .to = 65'536, .onlyFor = "model.kind=deep_linear"});
  table.add("model.depth", at<&E::model, &M::depth>(), "Depth",
            "Number of linear layers or of transformer blocks.",
            {.from = 1, .to = 1'000, .onlyFor = "model.kind=deep_linear,char_gpt"});
  table.add("model.classes", at<&E::model, &M::classes>(), "Classes", "Width of the output.",
            {.from = 2, .to = 100'000, .onlyFor = "model.kind=cnn,resnet18"});
  table.add(
      "model.embedding", at<&E::model, &M::embedding>(), "Embedding",
      "Width of the residual stream, a multiple of model.heads; of a row of the n-gram table.",
      {.from = 1, .to = 16'384, .onlyFor = "model.kind=char_gpt,ngram"});
  table.add("model.heads", at<&E::model, &M::heads>(), "Heads", "Attention heads of each block.",
            {.from = 1, .to = 256, .onlyFor = "model.kind=char_gpt"});
  table.add("model.context", at<&E::model, &M::context>(), "Context",
            "Length of the text the model sees at once.",
            {.unit = "characters", .from = 1, .to = 8'192, .onlyFor = "model.kind=char_gpt,ngram"});
  table.add("model.share_blocks", at<&E::model, &M::shareBlocks>(), "Share blocks",
            "One block is used model.depth times; its parameters get the sum of as many gradients.",
            {.onlyFor = "model.kind=char_gpt", .advanced = true});
  table.add("model.activation_checkpoint", at<&E::model, &M::activationCheckpoint>(),
            "Activation checkpoints",
            "Forgets what a block computed and computes it again in the backward: in a backward of "
            "its own (reentrant) or within the one.",
            {.choices = {"none", "reentrant", "non_reentrant"},
             .onlyFor = "model.kind=char_gpt",
             .advanced = true});
  table.add("model.rows", at<&E::model, &M::rows>(), "Table rows",
            "Rows of the table that n-grams of characters are hashed into.",
            {.unit = "rows", .from = 1, .to = 100'000'000, .onlyFor = "model.kind=ngram"});
  table.add("model.sparse", at<&E::model, &M::sparse>(), "Sparse gradients",
            "The table's gradient holds the rows that were used, and no zeros.",
            {.onlyFor = "model.kind=ngram"});
  table.add("model.file", at<&E::model, &M::file>(), "Model file",
            "A TorchScript archive, or parameter shapes and layer times as JSON.",
            {.onlyFor = "model.kind=torchscript,shapes", .path = true});
}

void addData(Table& table) {
  using D = DataConfig;
  table.add("data.kind", at<&E::data, &D::kind>(), "Data", "The set that is trained on.",
            {.choices = {"mnist", "text", "synthetic"}});
  table.add("data.folder", at<&E::data, &D::folder>(), "IDX folder",
            "Folder of MNIST's four IDX files; empty takes the shipped digits.",
            {.onlyFor = "data.kind=mnist", .path = true});
  table.add("data.file", at<&E::data, &D::file>(), "Text file",
            "A plain text, gzip or not; empty takes the shipped text.",
            {.onlyFor = "data.kind=text", .path = true});
  table.add("data.batch_size", at<&E::data, &D::batchSize>(), "Batch size",
            "Samples of each rank and step.", {.unit = "samples", .from = 1, .to = 1'000'000});
  table.add("data.samples", at<&E::data, &D::samples>(), "Samples", "Size of the synthetic set.",
            {.unit = "samples", .from = 1, .to = 100'000'000, .onlyFor = "data.kind=synthetic"});
  table.add("data.shuffle", at<&E::data, &D::shuffle>(), "Shuffle",
            "Draws a new order each epoch, the same on every rank.");
  table.add("data.drop_last", at<&E::data, &D::dropLast>(), "Drop last",
            "Drops the samples that cannot be shared out evenly among ranks; otherwise some are "
            "used twice.",
            {.advanced = true});
}

}  // namespace lockstep::experiment::detail
