// Patching in place: what is touched and what is not; and patched copies elsewhere.
#include "core/patch/patch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "plan/conversion/patching.h"
#include "tests/pipeline/patch_folder.h"

namespace ckpt {
using namespace patch_test;
namespace {

// ---- what is touched ---------------------------------------------------------------------------

const PatchedFile* find(const Patch& patch, const std::string& path) {
  for (const PatchedFile& file : patch.files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

TEST(Patch, ADocumentChangesAndNothingElseIsTouched) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const Stamp shard = stamp(folder / "m" / kShard1), index = stamp(folder / "m" / kIndex);
  ASSERT_EQ(error_of(run_patch(folder / "m", {"config:set=layers=3"})), "no error");
  EXPECT_EQ(read_file(folder / "m" / "config.json"),
            "{\n    \"eps\": 1e-06,\n    \"layers\": 3\n}\n");
  EXPECT_EQ(stamp(folder / "m" / kShard1), shard);
  EXPECT_EQ(stamp(folder / "m" / kIndex), index);
  EXPECT_FALSE(fs::exists(folder / "m" / "SHA256SUMS"));
  EXPECT_EQ(read_file(folder / "m" / "notes.txt"), "not ours");
  EXPECT_FALSE(fs::exists(staging_of(folder / "m")));
}

TEST(Patch, DocumentsArePatchedWhereWeightsCannotBeRead) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  write_file(folder / "m" / kShard1, "no header at all");
  EXPECT_EQ(error_of(run_patch(folder / "m", {"config:set=layers=3"})), "no error");
  EXPECT_EQ(read_file(folder / "m" / kShard1), "no header at all");
}

TEST(Patch, DoesNotWriteUnchangedFiles) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const auto before = snapshot(folder / "m");
  const Stamp config = stamp(folder / "m" / "config.json"), itself = stamp(folder / "m");
  const auto planned = plan(folder / "m", {"config:set=layers=2", "metadata:set=format=pt"});
  ASSERT_TRUE(planned) << planned.error().text();
  EXPECT_TRUE(planned->patch.changes_nothing());
  ASSERT_EQ(error_of(run_patch(folder / "m", {"config:set=layers=2", "metadata:set=format=pt"})),
            "no error");
  EXPECT_EQ(snapshot(folder / "m"), before);
  EXPECT_EQ(stamp(folder / "m" / "config.json"), config);
  EXPECT_EQ(stamp(folder / "m"), itself);
}

TEST(Patch, AShorterNameOverwritesTheHeaderAndMovesNothing) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const Stamp other = stamp(folder / "m" / kShard2);
  const auto planned = plan(folder / "m", {"rename:from=model.,to=m."});
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_NE(find(planned->patch, kShard1), nullptr);
  EXPECT_EQ(find(planned->patch, kShard1)->change, FileChange::kHeader);
  EXPECT_EQ(find(planned->patch, kShard2), nullptr);
  const std::string old = read_file(folder / "m" / kShard1);
  const uint64_t inode = stamp(folder / "m" / kShard1).inode;
  ASSERT_EQ(error_of(run_patch(folder / "m", {"rename:from=model.,to=m."})), "no error");
  EXPECT_EQ(stamp(folder / "m" / kShard1).inode, inode);
  EXPECT_EQ(stamp(folder / "m" / kShard2), other);
  const std::string now = read_file(folder / "m" / kShard1);
  ASSERT_EQ(now.size(), old.size());
  EXPECT_EQ(now.substr(now.size() - 128), old.substr(old.size() - 128));
  const std::map<std::string, int> expected{
      {"lm_head.weight", 3}, {"m.a.weight", 2}, {"m.b.weight", 1}};
  EXPECT_EQ(fills(folder / "m"), expected);  // its reader also holds the index against the files
}

TEST(Patch, SlackTakesALongerName) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m", 512);
  const auto planned = plan(folder / "m", {"rename:from=model.,to=model.language_model."});
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_NE(find(planned->patch, kShard1), nullptr);
  EXPECT_EQ(find(planned->patch, kShard1)->change, FileChange::kHeader);
}

TEST(Patch, AHeaderThatGrowsKeepsTheBytes) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const std::string to = "model." + std::string(300, 'x') + ".";
  ASSERT_EQ(error_of(run_patch(folder / "m", {"rename:from=model.,to=" + to})), "no error");
  const std::map<std::string, int> expected{
      {"lm_head.weight", 3}, {to + "a.weight", 2}, {to + "b.weight", 1}};
  EXPECT_EQ(fills(folder / "m"), expected);
}

TEST(Patch, ADroppedTensorLeavesFilesAndIndex) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  ASSERT_EQ(error_of(run_patch(folder / "m", {"drop:tensors=lm_head.*"})), "no error");
  EXPECT_FALSE(fs::exists(folder / "m" / kShard2));
  const std::map<std::string, int> expected{{"model.a.weight", 2}, {"model.b.weight", 1}};
  EXPECT_EQ(fills(folder / "m"), expected);
  EXPECT_NE(read_file(folder / "m" / kIndex).find("\"total_size\": 128"), std::string::npos);
  ASSERT_EQ(error_of(run_patch(folder / "m", {"drop:tensors=*.b.weight"})), "no error");
  const std::map<std::string, int> left{{"model.a.weight", 2}};
  EXPECT_EQ(fills(folder / "m"), left);
}

TEST(Patch, GraftedTensorsHaveAFileOfTheirOwn) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  fs::create_directories(folder / "other");
  write_file(folder / "other" / "model.safetensors",
             safetensors("\"format\":\"pt\"", {{"mtp.fc.weight", 9}, {"lm_head.weight", 8}}));
  const Stamp shard = stamp(folder / "m" / kShard1);
  const std::string from = "from=" + (folder / "other").string();
  ASSERT_EQ(error_of(run_patch(folder / "m", {"graft:" + from + ",tensors=mtp.*"})), "no error");
  EXPECT_EQ(stamp(folder / "m" / kShard1), shard);
  std::map<std::string, int> expected{
      {"lm_head.weight", 3}, {"model.a.weight", 2}, {"model.b.weight", 1}, {"mtp.fc.weight", 9}};
  EXPECT_EQ(fills(folder / "m"), expected);
  EXPECT_TRUE(fs::exists(folder / "m" / "model-grafted.safetensors"));
  const auto before = snapshot(folder / "m");
  EXPECT_NE(error_of(run_patch(folder / "m", {"graft:" + from + ",tensors=lm_head.weight"}))
                .find("is in both"),
            std::string::npos);
  const std::string replaced = "graft:" + from + ",tensors=lm_head.weight,replace=yes";
  EXPECT_NE(error_of(run_patch(folder / "m", {replaced})).find("changes the values of tensor"),
            std::string::npos);
  EXPECT_EQ(snapshot(folder / "m"), before);
  ASSERT_EQ(error_of(run_patch(folder / "m", {replaced}, true)), "no error");
  expected["lm_head.weight"] = 8;
  EXPECT_EQ(fills(folder / "m"), expected);
}

TEST(Patch, ValuesChangeOnlyWhenAskedFor) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const auto before = snapshot(folder / "m");
  EXPECT_NE(error_of(run_patch(folder / "m", {"cast:type=f32"})).find("--rewrite-weights"),
            std::string::npos);
  EXPECT_EQ(snapshot(folder / "m"), before);
  EXPECT_EQ(error_of(run_patch(folder / "m", {"cast:type=bf16"})), "no error");  // is bf16 already
  EXPECT_EQ(snapshot(folder / "m"), before);
  ASSERT_EQ(error_of(run_patch(folder / "m", {"cast:type=f32"}, true)), "no error");
  for (const Tensor& tensor : read(folder / "m").tensors) EXPECT_EQ(tensor.codec->name, "f32");
}

// ---- other names of the same bytes -------------------------------------------------------------

TEST(Patch, FilesBehindLinksAreNotWritten) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "blobs");
  const fs::path m = folder / "snapshots/m";  // as the hub's cache has them
  fs::create_directories(m);
  for (const auto& [name, content] : snapshot(folder / "blobs")) {
    fs::create_symlink(folder / "blobs" / name, m / name);
  }
  const auto blobs = snapshot(folder / "blobs");
  ASSERT_EQ(error_of(run_patch(m, {"rename:from=model.,to=m.", "config:set=layers=3"})),
            "no error");
  EXPECT_EQ(snapshot(folder / "blobs"), blobs);
  EXPECT_FALSE(fs::is_symlink(m / kShard1));
  EXPECT_TRUE(fs::is_symlink(m / kShard2));
  EXPECT_FALSE(fs::is_symlink(m / "config.json"));
  EXPECT_EQ(fills(m).count("m.a.weight"), 1u);
}

TEST(Patch, FilesWithASecondNameAreNotWrittenOver) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  fs::create_hard_link(folder / "m" / kShard1, folder / "second");
  const std::string old = read_file(folder / "second");
  ASSERT_EQ(error_of(run_patch(folder / "m", {"rename:from=model.,to=m."})), "no error");
  EXPECT_EQ(read_file(folder / "second"), old);
  EXPECT_EQ(fills(folder / "m").count("m.a.weight"), 1u);
}

TEST(Patch, ReportsCircularLinks) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  fs::remove(folder / "m" / "config.json");
  fs::create_symlink("config.json", folder / "m" / "config.json");
  const auto before = snapshot(folder / "m");
  EXPECT_NE(error_of(run_patch(folder / "m", {"config:set=layers=3"})).find("cannot be opened"),
            std::string::npos);
  EXPECT_EQ(snapshot(folder / "m"), before);
}

// ---- where nobody may write ---------------------------------------------------------------------

TEST(Patch, AFolderOfSomebodyElseStaysAsItIs) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  fs::permissions(folder.path(), fs::perms(0755));
  const auto before = snapshot(folder / "m");
  for (const char* step : {"config:set=layers=3", "rename:from=model.,to=m."}) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
      const std::string error = error_of(run_patch(folder / "m", {step}));
      (void)!::write(pipe[1], error.data(), error.size());
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    char text[500] = {};
    EXPECT_GT(::read(pipe[0], text, sizeof text - 1), 0);
    ::close(pipe[0]);
    ::close(pipe[1]);
    EXPECT_NE(std::string(text).find("Permission denied. Try: --out"), std::string::npos) << text;
    EXPECT_EQ(snapshot(folder / "m"), before);
  }
}

// ---- elsewhere ---------------------------------------------------------------------------------

TEST(PatchOut, LinksWhatStaysAndLeavesThePatchedOneAlone) {
  const TemporaryFolder folder;
  make_checkpoint(folder / "m");
  const auto before = snapshot(folder / "m");
  PatchRequest patching;
  patching.path = folder / "m";
  patching.elsewhere = true;
  patching.steps = *parse_steps({"rename:from=model.,to=m.", "config:set=layers=3"});
  for (const LinkWay way : {LinkWay::kReflink, LinkWay::kHard, LinkWay::kCopy}) {
    const auto planned = plan_patching(patching);
    ASSERT_TRUE(planned) << planned.error().text();
    const fs::path out = folder / fmt::format("out{}", static_cast<int>(way));
    const auto report = write_patched(planned->patch, out, way, {});
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(snapshot(folder / "m"), before);
    const std::map<std::string, int> expected{
        {"lm_head.weight", 3}, {"m.a.weight", 2}, {"m.b.weight", 1}};
    EXPECT_EQ(fills(out), expected);
    EXPECT_FALSE(fs::exists(out / "SHA256SUMS"));
    EXPECT_EQ(fs::equivalent(out / kShard2, folder / "m" / kShard2), way == LinkWay::kHard);
    EXPECT_EQ(listing(folder.path()).find("partial"), std::string::npos);
  }
  // A second patch, of the one with hard links, must not reach through them.
  ASSERT_EQ(error_of(run_patch(folder / "out1", {"rename:from=lm_head.,to=head."})), "no error");
  EXPECT_EQ(snapshot(folder / "m"), before);
}

}  // namespace
}  // namespace ckpt
