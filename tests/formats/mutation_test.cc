// Sound files with bytes changed at random: each is read or refused, never more. What is read can
// be laid out. CKPT_MUTATIONS sets how many are tried on each file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

unsigned mutation_count() {
  const char* set = std::getenv("CKPT_MUTATIONS");
  return set == nullptr ? 200 : static_cast<unsigned>(std::atoi(set));
}

// One to four changes: a byte becomes another, bytes vanish, or a run of them comes twice.
std::string mutate(std::string bytes, std::mt19937& random) {
  const auto below = [&](size_t limit) { return random() % std::max<size_t>(limit, 1); };
  for (size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size());
    switch (below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.erase(at, 1 + below(8));
        break;
      default:
        bytes.insert(at, bytes.substr(at, 1 + below(8)));
        break;
    }
  }
  return bytes;
}

class Mutation : public testing::TestWithParam<const char*> {};

TEST_P(Mutation, IsReadOrRefused) {
  const TemporaryFolder folder;
  const fs::path good = testdata("formats/good") / GetParam();
  const fs::path path = folder.path() / good.filename();
  const std::string bytes = read_file(good);
  std::mt19937 random(12345);
  unsigned read = 0;
  for (unsigned i = 0; i < mutation_count(); ++i) {
    write_file(path, mutate(bytes, random));
    if (good.parent_path().filename() == "imatrix") {
      read += read_imatrix(path) ? 1 : 0;
      continue;
    }
    const auto format = recognize(path);
    if (!format) continue;
    const auto checkpoint = (*format)->read(path, all_codecs(), {});
    if (!checkpoint) {
      EXPECT_FALSE(checkpoint.error().what.empty());
      continue;
    }
    ++read;
    LayoutOptions options;
    options.out_name = good.filename().string();
    const auto layout = (*format)->lay_out(*checkpoint, options, all_codecs());
    if (!layout) continue;
    EXPECT_EQ(render(*checkpoint, layout->files[0]).size(), layout->files[0].size_bytes);
  }
  RecordProperty("read", static_cast<int>(read));
  EXPECT_LT(read, mutation_count()) << "nothing was refused";
}

INSTANTIATE_TEST_SUITE_P(Formats, Mutation,
                         testing::Values("safetensors/ranks.safetensors",
                                         "safetensors/escapes.safetensors", "gguf/values.gguf",
                                         "gguf/ranks.gguf", "gguf/alignment_64.gguf",
                                         "imatrix/legacy.dat", "imatrix/imatrix.gguf"));

}  // namespace
}  // namespace ckpt
