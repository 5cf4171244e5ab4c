// Folders as people have them: caches, leftovers of training, adapters.
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

const fs::path& saved() {
  static const fs::path path = testdata("formats/good/folders/saved_whole");
  return path;
}

void copy_saved(const fs::path& to) { fs::copy(saved(), to, fs::copy_options::recursive); }

Checkpoint read_folder(const fs::path& path) {
  const auto format = recognize(path);
  if (!format) {
    ADD_FAILURE() << format.error().text();
    return {};
  }
  auto checkpoint = (*format)->read(path, all_codecs(), {});
  if (!checkpoint) {
    ADD_FAILURE() << checkpoint.error().text();
    return {};
  }
  return std::move(*checkpoint);
}

TEST(HfFolder, ReadsThroughTheLinksOfTheHubsCache) {
  const TemporaryFolder folder;
  const fs::path cache = folder.path() / "models--Some-Org--Tiny-Model";
  const fs::path snapshot = cache / "snapshots" / "0123abcd";
  fs::create_directories(cache / "blobs");
  fs::create_directories(snapshot);
  for (const auto& entry : fs::directory_iterator(saved())) {
    const fs::path blob = "hash-of-" + entry.path().filename().string();
    fs::copy_file(entry.path(), cache / "blobs" / blob);
    fs::create_symlink(fs::path("../../blobs") / blob, snapshot / entry.path().filename());
  }
  const Checkpoint checkpoint = read_folder(snapshot);
  EXPECT_EQ(checkpoint.name, "Tiny-Model");
  EXPECT_EQ(checkpoint.tensors.size(), 21u);
  EXPECT_EQ(checkpoint.documents.size(), 2u);
}

TEST(HfFolder, NameIsTheFoldersHoweverItIsWritten) {
  const TemporaryFolder folder;
  copy_saved(folder.path() / "Some-Model");
  for (const auto path :
       {"Some-Model", "Some-Model/", "Some-Model/.", "Some-Model/../Some-Model"}) {
    EXPECT_EQ(read_folder(folder.path() / path).name, "Some-Model") << path;
  }
}

// NVIDIA's scripts for DeepSeek add scales to the files and leave the index as it was.
TEST(HfFolder, AnIndexNeedNotNameTheScalesBesideAWeight) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  fs::copy(testdata("nvfp4/qwen35-micro-mixed"), path, fs::copy_options::recursive);
  const Checkpoint whole = read_folder(path);
  std::string index;
  size_t left_out = 0;
  for (const Tensor& tensor : whole.tensors) {
    left_out += tensor.has_scales() || tensor.name.ends_with(".input_scale") ? 1 : 0;
    if (tensor.name.ends_with(".input_scale")) continue;
    index += fmt::format("{}\"{}\": \"model.safetensors\"", index.empty() ? "" : ", ", tensor.name);
  }
  ASSERT_GT(left_out, 4u);
  write_file(path / "model.safetensors.index.json", "{\"weight_map\": {" + index + "}}");
  EXPECT_EQ(read_folder(path).tensors.size(), whole.tensors.size());
}

TEST(HfFolder, WhatATrainerLeavesIsNeitherReadNorCarried) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "checkpoint-500";
  copy_saved(path);
  for (const auto name : {"optimizer.pt", "rng_state_0.pth", "scheduler.pt", "trainer_state.json",
                          "training_args.bin", "optimizer.safetensors",
                          "tmp_model.safetensors.part", "global_step500/mp_rank_00_model_states.pt",
                          "zero_to_fp32.py", ".cache/x", "adapter_model.safetensors"}) {
    write_file(path / name, "not to be read");
  }
  const Checkpoint checkpoint = read_folder(path);
  EXPECT_EQ(checkpoint.tensors.size(), 21u);
  ASSERT_EQ(checkpoint.documents.size(), 2u);
  EXPECT_EQ(checkpoint.documents[0].path, "config.json");
  EXPECT_EQ(checkpoint.documents[1].path, "generation_config.json");
}

TEST(HfFolder, DocumentsComeWholeAndSorted) {
  const TemporaryFolder folder;
  copy_saved(folder.path() / "m");
  const std::string binary("\0\xff\x01", 3);
  write_file(folder.path() / "m/tokenizer.model", binary);
  write_file(folder.path() / "m/additional_chat_templates/tools.jinja", "{{ x }}");
  write_file(folder.path() / "m/additional_chat_templates/notes.txt", "no");
  write_file(folder.path() / "m/1_Pooling/config.json", "{}");
  write_file(folder.path() / "m/LICENSE", "text");
  const Checkpoint checkpoint = read_folder(folder.path() / "m");
  std::vector<std::string> paths;
  for (const Document& document : checkpoint.documents) paths.push_back(document.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"1_Pooling/config.json", "LICENSE",
                                             "additional_chat_templates/tools.jinja", "config.json",
                                             "generation_config.json", "tokenizer.model"}));
  EXPECT_EQ(checkpoint.find_document("tokenizer.model")->text(), binary);
}

TEST(HfFolder, AnAdapterIsReadWhenItIsAllThereIs) {
  const TemporaryFolder folder;
  const fs::path weights = saved() / "model.safetensors";
  fs::copy_file(weights, folder.path() / "adapter_model.safetensors");
  EXPECT_EQ(read_folder(folder.path()).tensors.size(), 21u);
  fs::rename(folder.path() / "adapter_model.safetensors", folder.path() / "weights.safetensors");
  EXPECT_EQ(read_folder(folder.path()).tensors[0].home, "weights.safetensors");
}

TEST(HfFolder, ShardsMayBeInSubfoldersAndCalledAnything) {
  const TemporaryFolder folder;
  const fs::path weights = testdata("formats/good/folders/uncut/model.safetensors");
  fs::create_directories(folder.path() / "weights");
  fs::copy_file(weights, folder.path() / "weights/part one.safetensors");
  std::string map;
  for (const char name : std::string("abcdefgh")) {
    map += fmt::format("{}\"{}\": \"weights/part one.safetensors\"", map.empty() ? "" : ", ", name);
  }
  write_file(folder.path() / "model.safetensors.index.json",
             "{\"metadata\": {\"total_size\": 1.5e3, \"by\": \"me\", \"more\": [1, {\"x\": null}]},"
             " \"extra\": true, \"weight_map\": {" +
                 map + "}}");
  const Checkpoint checkpoint = read_folder(folder.path());
  EXPECT_EQ(checkpoint.tensors.size(), 8u);
  const auto layout = find_format("safetensors")->lay_out(checkpoint, {}, all_codecs());
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->files.size(), 2u);
  EXPECT_EQ(layout->files[0].path, "weights/part one.safetensors");
  EXPECT_TRUE(render({}, layout->files[1])
                  .starts_with(
                      "{\n  \"metadata\": {\n    \"by\": \"me\",\n    \"total_size\": 4704\n  },"));
}

TEST(HfFolder, TotalParametersFollowTheTensorsOnceTheyChange) {
  Checkpoint checkpoint = read_folder(testdata("formats/good/folders/saved_in_shards"));
  checkpoint.tensors.pop_back();
  const auto layout = find_format("safetensors")->lay_out(checkpoint, {}, all_codecs());
  ASSERT_TRUE(layout);
  uint64_t values = 0;
  for (const Tensor& tensor : checkpoint.tensors) values += tensor.values();
  for (const OutputFile& file : layout->files) {
    if (!file.path.ends_with(".json") || file.path.starts_with("config")) continue;
    if (file.path.starts_with("generation")) continue;
    EXPECT_TRUE(render({}, file).starts_with(
        fmt::format("{{\n  \"metadata\": {{\n    \"total_parameters\": {},\n    "
                    "\"total_size\": {}\n",
                    values, 2 * values)));
  }
}

TEST(HfFolder, RecognizeReportsTheFilesThatExist) {
  EXPECT_EQ((*recognize(saved()))->name, "safetensors");
  EXPECT_EQ((*recognize(saved() / "model.safetensors"))->name, "safetensors");
  EXPECT_EQ((*recognize(testdata("formats/good/gguf/types.gguf")))->name, "gguf");
  const TemporaryFolder folder;
  // Copies the files without their endings, as blobs of a cache are.
  fs::copy_file(saved() / "model.safetensors", folder.path() / "blob1");
  fs::copy_file(testdata("formats/good/gguf/types.gguf"), folder.path() / "blob2");
  EXPECT_EQ((*recognize(folder.path() / "blob1"))->name, "safetensors");
  EXPECT_EQ((*recognize(folder.path() / "blob2"))->name, "gguf");
  const auto nothing = recognize(folder.path() / "nothing");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kUsage);
  fs::create_directory(folder.path() / "empty");
  EXPECT_NE(recognize(folder.path() / "empty").error().what.find("an empty folder"),
            std::string::npos);
  EXPECT_EQ(find_format("onnx"), nullptr);
  EXPECT_EQ(all_formats().size(), 2u);
}

}  // namespace
}  // namespace ckpt
