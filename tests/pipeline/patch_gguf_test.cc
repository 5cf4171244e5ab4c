// Patches of GGUF files: keys that change in place, headers that shrink, grow and have slack.
#include <gtest/gtest.h>

#include "tests/pipeline/patch_folder.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
using namespace patch_test;
namespace {

fs::path make_gguf(const TemporaryFolder& folder, uint64_t slack_bytes = 0) {
  Conversion conversion;
  conversion.in = testdata("qwen3-micro");
  conversion.out = folder / "m.gguf";
  conversion.to = "bf16";
  conversion.flags.add("tokenizer-pre", "qwen2");
  conversion.header_slack_bytes = slack_bytes;
  EXPECT_EQ(ckpt::error_of(conversion), "no error");
  return conversion.out;
}

std::string data_of(const fs::path& path) {
  const Checkpoint checkpoint = read(path);
  return read_file(path).substr(checkpoint.tensors[0].stored().parts[0][0].offset_bytes);
}

TEST(PatchGguf, AKeyOfTheSameSizeChangesItsBytesAlone) {
  const TemporaryFolder folder;
  const fs::path path = make_gguf(folder);
  const std::string old = read_file(path);
  const uint64_t inode = stamp(path).inode;
  ASSERT_EQ(error_of(run_patch(path, {"metadata:set=qwen3.context_length=77"})), "no error");
  const std::string now = read_file(path);
  ASSERT_EQ(now.size(), old.size());
  size_t differing = 0;
  for (size_t i = 0; i < now.size(); ++i) differing += now[i] != old[i] ? 1 : 0;
  EXPECT_GE(differing, 1u);
  EXPECT_LE(differing, 4u);
  EXPECT_EQ(stamp(path).inode, inode);
  EXPECT_EQ(read(path).metadata.find_unsigned("qwen3.context_length"), 77u);
  EXPECT_EQ(listing(folder.path()), "m.gguf\n");
}

TEST(PatchGguf, AHeaderThatShrinksAndGrowsAgainStaysInPlace) {
  const TemporaryFolder folder;
  const fs::path path = make_gguf(folder);
  const std::string data = data_of(path);
  const uint64_t size = fs::file_size(path);
  const std::string name = *read(path).metadata.find_text("general.name");
  ASSERT_EQ(error_of(run_patch(path, {"metadata:remove=tokenizer.chat_template"})), "no error");
  EXPECT_EQ(read(path).metadata.find("tokenizer.chat_template"), nullptr);
  EXPECT_EQ(fs::file_size(path), size);
  const std::string longer(200, 'n');
  const auto planned = plan(path, {"metadata:set=general.name=" + longer});
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_EQ(planned->patch.files.size(), 1u);
  EXPECT_EQ(planned->patch.files[0].change, FileChange::kHeader);
  ASSERT_EQ(error_of(run_patch(path, {"metadata:set=general.name=" + longer})), "no error");
  EXPECT_EQ(*read(path).metadata.find_text("general.name"), longer);
  EXPECT_EQ(data_of(path), data);
}

TEST(PatchGguf, AHeaderThatOutgrowsItsRoomKeepsTheTensors) {
  const TemporaryFolder folder;
  const fs::path path = make_gguf(folder);
  const std::string data = data_of(path), longer(9000, 'n');
  ASSERT_EQ(error_of(run_patch(path, {"metadata:set=general.name=" + longer})), "no error");
  EXPECT_EQ(*read(path).metadata.find_text("general.name"), longer);
  EXPECT_EQ(data_of(path), data);
}

TEST(PatchGguf, SlackOfAConversionIsUsed) {
  const TemporaryFolder folder;
  const fs::path path = make_gguf(folder, 4096);
  const auto planned = plan(path, {"metadata:set=my.key=" + std::string(3000, 'v')});
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_EQ(planned->patch.files.size(), 1u);
  EXPECT_EQ(planned->patch.files[0].change, FileChange::kHeader);
}

}  // namespace
}  // namespace ckpt
