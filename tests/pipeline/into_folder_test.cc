// OUT is an empty folder that is there: it stays, and gets the files.
#include <sys/stat.h>

#include "core/engine/compare.h"
#include "tests/pipeline/ends_run.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Conversion into(const fs::path& out) {
  Conversion conversion;
  conversion.in = testdata("qwen35-micro");
  conversion.out = out;
  conversion.to = "nvfp4-w4a16";
  conversion.shard_bytes = 1'000'000;
  return conversion;
}

ino_t inode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_ino;
}

TEST(IntoFolder, EndedAtManyPointsItGivesTheSameFilesInTheSameFolder) {
  const TemporaryFolder folder;
  ASSERT_TRUE(run(into(folder / "new")));
  fs::create_directories(folder / "out/lost+found");
  const ino_t inode = inode_of(folder / "out");
  uint64_t resumed_bytes = 0;
  for (uint64_t limit = 0; limit < 100'000'000; limit += 400'000) {
    EndsRun ender(limit);
    const auto report = run(into(folder / "out"), options_for(ender));
    if (report) {
      resumed_bytes = report->resumed_bytes;
      break;
    }
    ASSERT_EQ(report.error().code, ErrorCode::kInterrupted) << report.error().text();
    for (const auto& entry : fs::directory_iterator(folder / "out")) {
      const std::string name = entry.path().filename().string();
      EXPECT_TRUE(name.starts_with(".ckpt-partial") || name == "lost+found") << name;
    }
  }
  EXPECT_GT(resumed_bytes, 0u);
  EXPECT_EQ(inode_of(folder / "out"), inode);
  fs::remove(folder / "out/lost+found");
  ASSERT_EQ(listing(folder / "out"), listing(folder / "new"));
  for (const auto& entry : fs::directory_iterator(folder / "new")) {
    const fs::path made = folder / "out" / entry.path().filename();
    EXPECT_EQ(hash_file(entry.path()).value(), hash_file(made).value()) << made;
  }
}

// Killed between two names: the ledger says that all files are whole.
TEST(IntoFolder, ARunThatEndedBetweenTwoNamesIsEnded) {
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  fs::create_directories(out);
  fs::create_directories(folder / "copy");
  EndsRun ender(UINT64_MAX);
  ExecuteOptions options = options_for(ender);
  ASSERT_TRUE(run(into(folder / "copy"), options));
  // A folder in the place of a file lets the names behind it be given, and its own not.
  const auto planned = plan_conversion(into(out));
  ASSERT_TRUE(planned);
  fs::create_directories(out / "model.safetensors.index.json/x");
  Plan plan = planned->plan;
  options.force = true;
  EXPECT_FALSE(execute(plan, options));
  EXPECT_TRUE(fs::exists(out / ".ckpt-partial.ledger"));
  EXPECT_TRUE(fs::exists(out / "config.json"));
  fs::remove_all(out / "model.safetensors.index.json");
  const auto report = run(into(out), options);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->read_bytes, 0u);
  EXPECT_EQ(listing(out), listing(folder / "copy"));
}

TEST(IntoFolder, AFolderThatIsNotEmptyIsRefused) {
  const TemporaryFolder folder;
  write_file(folder / "notes.txt", "mine");
  Conversion conversion = into(folder.path());
  EXPECT_NE(error_of(conversion).find("exists already"), std::string::npos);
  EXPECT_EQ(listing(folder.path()), "notes.txt\n");
}

}  // namespace
}  // namespace ckpt
