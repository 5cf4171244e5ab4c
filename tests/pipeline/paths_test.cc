// What others say about paths, in journals, indexes and steps, never leads out of the folder.
#include <fcntl.h>

#include "core/journal.h"
#include "tests/pipeline/pipeline.h"
#include "tools/patching.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

// A folder `m` with a link `up` to `outside`, where the victim lies.
class PathsTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "outside");
    write_file(folder_ / "outside/victim", "precious");
    write_file(folder_ / "outside/0", "staged by somebody");
    fs::create_directories(folder_ / "m");
    fs::create_directory_symlink(folder_ / "outside", folder_ / "m/up");
  }
  void expect_outside_as_it_was() {
    EXPECT_EQ(listing(folder_ / "outside"), "0\nvictim\n");
    EXPECT_EQ(file_text(folder_ / "outside/victim"), "precious");
  }
  // As a downloaded folder may have it.
  void plant_journal(const std::string& line) {
    const fs::path staging = staging_of(folder_ / "m");
    fs::remove_all(staging);
    fs::create_directories(staging / "files");
    write_file(staging / "files/0", "planted");
    write_file(staging / "journal", "ckpt-patch 1\n" + line + "\nend\n");
  }
  TemporaryFolder folder_;
};

TEST_F(PathsTest, AJournalDoesNotReachThroughLinks) {
  for (const char* line : {"replace 0 up/victim", "replace 0 up/new", "remove up/victim",
                           "header 0 8 up/victim", "insert 0 8 4104 up/victim"}) {
    plant_journal(line);
    const auto done = recover_patch(folder_ / "m");
    ASSERT_FALSE(done) << line;
    EXPECT_NE(done.error().text().find("a link stands there"), std::string::npos)
        << done.error().text();
    expect_outside_as_it_was();
  }
}

TEST_F(PathsTest, AJournalTakesNothingFromElsewhere) {
  plant_journal("replace 0 taken");
  const fs::path files = staging_of(folder_ / "m") / "files";
  fs::remove_all(files);
  fs::create_directory_symlink(folder_ / "outside", files);
  EXPECT_FALSE(recover_patch(folder_ / "m"));
  EXPECT_FALSE(fs::exists(folder_ / "m/taken"));
  expect_outside_as_it_was();
}

TEST_F(PathsTest, AJournalDoesNotWriteOverAFileWithASecondName) {
  write_file(folder_ / "outside/victim", "precious");
  fs::create_hard_link(folder_ / "outside/victim", folder_ / "m/same");
  plant_journal("header 0 8 same");
  EXPECT_FALSE(recover_patch(folder_ / "m"));
  expect_outside_as_it_was();
}

TEST_F(PathsTest, ALinkForAStagingFolderIsNotUsed) {
  fs::create_directory_symlink(folder_ / "outside", staging_of(folder_ / "m"));
  EXPECT_FALSE(StagingLock::take(folder_ / "m", true));
  expect_outside_as_it_was();
}

TEST_F(PathsTest, DocumentsOfAConversionStayInside) {
  for (const char* file : {"../outside/victim", "/etc/ckpt-test", "a/../../outside/victim"}) {
    Conversion conversion;
    conversion.in = testdata("llama-micro");
    conversion.out = folder_ / "out";
    conversion.steps = {fmt::format("config:set=a=1,file={}", file)};
    EXPECT_NE(error_of(conversion), "no error") << file;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
  expect_outside_as_it_was();
}

}  // namespace
}  // namespace ckpt
