// The rows of [model] and [data]: what is trained, and on what.

#include "engine/experiment/detail/RowBuilder.h"

namespace lockstep::experiment::detail {
namespace {

using E = Experiment;

}  // namespace

void addModel(Table& table) {
  using M = ModelConfig;
  table.push_back(
      RowBuilder("model.kind", at<&E::model, &M::kind>(), "Model", "The network that is trained.")
          .choices({"mlp", "branching", "cnn", "resnet18", "char_gpt", "ngram", "deep_linear",
                    "torchscript", "shapes"}));
  table.push_back(RowBuilder("model.layers", at<&E::model, &M::layers>(), "Layer widths",
                             "Widths from the input to the classes.")
                      .from(1)
                      .to(1'000'000)
                      .onlyFor("model.kind=mlp,branching"));
  table.push_back(RowBuilder("model.dtypes", at<&E::model, &M::dtypes>(), "Layer types",
                             "Number format of each layer, the last for all that follow; empty: "
                             "float32.")
                      .each({"float32", "float64", "bfloat16"})
                      .onlyFor("model.kind=mlp")
                      .advanced());
  table.push_back(RowBuilder("model.width", at<&E::model, &M::width>(), "Width",
                             "Inputs and outputs of each linear layer.")
                      .from(1)
                      .to(65'536)
                      .onlyFor("model.kind=deep_linear"));
  table.push_back(RowBuilder("model.depth", at<&E::model, &M::depth>(), "Depth",
                             "Number of linear layers or of transformer blocks.")
                      .from(1)
                      .to(1'000)
                      .onlyFor("model.kind=deep_linear,char_gpt"));
  table.push_back(
      RowBuilder("model.classes", at<&E::model, &M::classes>(), "Classes", "Width of the output.")
          .from(2)
          .to(100'000)
          .onlyFor("model.kind=cnn,resnet18"));
  table.push_back(RowBuilder("model.embedding", at<&E::model, &M::embedding>(), "Embedding",
                             "Width of the residual stream, a multiple of model.heads; of a row "
                             "of the n-gram table.")
                      .from(1)
                      .to(16'384)
                      .onlyFor("model.kind=char_gpt,ngram"));
  table.push_back(RowBuilder("model.heads", at<&E::model, &M::heads>(), "Heads",
                             "Attention heads of each block.")
                      .from(1)
                      .to(256)
                      .onlyFor("model.kind=char_gpt"));
  table.push_back(RowBuilder("model.context", at<&E::model, &M::context>(), "Context",
                             "Length of the text the model sees at once.")
                      .unit("characters")
                      .from(1)
                      .to(8'192)
                      .onlyFor("model.kind=char_gpt,ngram"));
  table.push_back(RowBuilder("model.share_blocks", at<&E::model, &M::shareBlocks>(), "Share blocks",
                             "One block is used model.depth times; its parameters get the sum of "
                             "as many gradients.")
                      .onlyFor("model.kind=char_gpt")
                      .advanced());
  table.push_back(RowBuilder("model.activation_checkpoint",
                             at<&E::model, &M::activationCheckpoint>(), "Activation checkpoints",
                             "Forgets what a block computed and computes it again in the backward: "
                             "in a backward of its own (reentrant) or within the one.")
                      .choices({"none", "reentrant", "non_reentrant"})
                      .onlyFor("model.kind=char_gpt")
                      .advanced());
  table.push_back(RowBuilder("model.rows", at<&E::model, &M::rows>(), "Table rows",
                             "Rows of the table that n-grams of characters are hashed into.")
                      .unit("rows")
                      .from(1)
                      .to(100'000'000)
                      .onlyFor("model.kind=ngram"));
  table.push_back(RowBuilder("model.sparse", at<&E::model, &M::sparse>(), "Sparse gradients",
                             "The table's gradient holds the rows that were used, and no zeros.")
                      .onlyFor("model.kind=ngram"));
  table.push_back(RowBuilder("model.file", at<&E::model, &M::file>(), "Model file",
                             "A TorchScript archive, or parameter shapes and layer times as JSON.")
                      .path()
                      .onlyFor("model.kind=torchscript,shapes"));
}

void addData(Table& table) {
  using D = DataConfig;
  table.push_back(
      RowBuilder("data.kind", at<&E::data, &D::kind>(), "Data", "The set that is trained on.")
          .choices({"mnist", "text", "synthetic"}));
  table.push_back(RowBuilder("data.folder", at<&E::data, &D::folder>(), "IDX folder",
                             "Folder of MNIST's four IDX files; empty takes the shipped digits.")
                      .path()
                      .onlyFor("data.kind=mnist"));
  table.push_back(RowBuilder("data.file", at<&E::data, &D::file>(), "Text file",
                             "A plain text, gzip or not; empty takes the shipped text.")
                      .path()
                      .onlyFor("data.kind=text"));
  table.push_back(RowBuilder("data.batch_size", at<&E::data, &D::batchSize>(), "Batch size",
                             "Samples of each rank and step.")
                      .unit("samples")
                      .from(1)
                      .to(1'000'000));
  table.push_back(RowBuilder("data.samples", at<&E::data, &D::samples>(), "Samples",
                             "Size of the synthetic set.")
                      .unit("samples")
                      .from(1)
                      .to(100'000'000)
                      .onlyFor("data.kind=synthetic"));
  table.push_back(RowBuilder("data.shuffle", at<&E::data, &D::shuffle>(), "Shuffle",
                             "Draws a new order each epoch, the same on every rank."));
  table.push_back(RowBuilder("data.drop_last", at<&E::data, &D::dropLast>(), "Drop last",
                             "Drops the samples that cannot be shared out evenly among ranks; "
                             "otherwise some are used twice.")
                      .advanced());
}

}  // namespace lockstep::experiment::detail
