// Names below a folder: none of them leads out of it, whoever puts links where.
#include "core/io/open_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr int kNewFile = O_WRONLY | O_CREAT | O_EXCL;

// With openat2, and as on a kernel without it.
class OpenFolderTest : public testing::TestWithParam<Resolver> {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "in/sub");
    fs::create_directories(folder_ / "outside");
    write_file(folder_ / "outside/victim", "precious");
  }
  OpenFolder open() {
    auto opened = OpenFolder::open(folder_ / "in", false, GetParam());
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  void expect_outside_as_it_was() {
    EXPECT_EQ(listing(folder_ / "outside"), "victim\n");
    EXPECT_EQ(read_file(folder_ / "outside/victim"), "precious");
  }
  TemporaryFolder folder_;
};

TEST_P(OpenFolderTest, MakesRenamesAndRemovesBelow) {
  const OpenFolder in = open();
  ASSERT_TRUE(in.make_folder("a/b/c"));
  ASSERT_TRUE(in.make_folder("a/b/c"));
  {
    const auto file = in.open_file("a/b/c/file", kNewFile);
    ASSERT_TRUE(file) << file.error().text();
    ASSERT_EQ(::write(file->get(), "x", 1), 1);
  }
  EXPECT_FALSE(in.open_file("a/b/c/file", kNewFile));
  ASSERT_TRUE(in.rename("a/b/c/file", "sub/file"));
  EXPECT_EQ(in.has("sub/file").value(), true);
  EXPECT_EQ(in.has("a/b/c/file").value(), false);
  EXPECT_TRUE(in.sync("sub"));
  EXPECT_EQ(read_file(folder_ / "in/sub/file"), "x");
  ASSERT_TRUE(in.remove("sub/file"));
  ASSERT_TRUE(in.remove("sub/file"));
  EXPECT_EQ(in.has("sub/file").value(), false);
}

TEST_P(OpenFolderTest, NamesThatLeaveAreRefused) {
  const OpenFolder in = open();
  const std::string absolute = (folder_ / "outside/victim").string();
  for (const std::string& name :
       {std::string("../outside/victim"), std::string("sub/../../x"), absolute, std::string(".."),
        std::string(), std::string("sub/")}) {
    EXPECT_FALSE(in.open_file(name, O_WRONLY)) << name;
    EXPECT_FALSE(in.open_file(name, kNewFile)) << name;
    EXPECT_FALSE(in.make_folder(name)) << name;
    EXPECT_FALSE(in.remove(name)) << name;
    EXPECT_FALSE(in.rename("sub", name)) << name;
  }
  expect_outside_as_it_was();
}

TEST_P(OpenFolderTest, LinksAreNotFollowed) {
  fs::create_directory_symlink("../outside", folder_ / "in/up");
  fs::create_symlink("../outside/victim", folder_ / "in/file");
  fs::create_symlink("sub", folder_ / "in/within");
  write_file(folder_ / "in/mine", "mine");
  const OpenFolder in = open();
  for (const char* name : {"up/victim", "up/new", "within/new", "file"}) {
    const auto opened = in.open_file(name, O_WRONLY | O_CREAT);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt) << opened.error().text();
    EXPECT_NE(opened.error().text().find("a link is in the way"), std::string::npos);
  }
  EXPECT_FALSE(in.make_folder("up/folder"));
  EXPECT_FALSE(in.rename("mine", "up/victim"));
  EXPECT_FALSE(in.rename("up/victim", "taken"));
  EXPECT_FALSE(in.remove("up/victim"));
  expect_outside_as_it_was();
  ASSERT_TRUE(in.rename("mine", "file"));  // the link gives its name up
  EXPECT_EQ(read_file(folder_ / "in/file"), "mine");
  ASSERT_TRUE(in.remove("up"));  // and so does this one
  expect_outside_as_it_was();
}

TEST_P(OpenFolderTest, FoldersThatAreSwappedForLinksLeadNowhere) {
  const OpenFolder in = open();
  fs::remove(folder_ / "in/sub");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "in/sub");
  EXPECT_FALSE(in.open_file("sub/new", kNewFile));
  EXPECT_FALSE(in.make_folder("sub/new"));
  expect_outside_as_it_was();
}

TEST_P(OpenFolderTest, TheFolderItselfIsHeldWhateverTakesItsName) {
  const OpenFolder in = open();
  fs::rename(folder_ / "in", folder_ / "moved");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "in");
  ASSERT_TRUE(in.open_file("new", kNewFile));
  EXPECT_EQ(listing(folder_ / "moved"), "new\nsub\n");
  expect_outside_as_it_was();
  EXPECT_FALSE(OpenFolder::open(folder_ / "in", true, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Both, OpenFolderTest, testing::Values(Resolver::kKernel, Resolver::kSteps),
                         [](const auto& each) {
                           return each.param == Resolver::kKernel ? "Kernel" : "Steps";
                         });

}  // namespace
}  // namespace ckpt
