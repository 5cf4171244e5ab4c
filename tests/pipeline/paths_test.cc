// Paths from journals, indexes and steps never lead out of the folder.
#include <fcntl.h>

#include "core/outputs/file_writer.h"
#include "core/outputs/place.h"
#include "core/patch/journal.h"
#include "core/resume/ledger.h"
#include "tests/pipeline/pipeline.h"

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
    EXPECT_EQ(read_file(folder_ / "outside/victim"), "precious");
  }
  // As a patch of another version may have left it: what the lines do is still held to the folder.
  void plant_journal(const std::string& line) {
    const fs::path staging = staging_of(folder_ / "m");
    fs::remove_all(staging);
    fs::create_directories(staging / "files");
    write_file(staging / "files/0", "planted");
    const std::string lines = line + "\nend\n";
    const auto of = digest_of_journal(folder_ / "m", lines);
    ASSERT_TRUE(of);
    write_file(staging / "journal", "ckpt-patch 3\nof " + *of + "\n" + lines);
  }
  Result<PatchState> recover() {
    return recover_patch(folder_ / "m", [](const std::string&) { return true; });
  }
  TemporaryFolder folder_;
};

TEST_F(PathsTest, AJournalDoesNotReachThroughLinks) {
  for (const char* line : {"replace 0 7 up/victim", "replace 0 7 up/new", "remove up/victim",
                           "header 0 7 8 up/victim", "insert 0 7 8 4104 up/victim"}) {
    plant_journal(line);
    const auto done = recover();
    ASSERT_FALSE(done) << line;
    EXPECT_NE(done.error().text().find("a link is in the way"), std::string::npos)
        << done.error().text();
    expect_outside_as_it_was();
  }
}

TEST_F(PathsTest, AJournalTakesNothingFromElsewhere) {
  plant_journal("replace 0 7 taken");
  const fs::path files = staging_of(folder_ / "m") / "files";
  fs::remove_all(files);
  fs::create_directory_symlink(folder_ / "outside", files);
  EXPECT_FALSE(recover());
  EXPECT_FALSE(fs::exists(folder_ / "m/taken"));
  expect_outside_as_it_was();
}

TEST_F(PathsTest, AJournalDoesNotWriteOverAFileWithASecondName) {
  write_file(folder_ / "outside/victim", "precious");
  fs::create_hard_link(folder_ / "outside/victim", folder_ / "m/same");
  plant_journal("header 0 7 8 same");
  EXPECT_FALSE(recover());
  expect_outside_as_it_was();
}

TEST_F(PathsTest, ALinkForAStagingFolderIsNotUsed) {
  fs::create_directory_symlink(folder_ / "outside", staging_of(folder_ / "m"));
  EXPECT_FALSE(lock_staging(folder_ / "m", true));
  expect_outside_as_it_was();
}

// ---- outputs ------------------------------------------------------------------------------------

Output output_with(const fs::path& path, const std::string& name) {
  Output output{path, {}, {}};
  output.layout.is_folder = true;
  OutputFile& file = output.layout.files.emplace_back();
  file.path = name;
  file.header.resize(8);
  file.size_bytes = 8;
  return output;
}

TEST_F(PathsTest, ALinkInAnUnfinishedOutputIsNotFollowed) {
  fs::create_directories(folder_ / "out.partial");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "out.partial/sub");
  fs::create_symlink(folder_ / "outside/victim", folder_ / "out.partial/file");
  for (const char* name : {"sub/new", "sub/victim", "file"}) {
    const Output output = output_with(folder_ / "out", name);
    auto place = Place::make(output, false, Leftovers::kKeep);
    ASSERT_TRUE(place) << place.error().text();
    const auto file = place->make_file(output.layout.files[0], FileMode{true}.open_flags());
    ASSERT_FALSE(file) << name;
    EXPECT_NE(file.error().text().find("a link is in the way"), std::string::npos);
    place->keep();
  }
  expect_outside_as_it_was();
}

TEST_F(PathsTest, ALinkInPlaceOfAnUnfinishedOutputIsNotFollowed) {
  fs::create_directory_symlink(folder_ / "outside", folder_ / "out.partial");
  const Output output = output_with(folder_ / "out", "new");
  EXPECT_FALSE(Place::make(output, false, Leftovers::kKeep));
  expect_outside_as_it_was();
  EXPECT_TRUE(Place::make(output, false));  // a stale temporary: the link itself goes
  expect_outside_as_it_was();
}

TEST_F(PathsTest, AFolderSwappedWhileItIsFilledLeadsNowhere) {
  const Output output = output_with(folder_ / "out", "sub/new");
  auto place = Place::make(output, false);
  ASSERT_TRUE(place);
  ASSERT_TRUE(place->make_file(output.layout.files[0], FileMode{}.open_flags()));
  fs::remove_all(folder_ / "out.partial/sub");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "out.partial/sub");
  EXPECT_FALSE(place->make_file(output.layout.files[0], FileMode{}.open_flags()));
  expect_outside_as_it_was();
}

TEST_F(PathsTest, DoesNotResumeAHardLinkedFile) {
  fs::create_directories(folder_ / "out.partial");
  fs::create_hard_link(folder_ / "outside/victim", folder_ / "out.partial/file");
  const auto mode = fs::perms::owner_read | fs::perms::owner_write;
  fs::permissions(folder_ / "outside/victim", mode);
  const Output output = output_with(folder_ / "out", "file");
  auto place = Place::make(output, false, Leftovers::kKeep);
  ASSERT_TRUE(place);
  auto file = place->make_file(output.layout.files[0], FileMode{true}.open_flags());
  ASSERT_TRUE(file);
  BufferPool pool;
  EXPECT_FALSE(FileWriter::create(std::move(*file), 8, pool, FileMode{true}));
  EXPECT_EQ(fs::status(folder_ / "outside/victim").permissions(), mode);
  expect_outside_as_it_was();
}

TEST_F(PathsTest, ALedgerThatIsAnotherFileIsNotEmptied) {
  fs::create_hard_link(folder_ / "outside/victim", folder_ / "out.partial.ledger");
  EXPECT_FALSE(Ledger::open(folder_ / "out.partial.ledger"));
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
