// Artifacts against the bytes that registries' own clients wrote or took.
#include "publish/artifact.h"

#include <gtest/gtest.h>

#include "core/base/sha256.h"

namespace ckpt {
namespace {

ArtifactLayer layer(const std::string& path, const std::string& content) {
  return {modelpack_type(path), sha256_of(content), content.size(), path};
}

// A manifest and a config that modctl and oras pulled by name.
TEST(ModelPack, HasTheBytesThatModctlAndOrasTake) {
  const std::vector<ArtifactLayer> layers{
      layer("config.json", "{\"model_type\":\"demo\"}\n"),
      layer("model.safetensors", std::string("\x08\0\0\0\0\0\0\0{}      ", 16)),
      layer("README.md", "# Tiny\n"), layer("sub/a.json", "{}\n")};
  const std::string config = render_modelpack_config(
      {"demo", "tiny", "transformer", "safetensors", "", "bfloat16", "nvfp4"}, layers);
  EXPECT_EQ(config.size(), 491u);
  EXPECT_EQ(sha256_of(config), "57dcb88e9c48821edbc4ba9932968d4651fedffa4f3314a472d40304123fa628");
  const std::string manifest = render_modelpack_manifest(config, layers);
  EXPECT_EQ(manifest.size(), 1336u);
  EXPECT_EQ(sha256_of(manifest),
            "b7c1485ddfda2ee1698e01ad2afe3010260b4427c2b0b226a10aeb12c790b136");
}

TEST(ModelPack, FilesHaveTheirKinds) {
  for (const auto& [path, expected] : std::vector<std::pair<std::string, std::string>>{
           {"model-00001-of-00002.safetensors", "weight"},
           {"q4/model.gguf", "weight"},
           {"tokenizer.json", "weight.config"},
           {"tokenizer.model", "weight.config"},
           {"chat_template.jinja", "weight.config"},
           {"modeling_x.py", "code"},
           {"SHA256SUMS", "doc"},
           {"model.sig", "doc"},
           {"LICENSE.txt", "doc"},
           {"docs/README.md", "doc"}}) {
    EXPECT_EQ(modelpack_type(path), "application/vnd.cncf.model." + expected + ".v1.raw");
  }
}

TEST(Ollama, CountsAsItsOwnNumbers) {
  for (const auto& [count, text] :
       std::vector<std::pair<uint64_t, std::string>>{{999, "999"},
                                                     {173'056, "173K"},
                                                     {1'000'000, "1M"},
                                                     {2'298'880, "2.30M"},
                                                     {7'615'616'512, "7.6B"},
                                                     {8'000'000'000, "8B"}}) {
    EXPECT_EQ(ollama_count(count), text);
  }
}

// Parses a manifest of one layer as `ollama create` writes it, with `from` replaced once.
Result<ManifestContents> parse_with(std::string_view from, std::string_view to) {
  const std::string digest = blob_digest(std::string(64, 'a'));
  std::string text = fmt::format(
      R"({{"schemaVersion":2,"mediaType":"{}","config":{{"digest":"{}","size":2}},)"
      R"("layers":[{{"mediaType":"a/b","digest":"{}","size":282,"annotations":)"
      R"({{"org.opencontainers.image.title":"./a/b"}}}}]}})",
      kOciManifestType, blob_digest(std::string(64, 'c')), digest);
  text.replace(text.find(from), from.size(), to);
  return parse_manifest("m", text);
}

TEST(Manifest, NamesLayersAsClientsWriteThem) {
  const auto good = parse_with("a/b", "a/b");
  ASSERT_TRUE(good) << good.error().text();
  ASSERT_EQ(good->blobs.size(), 2u);
  EXPECT_EQ(good->blobs[1].name, "a/b");
  EXPECT_EQ(good->blobs[1].size_bytes, 282u);
  EXPECT_TRUE(parse_with("\"annotations\"", "\"other\""));
  EXPECT_TRUE(parse_with("\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",", ""));
}

TEST(Manifest, RejectsWhatClientsReadDifferently) {
  const std::string same_name = R"("layers":[{"digest":")" + blob_digest(std::string(64, 'b')) +
                                R"(","size":1,"annotations":{"org.cncf.model.filepath":"a/b"}},)";
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{\"schema", "{\"manifests\":[],\"schema"},
      {"\"layers\":[", "\"layers\":[],\"old\":["},
      {"\"layers\":[", "\"Layers\":[],\"layers\":["},
      {"\"size\":282", "\"Size\":1,\"size\":282"},
      {"\"size\":282", "\"size\":282.0"},
      {"\"size\":282", "\"size\":9223372036854775808"},
      {"\"schemaVersion\":2", "\"schemaVersion\":1"},
      {"\"schemaVersion\":2", "\"schemaVersion\":2.0"},
      {"\"schemaVersion\":2,", ""},
      {"image.manifest", "image.index"},
      {"./a/b", "../a"},
      {"./a/b", "/etc/x"},
      {"./a/b", "."},
      {"./a/b\"", "a\",\"org.cncf.model.filepath\":\"b\""},
      {"\"layers\":[", same_name},
      {"\"mediaType\":\"a/b\"", "\"urls\":[\"https://example.com/x\"]"},
      {"a/b", "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"},
  };
  for (const auto& [from, to] : cases) {
    EXPECT_FALSE(parse_with(from, to)) << to;
  }
  EXPECT_FALSE(parse_manifest("m", R"({"schemaVersion":2,"manifests":[]})"));
  EXPECT_FALSE(parse_manifest("m", "[]"));
}

TEST(Ollama, ConfigAndManifestAreThoseOfCreate) {
  EXPECT_EQ(render_ollama_config({"qwen3", "2.30M", "Q4_K_M", "", ""}),
            "{\"model_format\":\"gguf\",\"model_family\":\"qwen3\",\"model_families\":[\"qwen3\"],"
            "\"model_type\":\"2.30M\",\"file_type\":\"Q4_K_M\",\"architecture\":\"amd64\","
            "\"os\":\"linux\"}\n");
  const std::string with_programs =
      render_ollama_config({"gemma4", "4B", "Q8_0", "gemma4", "gemma4"});
  EXPECT_NE(with_programs.find("\"file_type\":\"Q8_0\",\"renderer\":\"gemma4\",\"parser\":"
                               "\"gemma4\",\"architecture\""),
            std::string::npos)
      << with_programs;
  const std::string hex(64, 'a');
  EXPECT_EQ(
      render_ollama_manifest("{}", {{"application/vnd.ollama.image.model", hex, 7, "m.gguf"}}),
      "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.docker.distribution.manifest.v2+"
      "json\",\"config\":{\"mediaType\":\"application/vnd.docker.container.image.v1+json\","
      "\"digest\":\"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\""
      ",\"size\":2},\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\","
      "\"digest\":\"sha256:" +
          hex + "\",\"size\":7}]}\n");
  EXPECT_EQ(render_ollama_params({{"top_k", "20"}, {"stop", "[\"<|im_end|>\"]"}}),
            "{\"stop\":[\"<|im_end|>\"],\"top_k\":20}\n");
}

}  // namespace
}  // namespace ckpt
