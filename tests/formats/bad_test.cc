// Every file and folder in testdata/formats/bad fails with exactly the message stored next to it.
//
// CKPT_ACCEPT=1 test_formats --gtest_filter='Bad.*' writes the messages that come out, to be read
// with `git diff` before they are committed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

bool is_imatrix(const fs::path& path) {
  return path.extension() == ".dat" || path.string().ends_with(".imatrix.gguf");
}

// The message without the path of the folder; empty when nothing failed.
std::string message_of(const fs::path& path, const fs::path& folder) {
  std::string text;
  if (is_imatrix(path)) {
    const auto imatrix = read_imatrix(path);
    if (!imatrix) text = imatrix.error().text();
  } else if (const auto format = recognize(path); !format) {
    text = format.error().text();
  } else {
    FileMisfit misfit;
    const auto checkpoint = read_despite_misfit(path, all_codecs(), {}, misfit);
    text = !checkpoint ? checkpoint.error().text() : misfit.error().in(path.string()).text();
    if (checkpoint && misfit.found.empty()) text.clear();
  }
  const std::string prefix = folder.string() + "/";
  for (size_t at; (at = text.find(prefix)) != std::string::npos;) text.erase(at, prefix.size());
  return text;
}

// The paths to read: each entry of the folder; for split files the one that the case names.
std::vector<fs::path> subjects(const fs::path& folder) {
  std::set<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".expected")) continue;
    if (!name.starts_with("split_") || !entry.is_directory()) {
      out.insert(entry.path());
      continue;
    }
    std::set<fs::path> files;
    for (const auto& file : fs::directory_iterator(entry.path())) {
      if (file.path().extension() == ".gguf") files.insert(file.path());
    }
    out.insert(*files.begin());
  }
  return {out.begin(), out.end()};
}

TEST(Bad, EachFailsAsExpected) {
  const fs::path folder = testdata("formats/bad");
  const bool accept = std::getenv("CKPT_ACCEPT") != nullptr;
  size_t count = 0;
  for (const fs::path& path : subjects(folder)) {
    const std::string message = message_of(path, folder);
    EXPECT_NE(message, "") << path << " was read without an error";
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    const fs::path expected = path.string() + ".expected";
    if (accept) write_file(expected, message + "\n");
    ASSERT_TRUE(fs::exists(expected)) << expected;
    EXPECT_EQ(message + "\n", read_file(expected)) << path;
    ++count;
  }
  EXPECT_GE(count, 140u);
}

TEST(Bad, NoExpectationIsWithoutItsFile) {
  for (const auto& entry : fs::recursive_directory_iterator(testdata("formats/bad"))) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".expected")) continue;
    EXPECT_TRUE(fs::exists(path.substr(0, path.size() - 9))) << path;
  }
}

// ---- a file cut at any byte --------------------------------------------------------------------

void expect_every_cut_fails(const fs::path& good, std::string_view ending, size_t last) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / fmt::format("cut{}", ending);
  fs::copy_file(good, path);
  for (size_t size = last; size-- > 0;) {
    fs::resize_file(path, size);
    const auto format = recognize(path);
    if (!format) continue;
    const auto checkpoint = (*format)->read(path, all_codecs(), {});
    ASSERT_FALSE(checkpoint) << good << " cut to " << size << " bytes";
    EXPECT_NE(checkpoint.error().text().find(path.string()), std::string::npos);
  }
}

TEST(Bad, SafetensorsCutAtAnyByteFails) {
  const fs::path good = testdata("formats/good/safetensors/ranks.safetensors");
  expect_every_cut_fails(good, ".safetensors", fs::file_size(good));
}

TEST(Bad, GgufCutAtAnyByteFails) {
  const fs::path values = testdata("formats/good/gguf/values.gguf");
  // The last bytes are padding of a file without tensors, which nobody needs.
  expect_every_cut_fails(values, ".gguf", fs::file_size(values) - 32);
  const fs::path ranks = testdata("formats/good/gguf/ranks.gguf");
  expect_every_cut_fails(ranks, ".gguf", fs::file_size(ranks) - 32);
}

// ---- brackets ----------------------------------------------------------------------------------

std::string framed(std::string_view json) {
  const uint64_t length = json.size();
  std::string out(sizeof(length), '\0');
  for (size_t i = 0; i < sizeof(length); ++i) out[i] = static_cast<char>(length >> (8 * i) & 0xFF);
  return out.append(json);
}

TEST(Bad, AMillionBracketsAreRefusedAtTheFirstTooMany) {
  constexpr size_t kDepth = 1'000'000;
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "deep.safetensors";
  std::string objects;
  for (size_t i = 0; i < kDepth; ++i) objects += "{\"a\":";
  const auto message = [](const fs::path& path) {
    const auto read = find_format("safetensors")->read(path, all_codecs(), {});
    return read ? "" : read.error().what;
  };
  write_file(file, framed("{\"a\":" + std::string(kDepth, '[')));
  EXPECT_EQ(message(file), "the top level: an array in an unexpected place");
  write_file(file, framed(objects));
  EXPECT_EQ(message(file), "nested deeper than 128 levels");
  for (const std::string& json : {"{\"metadata\":" + std::string(kDepth, '['), objects}) {
    write_file(folder.path() / "index" / "model.safetensors.index.json", json);
    EXPECT_EQ(message(folder.path() / "index"), "nested deeper than 128 levels");
  }
}

}  // namespace
}  // namespace ckpt
