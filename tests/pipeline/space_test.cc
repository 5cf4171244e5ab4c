// Room for all outputs is asked for before one byte is written, and what is removed was named.
#include "core/outputs/space.h"

#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fstream>

#include "core/base/sha256.h"
#include "core/io/folder.h"
#include "core/io/remembered.h"
#include "core/outputs/file_writer.h"
#include "core/outputs/place.h"
#include "plan/conversion/targets.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Output folder_output(const fs::path& path, const std::vector<uint64_t>& sizes) {
  Output output;
  output.path = path;
  output.layout.is_folder = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    OutputFile file;
    file.path = fmt::format("file-{}", i);
    file.size_bytes = sizes[i];
    output.layout.files.push_back(std::move(file));
  }
  return output;
}

TEST(Space, OutputsOfOneFileSystemAreAskedForTogether) {
  const TemporaryFolder folder;
  Plan plan;
  plan.outputs.push_back(folder_output(folder / "a", {1000, 2000}));
  plan.outputs.push_back(folder_output(folder / "b", {4000}));
  const auto needs = space_needs(plan, Leftovers::kKeep);
  ASSERT_EQ(needs.size(), 1u);
  EXPECT_EQ(needs[0].needed_bytes, 7000u);
  plan.outputs[0].layout.files[0].size_bytes = uint64_t{1} << 60;
  const Status found = check_space(plan, Leftovers::kKeep);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kIo);
  EXPECT_NE(found.error().text().find("the outputs need "),
            std::string::npos)
      << found.error().text();
}

TEST(Space, WhatAnEarlierRunWroteCounts) {
  const TemporaryFolder folder;
  Plan plan;
  plan.outputs.push_back(folder_output(folder / "a", {1 << 20}));
  fs::create_directory(folder / "a.partial");
  std::ofstream(folder / "a.partial" / "file-0") << std::string(1 << 19, 'x');
  ::sync();
  EXPECT_LE(space_needs(plan, Leftovers::kKeep)[0].needed_bytes, uint64_t{1} << 19);
  EXPECT_LE(space_needs(plan, Leftovers::kRemove)[0].needed_bytes, uint64_t{1} << 19);
  EXPECT_TRUE(space_needs(plan, Leftovers::kPublish).empty());
}

TEST(Space, ARunThatDoesNotFitTakesNothingOfTheDisk) {
  const TemporaryFolder folder;
  if (::geteuid() != 0 || ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
    GTEST_SKIP() << "needs the right to mount a small tmpfs";
  }
  Plan plan;
  plan.outputs.push_back(folder_output(folder / "a", {3 << 20}));
  plan.outputs.push_back(folder_output(folder / "b", {3 << 20}));
  const Status found = check_space(plan, Leftovers::kRemove);
  struct statvfs space{};
  ::statvfs(folder.path().c_str(), &space);
  ::umount(folder.path().c_str());
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().text().find("need 6.29 MB and 4.19 MB are free"), std::string::npos)
      << found.error().text();
  EXPECT_EQ(space.f_bfree, space.f_blocks);
}

TEST(Replacing, RemovesWhatWasListedAndKeepsWhatCameSince) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "out/sub/deep");
  for (const char* name : {"old", "sub/old", "sub/deep/thesis"}) {
    std::ofstream(folder / "out" / name) << name;
  }
  Output output = folder_output(folder / "out", {0});
  output.replaced = {"old", "sub/old"};
  auto place = Place::make(output, true);
  ASSERT_TRUE(place) << place.error().text();
  ASSERT_TRUE(place->make_file(output.layout.files[0], FileMode{}.open_flags()));
  const auto note = place->publish();
  ASSERT_TRUE(note) << note.error().text();
  EXPECT_EQ(listing(folder.path()),
            "out\nout.replaced\nout.replaced/sub\nout.replaced/sub/deep\n"
            "out.replaced/sub/deep/thesis\nout/file-0\n");
  EXPECT_NE(note->find("out.replaced: holds what came into"), std::string::npos) << *note;
}

TEST(Replacing, LeavesNothingWhereAllWasListed) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "out/sub");
  std::ofstream(folder / "out/sub/old") << "old";
  Output output = folder_output(folder / "out", {0});
  output.replaced = {"sub/old"};
  auto place = Place::make(output, true);
  ASSERT_TRUE(place);
  ASSERT_TRUE(place->make_file(output.layout.files[0], FileMode{}.open_flags()));
  const auto note = place->publish();
  ASSERT_TRUE(note);
  EXPECT_EQ(*note, "");
  EXPECT_FALSE(fs::exists(folder / "out.replaced"));
  EXPECT_FALSE(fs::exists(folder / "out.partial"));
}

// Cards too: those that ckpt wrote go, those that people wrote or changed stay.
TEST(Replacing, ADocumentThatWasChangedSinceCkptWroteItStays) {
  const TemporaryFolder folder;
  fs::copy(testdata("llama-micro"), folder / "out");
  std::ofstream(folder / "out/README.md") << "made";
  for (const char* name : {"config.json", "README.md"}) {
    remember_digest(folder / "out" / name, sha256_of(read_file(folder / "out" / name)));
  }
  if (!remembered_digest(folder / "out/config.json")) {
    GTEST_SKIP() << "no extended attributes here";
  }
  const Output output = folder_output(folder / "out", {});
  const auto gone = replaceable_files(output, {});
  ASSERT_TRUE(gone) << gone.error().text();
  EXPECT_EQ(std::count(gone->begin(), gone->end(), "README.md"), 1);
  std::ofstream(folder / "out/config.json", std::ios::app) << "\n";
  std::ofstream(folder / "out/README.md", std::ios::app) << "by hand";
  const auto refused = replaceable_files(output, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("README.md (changed since ckpt wrote it), config.json "
                                        "(changed since ckpt wrote it)"),
            std::string::npos)
      << refused.error().text();
}

TEST(Leftovers, OfSomebodyElseAreNotRemovedByWorkWithoutALedger) {
  const TemporaryFolder folder;
  const Output output = folder_output(folder / "out", {8});
  EXPECT_TRUE(check_temporary_folder(output));
  fs::create_directories(folder / "out.partial/.written");
  std::ofstream(folder / "out.partial/file-0") << "mine";
  EXPECT_TRUE(check_temporary_folder(output));
  std::ofstream(folder / "out.partial.ledger") << "work";
  EXPECT_FALSE(check_temporary_folder(output));
  fs::remove(folder / "out.partial.ledger");
  std::ofstream(folder / "out.partial/thesis") << "work";
  const Status found = check_temporary_folder(output);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().text().find("it holds thesis"), std::string::npos);
  fs::remove_all(folder / "out.partial");
  std::ofstream(folder / "out.partial") << "a file";
  EXPECT_FALSE(check_temporary_folder(output));
}

}  // namespace
}  // namespace ckpt
