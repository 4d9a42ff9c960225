#include "jobs/Terminal.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

using namespace lathe::jobs;

TEST(Terminal, standardOutputTakesNoCommands) {
  std::stringbuf caught;
  std::streambuf *before = std::cout.rdbuf(&caught);
  makeOutputPrintable();
  std::cout << "plain\ttext\n"
            << "\x1b[2J\x9b" << 'c' << "\r\n"
            << "caf\xc3" << '\xa9' << " \xe4\xb8"
            << "\x96 \xc2\x9b"
            << "31m \xc3" << std::flush << "|" << 17 << std::endl;
  std::cout.rdbuf(before);
  EXPECT_EQ(caught.str(), "plain\ttext\n\\x1b[2J\\x9bc\\r\ncaf\xc3\xa9 \xe4\xb8\x96 \\xc2\\x9b31m \\xc3|17\n");
}

TEST(Terminal, messagesAreOneLine) {
  testing::internal::CaptureStderr();
  say("m\x1b[31m.onnx: node 'a\nb'");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "m\\x1b[31m.onnx: node 'a\\nb'\n");
}
