#include "ui/panels/AskedProgram.h"

#include <gtest/gtest.h>

#include <QFile>
#include <optional>

#include "tests/ui/shell/Screen.h"

namespace lockstep::ui {
namespace {

using End = ProgramAnswer::End;

class AskedProgramTest : public testing::Test {
 protected:
  AskedProgramTest() {
    QObject::connect(&program_, &AskedProgram::ended,
                     [this](const ProgramAnswer& answer) { answer_ = answer; });
  }
  ProgramAnswer ask(const QString& script, int limitMs = 0) {
    program_.start("/bin/sh", {"-c", script}, limitMs);
    EXPECT_TRUE(tests::waitUntil([this] { return answer_.has_value(); }));
    return answer_.value_or(ProgramAnswer{});
  }

  // One that was killed may stay in the table of processes until it is reaped.
  static bool ends(const QByteArray& pid) {
    const QString place = "/proc/" + QString::fromUtf8(pid.trimmed()) + "/stat";
    return tests::waitUntil([&] {
      QFile stat(place);
      return !stat.open(QIODevice::ReadOnly) || stat.readAll().contains(") Z ");
    });
  }

  AskedProgram program_;
  std::optional<ProgramAnswer> answer_;
};

TEST_F(AskedProgramTest, TellsWhatWasSaidAndHowItEnded) {
  const ProgramAnswer answer = ask("echo yes; echo no >&2; exit 3");
  EXPECT_EQ(answer.end, End::kExited);
  EXPECT_EQ(answer.exitCode, 3);
  EXPECT_EQ(answer.output, "yes\n");
  EXPECT_EQ(answer.errors, "no\n");
  EXPECT_FALSE(answer.good());
  EXPECT_FALSE(program_.busy());
}

TEST_F(AskedProgramTest, EndsWhatTakesTooLongWithAllThatItStarted) {
  const ProgramAnswer answer = ask("sleep 600 & echo $!; wait", 200);
  EXPECT_EQ(answer.end, End::kTooLong);
  EXPECT_TRUE(ends(answer.output));
}

TEST_F(AskedProgramTest, WhatIsAskedKindlyEndsWithAllThatItStarted) {
  QByteArray child;
  QObject::connect(&program_, &AskedProgram::said, [&] {
    child += program_.takeOutput();
    program_.endKindly();
  });
  EXPECT_EQ(ask("sleep 600 & echo $!; wait").end, End::kCrashed) << "by the signal";
  EXPECT_TRUE(ends(child));
}

TEST_F(AskedProgramTest, SaysWhyItCannotBeStarted) {
  program_.start("/no/such/program", {});
  ASSERT_TRUE(tests::waitUntil([this] { return answer_.has_value(); }));
  EXPECT_EQ(answer_->end, End::kNotStarted);
  EXPECT_FALSE(answer_->whyNot.isEmpty());
}

TEST_F(AskedProgramTest, OfOneThatIsDroppedNobodyIsTold) {
  program_.start("/bin/sh", {"-c", "exit 0"});
  program_.drop();
  EXPECT_FALSE(program_.busy());
  EXPECT_EQ(ask("exit 4").exitCode, 4);
}

TEST(LinesOfTest, AProgressBarReturnsToTheStartOfItsLine) {
  EXPECT_EQ(linesOf("one\n 10 %\r 100 %\n\n  \nlast"),
            (QStringList{"one", "10 %", "100 %", "last"}));
  EXPECT_EQ(lastLineIn("one\ntwo\n \n"), "two");
  EXPECT_EQ(lastLineIn(""), QString());
}

}  // namespace
}  // namespace lockstep::ui
