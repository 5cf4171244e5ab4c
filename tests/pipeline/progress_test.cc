// Progress lines off a terminal: a whole line each time, on stderr alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/say/console.h"

namespace ckpt {
namespace {

using std::chrono::milliseconds;

struct ConsoleText {
  std::string out, err;
};

// The output while 4 MB are processed in 4 steps, with `rest` before each.
ConsoleText said(const CommonOptions& options, ProgressPace pace, milliseconds rest = {}) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    const Console console(options);
    ProgressLine line(console, "writing m.gguf", pace);
    for (uint64_t step = 1; step <= 4; ++step) {
      std::this_thread::sleep_for(rest);
      line.advanced(step * 1'000'000, 4'000'000);
    }
    console.object("done", Json::object());
  }
  std::fflush(stdout);
  std::fflush(stderr);
  ConsoleText out{testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  return out;
}

CommonOptions with_progress(const char* mode) {
  CommonOptions out;
  out.progress = mode;
  return out;
}

auto lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Progress, PlainLinesComeOneEachTimeThePaceHasPassed) {
  const ConsoleText each = said(with_progress("plain"), {.told = milliseconds(0)}, milliseconds(2));
  EXPECT_EQ(lines(each.err), 4) << each.err;
  EXPECT_TRUE(each.err.starts_with("writing m.gguf  1.00 MB / 4.00 MB  ")) << each.err;
  EXPECT_NE(each.err.find("writing m.gguf  4.00 MB / 4.00 MB  "), std::string::npos) << each.err;
  EXPECT_EQ(each.err.find_first_of("\r\x1b"), std::string::npos) << "drawn over in a log";
  EXPECT_EQ(each.out, "");
}

TEST(Progress, PrintsNothingBeforeThePaceHasPassed) {
  EXPECT_EQ(said(with_progress("plain"), {}, milliseconds(2)).err, "");
  const auto start = std::chrono::steady_clock::now();
  const ConsoleText some =
      said(with_progress("plain"), {.told = milliseconds(50)}, milliseconds(20));
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(lines(some.err), 1);
  EXPECT_LE(lines(some.err) * milliseconds(50), took) << some.err;
}

TEST(Progress, OffATerminalAutoIsPlain) {
  EXPECT_EQ(lines(said(with_progress("auto"), {.told = milliseconds(0)}, milliseconds(2)).err), 4);
}

TEST(Progress, QuietAndNoneSayNothing) {
  EXPECT_EQ(said(with_progress("none"), {.told = milliseconds(0)}).err, "");
  CommonOptions quiet = with_progress("plain");
  quiet.quiet = true;
  EXPECT_EQ(said(quiet, {.told = milliseconds(0)}).err, "");
}

TEST(Progress, JsonOnStdoutHasNoProgressInIt) {
  CommonOptions json = with_progress("plain");
  json.json = true;
  const ConsoleText both = said(json, {.told = milliseconds(0)}, milliseconds(2));
  EXPECT_EQ(both.out, "{\"type\":\"done\",\"schema\":1}\n");
  EXPECT_EQ(lines(both.err), 4) << both.err;
}

TEST(Progress, JsonTellsTheFirstBytesAndTheLastAmongTheAnswers) {
  CommonOptions options = with_progress("json");
  options.json = true;
  const ConsoleText each = said(options, {});
  EXPECT_EQ(lines(each.out), 3) << each.out;
  const auto first = nlohmann::json::parse(each.out.substr(0, each.out.find('\n')));
  EXPECT_EQ(first["type"], "progress");
  EXPECT_EQ(first["what"], "writing m.gguf");
  EXPECT_EQ(first["done_bytes"], 1'000'000);
  EXPECT_NE(each.out.find("\"done_bytes\":4000000,\"total_bytes\":4000000}"), std::string::npos);
  EXPECT_EQ(each.err, "");
  EXPECT_EQ(lines(said(options, {.drawn = milliseconds(0)}, milliseconds(2)).out), 5);
}

}  // namespace
}  // namespace ckpt
