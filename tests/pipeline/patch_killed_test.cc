// Patches that are killed at each of their steps: all is done or nothing, and nobody comes between.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/pipeline/patch_folder.h"

namespace ckpt {
using namespace patch_test;
namespace {

// Runs `job` in a process of its own that is killed before its `steps`-th step. True when it was.
bool killed_at(int steps, const std::function<void(const StepHook&)>& job) {
  const pid_t child = ::fork();
  if (child == 0) {
    int left = steps;
    job([&left](std::string_view) {
      if (left-- == 0) ::raise(SIGKILL);
    });
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status);
}

void expect_all_or_nothing(const std::vector<std::string>& steps, bool rewrite_weights) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "old");
  make_checkpoint(folder / "new");
  ASSERT_EQ(error_of(run_patch(folder / "new", steps, rewrite_weights)), "no error");
  const auto before = snapshot(folder / "old"), after = snapshot(folder / "new");
  ASSERT_NE(before, after);
  int undone = 0, finished = 0;
  for (int at = 0;; ++at) {
    const fs::path path = folder / fmt::format("m{}", at);
    make_checkpoint(path);
    const auto job = [&](const StepHook& hook) {
      (void)run_patch(path, steps, rewrite_weights, hook);
    };
    if (!killed_at(at, job)) break;
    const bool committed = patch_state(path) == PatchState::kUnfinished;
    EXPECT_EQ(recognize(path).has_value(), !committed);
    // The one who finishes is killed too, at each of its steps.
    for (int again = 0;
         killed_at(again, [&](const StepHook& hook) { (void)finish_earlier_patch(path, hook); });
         ++again) {
    }
    const auto recovered = finish_earlier_patch(path);
    ASSERT_TRUE(recovered) << recovered.error().text();
    const auto state = snapshot(path);
    EXPECT_TRUE(state == after || (state == before && !committed)) << "killed before step " << at;
    undone += state == before ? 1 : 0;
    finished += state == after ? 1 : 0;
    if (state == after) continue;
    ASSERT_EQ(error_of(run_patch(path, steps, rewrite_weights)), "no error");
    EXPECT_EQ(snapshot(path), after);
  }
  EXPECT_GE(undone, 3);
  EXPECT_GE(finished, 3);
}

TEST(PatchKilled, BetweenDocumentsAndHeadersInPlace) {
  expect_all_or_nothing({"config:set=layers=3", "metadata:set=format=np"}, false);
}

TEST(PatchKilled, WithHeadersThatGrow) {
  expect_all_or_nothing({"metadata:set=note=" + std::string(500, 'n'), "config:set=layers=3"},
                        false);
}

TEST(PatchKilled, WithRewrittenWeights) {
  expect_all_or_nothing({"cast:type=f32", "config:set=layers=3"}, true);
}

TEST(PatchKilled, WithFilesThatGo) { expect_all_or_nothing({"drop:tensors=lm_head.*"}, false); }

TEST(PatchKilled, WithOneDocument) {
  const TemporaryFolder folder;
  for (int at = 0;; ++at) {
    const fs::path path = folder / fmt::format("m{}", at);
    make_checkpoint(path);
    fs::remove(path / "SHA256SUMS");
    const auto before = snapshot(path);
    auto after = before;
    after["config.json"] = "{\n    \"eps\": 1e-06,\n    \"layers\": 3\n}\n";
    const bool killed = killed_at(at, [&](const StepHook& hook) {
      (void)run_patch(path, {"config:set=layers=3"}, false, hook);
    });
    EXPECT_TRUE(recognize(path));
    ASSERT_TRUE(finish_earlier_patch(path));
    const auto state = snapshot(path);
    EXPECT_TRUE(state == after || (killed && state == before)) << "killed before step " << at;
    if (!killed) break;
    ASSERT_LT(at, 20);
  }
}

TEST(PatchKilled, TwoAtOnceAreRefused) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const auto planned = plan(folder / "m", {"config:set=layers=3"});  // and SHA256SUMS goes
  ASSERT_TRUE(planned);
  PatchOptions options;
  std::string second;
  options.hook = [&](std::string_view step) {
    if (step == "commit") second = error_of(run_patch(folder / "m", {"config:set=layers=4"}));
  };
  ASSERT_TRUE(apply_patch(planned->patch, options));
  EXPECT_NE(second.find("another ckpt is patching it"), std::string::npos) << second;
}

// They are of the files before the patch: who wrote them has not seen that it began.
TEST(PatchKilled, SumsThatAppearBeforeItHasTheLockEndIt) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  fs::remove(folder / "m" / "SHA256SUMS");
  const auto before = snapshot(folder / "m");
  const auto planned = plan(folder / "m", {"config:set=layers=3"});
  ASSERT_TRUE(planned);
  PatchOptions options;
  options.hook = [&](std::string_view step) {
    if (step == "begin") write_file(folder / "m" / "SHA256SUMS", "sums\n");
  };
  const auto report = apply_patch(planned->patch, options);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text().find("SHA256SUMS: appeared"), std::string::npos);
  fs::remove(folder / "m" / "SHA256SUMS");
  EXPECT_EQ(snapshot(folder / "m"), before);
}

TEST(PatchKilled, AStagingFolderWithOtherFilesStays) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const auto before = snapshot(folder / "m");
  const fs::path staging = staging_of(folder / "m");
  for (const char* name : {"notes.txt", "files/notes.txt", "files/0/1", "filesystem"}) {
    const fs::path path = staging / name;
    fs::create_directories(path.parent_path());
    fs::permissions(staging, fs::perms::owner_all);
    write_file(path, "precious");
    const std::string error = error_of(run_patch(folder / "m", {"config:set=layers=3"}));
    EXPECT_NE(error.find(fmt::format("it holds {}", name)), std::string::npos) << error;
    EXPECT_EQ(read_file(path), "precious");
    fs::remove_all(staging);
    EXPECT_EQ(snapshot(folder / "m"), before);
  }
  EXPECT_EQ(error_of(run_patch(folder / "m", {"config:set=layers=3"})), "no error");
}

TEST(PatchKilled, AJournalThatLeavesTheFolderIsRefused) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  write_file(folder / "victim", "precious");
  fs::create_directories(staging_of(folder / "m") / "files");
  for (const char* line :
       {"remove ../victim\n", "replace 0 7 ../victim\n", "remove /etc\n", "x\n"}) {
    write_file(journal_of(folder / "m"),
               fmt::format("ckpt-patch 3\nof {}\n{}end\n", std::string(64, '0'), line));
    EXPECT_NE(
        error_of(run_patch(folder / "m", {"config:set=layers=3"})).find("not a patch journal"),
        std::string::npos);
  }
  EXPECT_EQ(read_file(folder / "victim"), "precious");
}

}  // namespace
}  // namespace ckpt
