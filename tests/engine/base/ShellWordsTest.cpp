#include "engine/base/ShellWords.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace lockstep::base {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> wordsOf(std::string_view line) {
  const auto words = shellWords(line);
  EXPECT_TRUE(words.ok()) << words.error().message();
  return words.ok() ? words.value() : std::vector<std::string>{};
}

std::string mistakeIn(std::string_view line) {
  const auto words = shellWords(line);
  EXPECT_FALSE(words.ok()) << line;
  return words.ok() ? std::string() : words.error().message();
}

TEST(ShellWords, AreTakenApartAsAShellDoes) {
  EXPECT_THAT(wordsOf("torchrun  --nproc-per-node 2\ttrain.py "),
              ElementsAre("torchrun", "--nproc-per-node", "2", "train.py"));
  EXPECT_THAT(wordsOf(R"(python -c 'print("a b")' "it's" a\ b "say \"so\"" '')"),
              ElementsAre("python", "-c", R"(print("a b"))", "it's", "a b", "say \"so\"", ""));
  EXPECT_THAT(wordsOf(R"(--path=/a/"b c"/d "\n" \\)"), ElementsAre("--path=/a/b c/d", "\\n", "\\"));
  EXPECT_THAT(wordsOf("  \n "), IsEmpty());
}

TEST(ShellWords, BeginAtHomeWithATildeOfOnesOwn) {
  setenv("HOME", "/home/me", 1);
  EXPECT_THAT(wordsOf("~/train.py ~ a~ '~/x' ~you/x"),
              ElementsAre("/home/me/train.py", "/home/me", "a~", "~/x", "~you/x"));
}

TEST(ShellWords, NameWhatOnlyAShellCanDo) {
  EXPECT_THAT(mistakeIn("python train.py | tee log"), HasSubstr("no shell reads this line, and |"));
  EXPECT_THAT(mistakeIn("cd src && python train.py"), HasSubstr("& needs one: bash -c"));
  EXPECT_THAT(mistakeIn("python $HOME/train.py"), HasSubstr("$ needs one"));
  EXPECT_THAT(mistakeIn("python \"$HOME/train.py\""), HasSubstr("$ needs one"));
  EXPECT_THAT(wordsOf("bash -c 'cd src && python train.py | tee log'"),
              ElementsAre("bash", "-c", "cd src && python train.py | tee log"));
}

TEST(ShellWords, SayWhichQuoteIsNotClosed) {
  EXPECT_THAT(mistakeIn("python 'train.py"), HasSubstr("a ' is not closed"));
  EXPECT_THAT(mistakeIn("python \"train.py"), HasSubstr("a \" is not closed"));
}

TEST(ShellWords, OfALineAreTheWordsThatItWasMadeOf) {
  const std::vector<std::string> words{
      "/usr/bin/python3", "-c", "print('a', \"b\")", "", "$HOME", "a\nb", "~/x", "back\\slash"};
  EXPECT_EQ(wordsOf(shellLine(words)), words);
  EXPECT_EQ(shellLine({"torchrun", "train.py"}), "torchrun train.py");
}

TEST(CommandName, IsThatOfItsScriptOrElseOfItsProgram) {
  EXPECT_EQ(commandName({"torchrun", "--nproc-per-node", "2", "/src/train.py", "x"}), "train");
  EXPECT_EQ(commandName({"/usr/bin/mpirun", "./a.out"}), "mpirun");
}

}  // namespace
}  // namespace lockstep::base
