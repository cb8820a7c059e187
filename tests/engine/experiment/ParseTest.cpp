#include "engine/experiment/Parse.h"

#include <gmock/gmock.h>

#include <array>
#include <random>
#include <set>

#include "engine/experiment/Schema.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> messages(const std::vector<Mistake>& mistakes) {
  std::vector<std::string> result;
  for (const Mistake& mistake : mistakes) {
    result.push_back(mistake.message());
  }
  return result;
}

ParseOutcome parse(const std::string& toml, const Overrides& overrides = {}) {
  return parseText(toml, "e.toml", ".", overrides);
}

std::vector<std::string> mistakesIn(const std::string& toml, const Overrides& overrides = {}) {
  return messages(parse(toml, overrides).mistakes);
}

/// A value other than the default, for a field of any type.
std::string otherValue(const Field& field, const Experiment& experiment) {
  const std::string now = valueText(field, experiment);
  switch (field.type) {
    case FieldType::kBool:
      return now == "true" ? "false" : "true";
    case FieldType::kInteger:
      return now == "2" ? "1" : "2";
    case FieldType::kReal:
      return "0.4375";
    case FieldType::kText:
      return R"("quote \" backslash \\ tab \t bell \u0007 umlaut ü")";
    case FieldType::kPath:
      return "";
    case FieldType::kChoice:
      return "\"" + field.choices.back() + "\"";
    case FieldType::kIntegerList:
      return "[7, 5, 3]";
    case FieldType::kRealList:
      return "[0.5, 2, 8.25]";
    case FieldType::kTextList:
      return "[\"" + (field.choices.empty() ? "a.b" : field.choices.back()) + "\"]";
  }
  return "";
}

TEST(Parse, ReadsEveryTable) {
  const auto outcome = parse(R"(
name = "mine"
shows = "much"
[model]
kind = "mlp"
layers = [4, 2]
[data]
kind = "synthetic"
samples = 100
batch_size = 8
shuffle = false
[processes]
world_size = 3
timeout_seconds = 5
[ddp]
bucket_cap_mb = 0.5
bucket_rule = "c10d-1.9"
[hook]
name = "noop"
[optimizer]
kind = "adam"
learning_rate = 1e-3
beta1 = 0.8
[train]
epochs = 2
[capture]
enabled = false
)");
  ASSERT_THAT(messages(outcome.mistakes), IsEmpty());
  Experiment expected;
  expected.name = "mine";
  expected.shows = "much";
  expected.model.layers = {4, 2};
  expected.data.kind = "synthetic";
  expected.data.samples = 100;
  expected.data.batchSize = 8;
  expected.data.shuffle = false;
  expected.processes.worldSize = 3;
  expected.processes.timeoutSeconds = 5;
  expected.ddp.bucketCapMb = 0.5;
  expected.ddp.bucketRule = "c10d-1.9";
  expected.hook.name = "noop";
  expected.optimizer.kind = "adam";
  expected.optimizer.learningRate = 1e-3;
  expected.optimizer.beta1 = 0.8;
  expected.train.epochs = 2;
  expected.capture.enabled = false;
  EXPECT_EQ(outcome.experiment, expected);
}

TEST(Parse, ReportsEveryMistakeAtOnceInTheOrderOfTheFile) {
  EXPECT_THAT(
      mistakesIn(R"([model]
kind = "mlq"
[processes]
world_size = "two"
[ddp]
bucket_cap = 3
first_bucket_mb = -1
[optimizer]
learning_rate = nan
[trian]
steps = 1
)"),
      ElementsAre(
          "e.toml:2:8: model.kind: must be one of mlp, branching, cnn, resnet18, "
          "char_gpt, ngram, deep_linear, torchscript, shapes, not \"mlq\"; did you mean \"mlp\"?",
          "e.toml:4:14: processes.world_size: must be an integer from 1 to 1024, "
          "not \"two\"",
          "e.toml:6:1: ddp.bucket_cap: unknown key; did you mean ddp.bucket_cap_mb?",
          "e.toml:7:19: ddp.first_bucket_mb: must be a number above 0 and up to "
          "1048576, not -1",
          "e.toml:9:17: optimizer.learning_rate: must be a number from 0 to "
          "1000000, not nan",
          "e.toml:10:2: trian: unknown table; did you mean [train]?"));
}

TEST(Parse, RefusesWorldSizesOutsideTheirRange) {
  for (const std::string value : {"0", "1025", "-1", "2.0", "true", "9223372036854775807", "[2]",
                                  "{ a = 1 }", "1979-05-27", "inf", "\"\""}) {
    const auto found = mistakesIn("[processes]\nworld_size = " + value + "\n[train]\nsteps = 1\n");
    ASSERT_EQ(found.size(), 1U) << value;
    EXPECT_THAT(found[0], StartsWith("e.toml:2:14: processes.world_size: must be an integer from "
                                     "1 to 1024, not "));
  }
}

TEST(Parse, GoesOnBelowALineThatIsNoToml) {
  const auto found =
      mistakesIn("[processes]\nworld_size = two\n[train]\nsteps = 1O\n[ddp]\nbucket_cap_mb = 0\n");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_THAT(found[0], StartsWith("e.toml:2:"));
  EXPECT_THAT(found[0], HasSubstr("processes.world_size: not valid TOML"));
  EXPECT_THAT(found[1], StartsWith("e.toml:4:"));
  EXPECT_THAT(found[1], HasSubstr("train.steps: not valid TOML"));
  EXPECT_THAT(found[2], HasSubstr("ddp.bucket_cap_mb: must be a number above 0"));
}

TEST(Parse, RefusesAKeyThatStandsTwice) {
  const auto found = mistakesIn("[train]\nsteps = 1\nsteps = 2\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0], StartsWith("e.toml:3:"));
  EXPECT_THAT(found[0], HasSubstr("train.steps"));
}

TEST(Parse, StopsAtABrokenTableHeaderInsteadOfMisreadingTheRest) {
  const auto found = mistakesIn("[train\nsteps = 1\n[ddp]\nbucket_cap_mb = 0\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0], StartsWith("e.toml:1:"));
}

TEST(Parse, ReportsOneMistakeForAListThatIsNeverClosed) {
  const auto found = mistakesIn("[model]\nlayers = [784,\nkind = \"mlp\"\n[train]\nsteps = 1\n");
  EXPECT_EQ(found.size(), 1U);
}

TEST(Parse, TakesAnyBytesWithoutHarm) {
  for (const std::string& text :
       {std::string("\0\0", 2), std::string("\xff\xfe"), std::string("="),
        std::string("[[ddp]]\nx=1\n"), std::string("]"), std::string(100'000, '['),
        "a=" + std::string(5'000, '['), std::string("\"\"\"")}) {
    EXPECT_FALSE(parse(text).mistakes.empty()) << text.substr(0, 20);
  }
}

TEST(Parse, EndsSoonOnATextFullOfMistakes) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    text += "a=\n";
  }
  EXPECT_EQ(parse(text).mistakes.size(), 1U);
}

TEST(Parse, TakesDamagedExperimentsWithoutHarm) {
  Experiment experiment;
  experiment.train.steps = 1;
  const std::string sound = toToml(experiment);
  std::mt19937 random(7);
  for (int round = 0; round < 1000; ++round) {
    std::string text = sound;
    for (std::uint32_t edits = 1 + random() % 4; edits-- > 0;) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, 1 + random() % 20);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 30));
      }
    }
    for (const Mistake& mistake : parse(text).mistakes) {
      EXPECT_FALSE(mistake.text.empty());
    }
  }
}

TEST(Parse, NamesTheKeysOfATableWhenNothingIsNear) {
  EXPECT_THAT(mistakesIn("[capture]\nzebra = 1\n[train]\nsteps = 1\n"),
              ElementsAre("e.toml:2:1: capture.zebra: unknown key; the keys of [capture] are "
                          "enabled, ring_events, counters_hz, fingerprint_every, "
                          "gradient_check_every, detail, limit_mb"));
}

TEST(Parse, SaysThatATableIsNoValueAndAValueNoTable) {
  const auto found =
      mistakesIn("train.steps = 1\nhook = \"noop\"\n[name]\nx = 1\n[[ddp]]\na = 1\n");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0], "e.toml:2:1: hook: is a table: write its keys under [hook] (name, library)");
  EXPECT_THAT(found[1], HasSubstr("name: must be a text in quotes, not a table"));
  EXPECT_THAT(found[2], HasSubstr("ddp: is a table"));
}

TEST(Parse, RefusesKeysThatHaveNoMeaningForTheKind) {
  EXPECT_THAT(
      mistakesIn("[model]\nkind = \"cnn\"\nlayers = [1, 2]\n[optimizer]\nkind = \"adam\"\n"
                 "momentum = 0.9\n[train]\nsteps = 1\n"),
      ElementsAre("e.toml:3:1: model.layers: has no meaning with model.kind = \"cnn\", only "
                  "with mlp,branching; leave it out",
                  "e.toml:6:1: optimizer.momentum: has no meaning with optimizer.kind = "
                  "\"adam\", only with sgd; leave it out"));
}

TEST(Parse, PutsARuleAtTheKeyThatWasWritten) {
  EXPECT_THAT(
      mistakesIn("[model]\nkind = \"char_gpt\"\n[train]\nsteps = 1\nepochs = 1\n"),
      ElementsAre("e.toml:2:8: data.kind: model.kind \"char_gpt\" takes data.kind text, not "
                  "\"mnist\"",
                  "e.toml:5:10: train.epochs: write either train.steps or train.epochs, not "
                  "both"));
}

TEST(Parse, MakesNoSecondMistakeOfAKeyThatIsWrongAlready) {
  EXPECT_EQ(mistakesIn("[train]\nsteps = \"ten\"\n").size(), 1U);
  EXPECT_EQ(mistakesIn("[train]\nstep = 10\n").size(), 1U);
  EXPECT_EQ(mistakesIn("[train]\nsteps = 1O\n").size(), 1U);
  EXPECT_EQ(mistakesIn("[trani]\nsteps = 10\n").size(), 1U);
}

TEST(Parse, ResolvesPathsAgainstTheFilesFolder) {
  const support::TemporaryFolder folder;
  folder.write("models/net.json", "{}");
  const auto file = folder.write("deep/e.toml",
                                 "[model]\nkind = \"shapes\"\nfile = \"../models/net.json\"\n"
                                 "[data]\nkind = \"synthetic\"\n[train]\nsteps = 1\n");
  const auto outcome = parseFile(file);
  ASSERT_THAT(messages(outcome.mistakes), IsEmpty());
  EXPECT_EQ(outcome.experiment.model.file, (folder / "models/net.json").string());
}

TEST(Parse, SaysWhyAFileCannotBeRead) {
  const support::TemporaryFolder folder;
  EXPECT_THAT(messages(parseFile(folder / "absent.toml").mistakes),
              ElementsAre((folder / "absent.toml").string() +
                          ": the experiment file cannot be read: No such file or directory"));
  EXPECT_THAT(messages(parseFile(folder.path()).mistakes), ElementsAre(HasSubstr("is a folder")));
  EXPECT_THAT(messages(parseFile("/dev/zero").mistakes), ElementsAre(HasSubstr("1 MiB")));
}

TEST(Parse, KeepsNameAndShowsOfABrokenExperiment) {
  const auto outcome = parse("name = \"mine\"\nshows = \"much\"\n[ddp]\nbucket_cap_mb = 0\n");
  EXPECT_FALSE(outcome.mistakes.empty());
  EXPECT_EQ(outcome.experiment.name, "mine");
  EXPECT_EQ(outcome.experiment.shows, "much");
}

TEST(Overrides, WinOverTheFile) {
  const auto outcome =
      parse("[train]\nsteps = 5\n[processes]\nworld_size = 99\n", {{"processes.world_size", "4"},
                                                                   {"ddp.bucket_cap_mb", "0.5"},
                                                                   {"model.layers", "[784, 10]"},
                                                                   {"name", "two words"},
                                                                   {"hook.name", "\"noop\""},
                                                                   {"data.shuffle", "false"}});
  ASSERT_THAT(messages(outcome.mistakes), IsEmpty());
  EXPECT_EQ(outcome.experiment.processes.worldSize, 4);
  EXPECT_EQ(outcome.experiment.ddp.bucketCapMb, 0.5);
  EXPECT_THAT(outcome.experiment.model.layers, ElementsAre(784, 10));
  EXPECT_EQ(outcome.experiment.name, "two words");
  EXPECT_EQ(outcome.experiment.hook.name, "noop");
  EXPECT_FALSE(outcome.experiment.data.shuffle);
}

TEST(Overrides, GoThroughTheSameChecks) {
  EXPECT_THAT(mistakesIn("[train]\nsteps = 1\n", {{"processes.world_size", "two"},
                                                  {"ddp.bucket_cap", "1"},
                                                  {"data.batch_size", ""},
                                                  {"model.layers", "[784, "}}),
              testing::UnorderedElementsAre(
                  "--set: processes.world_size: must be an integer from 1 to 1024, not \"two\"",
                  "--set: ddp.bucket_cap: unknown key; did you mean ddp.bucket_cap_mb?",
                  "--set: data.batch_size: has no value",
                  StartsWith("--set: model.layers: not valid TOML")));
}

TEST(Overrides, CannotSmuggleASecondKeyIn) {
  EXPECT_THAT(mistakesIn("[train]\nsteps = 1\n", {{"train.seed", "1\nother = 2"}}),
              ElementsAre(StartsWith("--set: train.seed: must be an integer")));
}

TEST(Overrides, ReplaceStepsByEpochsAndTheOtherWayRound) {
  const auto outcome = parse("[train]\nepochs = 5\n", {{"train.steps", "20"}});
  ASSERT_THAT(messages(outcome.mistakes), IsEmpty());
  EXPECT_EQ(outcome.experiment.train.steps, 20);
  EXPECT_EQ(outcome.experiment.train.epochs, std::nullopt);
  EXPECT_EQ(
      mistakesIn("[train]\nsteps = 5\n", {{"train.steps", "1"}, {"train.epochs", "1"}}).size(), 1U);
}

TEST(Overrides, DropKeysOfTheFileThatLoseTheirMeaning) {
  const std::string file = "[optimizer]\nmomentum = 0.5\n[train]\nsteps = 5\n";
  const auto outcome = parse(file, {{"optimizer.kind", "adam"}});
  ASSERT_THAT(messages(outcome.mistakes), IsEmpty());
  EXPECT_EQ(outcome.experiment.optimizer.momentum, OptimizerConfig{}.momentum);
  EXPECT_THAT(mistakesIn(file, {{"optimizer.kind", "adam"}, {"optimizer.momentum", "0.1"}}),
              ElementsAre(HasSubstr("--set: optimizer.momentum: has no meaning")));
}

TEST(Overrides, ResolvePathsAgainstTheWorkingDirectory) {
  const support::TemporaryFolder folder;
  const auto file = folder.write("e.toml", "[train]\nsteps = 1\n");
  const auto outcome = parseFile(file, {{"train.checkpoint", "weights.pt"}});
  ASSERT_THAT(messages(outcome.mistakes), IsEmpty());
  EXPECT_EQ(outcome.experiment.train.checkpoint,
            (std::filesystem::current_path() / "weights.pt").string());
}

/// Sets every field that has a meaning to another value, one kind of model and optimizer at a
/// time, so that the round trip goes over every key of the schema.
TEST(RoundTrip, GivesTheSameExperimentBackOverEveryField) {
  const support::TemporaryFolder folder;
  const std::string file = folder.write("model.bin", "x").string();
  std::set<std::string> seen;
  for (const auto& [model, data, optimizer, length] :
       std::vector<std::array<std::string, 4>>{{"mlp", "synthetic", "sgd", "steps"},
                                               {"cnn", "synthetic", "adam", "epochs"},
                                               {"resnet18", "synthetic", "adamw", "steps"},
                                               {"char_gpt", "text", "sgd", "steps"},
                                               {"ngram", "text", "sgd", "steps"},
                                               {"deep_linear", "synthetic", "sgd", "epochs"},
                                               {"torchscript", "mnist", "sgd", "steps"},
                                               {"shapes", "synthetic", "sgd", "steps"}}) {
    Overrides overrides{{"model.kind", model}, {"data.kind", data}, {"optimizer.kind", optimizer}};
    Experiment kinds;
    kinds.model.kind = model;
    kinds.data.kind = data;
    kinds.optimizer.kind = optimizer;
    if (model == "cnn") {
      kinds.link.preset = "ethernet_10g_8";  // its bandwidth and latency have no meaning then
      overrides.emplace_back("link.preset", kinds.link.preset);
    }
    if (model == "ngram") {
      kinds.processes.backend = "auto";  // the other value, with which hosts have a meaning
    }
    if (model == "resnet18") {
      kinds.launch.launcher = "srun";  // whose keys have no meaning for ranks of this host
      overrides.emplace_back("launch.launcher", kinds.launch.launcher);
    }
    for (const Field& field : schema()) {
      const bool kind = field.key.ends_with(".kind") || field.key == "link.preset" ||
                        field.key == "launch.launcher";
      const bool otherLength = field.key != "train." + length &&
                               (field.key == "train.steps" || field.key == "train.epochs");
      if (!kind && !otherLength && applies(field, kinds)) {
        std::string value = otherValue(field, kinds);
        if (field.type == FieldType::kPath) {
          value = field.key == "data.folder" ? folder.path().string() : file;
        }
        if (field.key == "capture.ring_events") {
          value = "1024";
        }
        if (field.key == "processes.world_size") {
          value = "8";  // the slow ranks are among them
        }
        if (field.key == "processes.backend") {
          value = "hierarchical";  // of made-up hosts
        }
        if (field.key == "launch.nnodes") {
          value = "2";  // with four ranks each
        }
        if (field.key == "launch.ranks_per_node") {
          value = "4";
        }
        if (field.key == "launch.lost_after_seconds") {
          value = "2.5";
        }
        if (field.key == "data.samples") {
          value = "64";  // enough for all ranks
        }
        overrides.emplace_back(field.key, value);
        seen.insert(field.key);
      }
    }
    // These contradict others that are set here; RoundTrip.KeepsKeysThatExcludeOthers has them.
    std::erase_if(overrides, [](const auto& o) {
      return o.first == "optimizer.dampening" || o.first == "optimizer.zero" ||
             o.first == "ddp.static_graph" || o.first == "ddp.join" ||
             o.first == "optimizer.in_backward" || o.first == "processes.strategy" ||
             o.first == "ddp.divide_by_initial_world_size" ||
             o.first == "ddp.throw_on_early_termination";
    });
    overrides.emplace_back("name", "\"quote \\\" and \\\\ back\"");
    const auto outcome = parse("", overrides);
    ASSERT_THAT(messages(outcome.mistakes), IsEmpty()) << model;
    const auto again = parse(toToml(outcome.experiment));
    EXPECT_THAT(messages(again.mistakes), IsEmpty()) << toToml(outcome.experiment);
    EXPECT_EQ(again.experiment, outcome.experiment) << toToml(outcome.experiment);
  }
  // The four kinds, the launcher, and the number of devices, which belongs to another strategy.
  EXPECT_EQ(seen.size() + 6, schema().size());
}

TEST(RoundTrip, KeepsKeysThatExcludeOthers) {
  Experiment experiment;
  experiment.train.steps = 1;
  experiment.optimizer.zero = true;
  experiment.ddp.staticGraph = true;
  experiment.ddp.join = true;
  experiment.ddp.divideByInitialWorldSize = false;
  experiment.ddp.throwOnEarlyTermination = true;
  const auto again = parse(toToml(experiment));
  ASSERT_THAT(messages(again.mistakes), IsEmpty());
  EXPECT_EQ(again.experiment, experiment);
}

TEST(RoundTrip, KeepsTheOtherStrategyAndOptimizerInTheBackward) {
  Experiment parallel;
  parallel.train.steps = 1;
  parallel.processes.strategy = "data_parallel";
  parallel.processes.worldSize = 1;
  parallel.processes.devices = 4;
  Experiment overlapped;
  overlapped.train.steps = 1;
  overlapped.optimizer.inBackward = true;
  for (const Experiment& experiment : {parallel, overlapped}) {
    const auto again = parse(toToml(experiment));
    ASSERT_THAT(messages(again.mistakes), IsEmpty());
    EXPECT_EQ(again.experiment, experiment);
  }
}

TEST(Parse, ReadsListsOfNumbersAndOfTexts) {
  const auto outcome = parse(
      "[train]\nsteps = 1\n[ddp]\nbucket_cap_mb_list = [1, 2.5]\nignore = [\"a.b\"]\n"
      "[model]\ndtypes = [\"float32\", \"bfloat16\"]\n");
  ASSERT_THAT(messages(outcome.mistakes), IsEmpty());
  EXPECT_THAT(outcome.experiment.ddp.bucketCapMbList, ElementsAre(1, 2.5));
  EXPECT_THAT(outcome.experiment.ddp.ignore, ElementsAre("a.b"));
  EXPECT_THAT(outcome.experiment.model.dtypes, ElementsAre("float32", "bfloat16"));
  const std::string train = "[train]\nsteps = 1\n";
  EXPECT_THAT(parse(train + "[ddp]\nbucket_cap_mb_list = [4]\n").experiment.ddp.bucketCapMbList,
              ElementsAre(4));
  EXPECT_THAT(mistakesIn(train + "[ddp]\nbucket_cap_mb_list = [1.5, 0]\nignore = [3]\n"
                                 "[model]\ndtypes = [\"float\"]\n"),
              ElementsAre("e.toml:4:22: ddp.bucket_cap_mb_list: must be a list of numbers above 0 "
                          "and up to 1048576, not [1.5, 0]",
                          "e.toml:5:10: ddp.ignore: must be a list of texts in quotes, not [3]",
                          "e.toml:7:10: model.dtypes: must be a list of texts, each one of "
                          "float32, float64, bfloat16, not [\"float\"]"));
}

TEST(RoundTrip, KeepsRealNumbersToTheLastBit) {
  Experiment experiment;
  experiment.train.steps = 1;
  for (const double value : {0.1, 1.0 / 3, 1e-300, 123456.789012345}) {
    experiment.optimizer.learningRate = value;
    const auto again = parse(toToml(experiment));
    ASSERT_THAT(messages(again.mistakes), IsEmpty());
    EXPECT_EQ(again.experiment.optimizer.learningRate, value);
  }
}

}  // namespace
}  // namespace lockstep::experiment
