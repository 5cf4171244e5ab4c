// Limits of readers: memory and time are proportional to the input.
//
// Each input is the worst of its kind that is known: as many things as fit, each as small as can
// be. It is read in a process of its own, whose memory the system counts.
//   memory <= 64 MiB + factor x size of the input       (the factor is next to each)
//   four times the input takes at most eight times the processor's time
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "core/json/json_edit.h"
#include "core/json/json_read.h"
#include "core/patch/journal.h"
#include "formats/formats.h"
#include "plan/text/recipe.h"
#include "publish/publish.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "transforms/modelopt_export/state.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFreeBytes = uint64_t{64} << 20;

struct Cost {
  uint64_t memory_bytes = 0;
  double seconds = 0;
  bool is_accepted = false;
};

uint64_t resident_bytes() {
  uint64_t size_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> size_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

const uint64_t kStartBytes = resident_bytes();  // of the program, before any test

// The cost of reading in a child process, including the program's own start but not what tests left
// behind.
Cost cost_of_reading(const std::function<bool()>& read) {
  ::malloc_trim(0);  // what tests before this one have freed would be memory for nothing
  const uint64_t before_bytes = resident_bytes();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(read() ? 0 : 1);
  int status = 0;
  rusage used{};
  EXPECT_EQ(::wait4(child, &status, 0, &used), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << "the reader crashed";
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  const uint64_t peak_bytes = static_cast<uint64_t>(used.ru_maxrss) * 1024;
  const uint64_t left_bytes = before_bytes - std::min(before_bytes, kStartBytes);
  return {peak_bytes - std::min(peak_bytes, left_bytes),
          seconds(used.ru_utime) + seconds(used.ru_stime), WEXITSTATUS(status) == 0};
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
void put_text(std::string& out, const std::string& text) {
  put(out, uint64_t{text.size()});
  out += text;
}

std::string with_length(const std::string& json) {
  std::string out;
  put_text(out, json);
  return out;
}

std::string safetensors(size_t count) {
  std::string json = "{";
  for (size_t i = 0; i < count; ++i) {
    json += fmt::format("{}\"{}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                        i == 0 ? "" : ",", i);
  }
  return with_length(json + "}");
}

std::string safetensors_metadata(size_t count) {
  std::string json = "{\"__metadata__\":{";
  for (size_t i = 0; i < count; ++i) json += fmt::format("{}\"{}\":\"\"", i == 0 ? "" : ",", i);
  return with_length(json + "}}");
}

std::string gguf(size_t tensors, size_t keys) {
  std::string out = "GGUF";
  put(out, uint32_t{3});
  put(out, uint64_t{tensors});
  put(out, uint64_t{keys});
  for (size_t i = 0; i < keys; ++i) {
    put_text(out, std::to_string(i));
    put(out, uint32_t{0});
    put(out, uint8_t{1});
  }
  for (size_t i = 0; i < tensors; ++i) {
    put_text(out, std::to_string(i));
    for (const uint32_t number : {1, 0, 0}) put(out, number);  // one axis of no values
    put(out, uint32_t{24});                                    // i8
    put(out, uint64_t{0});
  }
  return out + std::string(32, '\0');
}

// One key: an array of empty texts, or of empty arrays.
std::string gguf_array(size_t count, uint32_t element) {
  std::string out = "GGUF";
  put(out, uint32_t{3});
  put(out, uint64_t{0});
  put(out, uint64_t{1});
  put_text(out, "k");
  put(out, uint32_t{9});
  put(out, element);
  put(out, uint64_t{count});
  for (size_t i = 0; i < count; ++i) {
    if (element == 9) put(out, uint32_t{0});
    put(out, uint64_t{0});
  }
  return out + std::string(32, '\0');
}

std::string legacy_imatrix(size_t count) {
  std::string out;
  put(out, static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    put(out, static_cast<uint32_t>(name.size()));
    out += name;
    put(out, uint32_t{1});
    put(out, uint32_t{1});
    put(out, 1.0f);
  }
  return out;
}

std::string index(size_t count) {
  std::string json = "{\"weight_map\":{";
  for (size_t i = 0; i < count; ++i) {
    json += fmt::format("{}\"{}\":\"m.safetensors\"", i == 0 ? "" : ",", i);
  }
  return json + "}}";
}

std::string repeated(std::string_view head, std::string_view item, size_t count,
                     std::string_view tail) {
  std::string out(head);
  for (size_t i = 0; i < count; ++i) out += item;
  return out + std::string(tail);
}

// A zip that holds one stored entry, "a/data.pkl".
std::string zip_of(const std::string& pickle) {
  const std::string name = "a/data.pkl";
  const auto size = static_cast<uint32_t>(pickle.size());
  std::string out = "PK\3\4" + std::string(14, '\0');
  for (const uint32_t number : {size, size}) put(out, number);
  put(out, static_cast<uint32_t>(name.size()));
  out += name + pickle;
  const auto directory = static_cast<uint32_t>(out.size());
  out += "PK\1\2" + std::string(16, '\0');
  for (const uint32_t number : {size, size}) put(out, number);
  put(out, static_cast<uint32_t>(name.size()));
  out += std::string(14, '\0') + name;
  out += std::string("PK\5\6") + std::string(4, '\0');
  for (int i = 0; i < 2; ++i) put(out, uint16_t{1});
  put(out, static_cast<uint32_t>(out.size() - directory));
  put(out, directory);
  put(out, uint16_t{0});
  return out;
}

struct WorstCase {
  const char* name;
  uint64_t factor;  // bytes of memory a byte of input
  bool is_accepted;
  size_t count;
  std::function<std::string(size_t)> make;
  std::function<bool(const fs::path&, const std::string&)> read;  // from a file, or its bytes
};

bool read_checkpoint(const fs::path& path, const std::string&) {
  const auto format = recognize(path);
  return format && (*format)->read(path, all_codecs(), {}).has_value();
}

bool read_folder(const fs::path& path, const std::string&) {
  return find_format("safetensors")->read(path.parent_path(), all_codecs(), {}).has_value();
}

std::vector<WorstCase> worst_inputs() {
  const auto text = [](auto parse) {
    return [parse](const fs::path&, const std::string& bytes) { return parse(bytes).has_value(); };
  };
  const auto recipe = [](const std::string& bytes) { return parse_recipe("r.json", bytes); };
  const auto json = [](const std::string& bytes) { return parse_json("d.json", bytes); };
  const auto edited = [](const std::string& bytes) { return JsonText::parse(bytes); };
  return {
      {"a.safetensors", 14, true, 100'000, safetensors, read_checkpoint},
      {"metadata.safetensors", 40, true, 100'000, safetensors_metadata, read_checkpoint},
      {"tensors.gguf", 20, true, 100'000, [](size_t n) { return gguf(n, 0); }, read_checkpoint},
      {"keys.gguf", 20, true, 100'000, [](size_t n) { return gguf(0, n); }, read_checkpoint},
      {"texts.gguf", 12, true, 400'000, [](size_t n) { return gguf_array(n, 8); }, read_checkpoint},
      {"arrays.gguf", 30, true, 400'000, [](size_t n) { return gguf_array(n, 9); },
       read_checkpoint},
      {"model.safetensors.index.json", 20, true, 200'000, index, read_folder},
      {"legacy.dat", 12, true, 200'000, legacy_imatrix,
       [](const fs::path& path, const std::string&) { return read_imatrix(path).has_value(); }},
      {"edited.json", 150, true, 400'000, [](size_t n) { return repeated("[0", ",0", n, "]"); },
       text(edited)},
      {"values.json", 30, true, 400'000, [](size_t n) { return repeated("[0", ",0", n, "]"); },
       text(json)},
      {"objects.json", 60, true, 400'000, [](size_t n) { return repeated("[{}", ",{}", n, "]"); },
       text(json)},
      {"recipe.json", 150, true, 400'000,
       [](size_t n) { return repeated("{\"for\":[\"a\"", ",\"a\"", n, "]}"); }, text(recipe)},
      {"journal", 30, true, 200'000,
       [](size_t n) {
         return repeated("ckpt-patch 3\nof " + std::string(64, '0') + "\n", "remove a\n", n,
                         "end\n");
       },
       text(parse_journal)},
      {"SHA256SUMS", 8, true, 100'000,
       [](size_t n) { return repeated("", std::string(64, '0') + "  a\n", n, ""); },
       text(parse_sha256sums)},
      {"pytorch_model.bin", 150, false, 1'000'000,
       [](size_t n) { return zip_of(repeated("", "}", n, ".")); }, read_checkpoint},
      {"state.pth", 150, false, 1'000'000,
       [](size_t n) { return zip_of(repeated("", "}", n, ".")); }, text(read_modelopt_state)},
  };
}

class ReaderLimits : public testing::TestWithParam<WorstCase> {};

TEST_P(ReaderLimits, MemoryAndTimeFollowTheSize) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own memory says nothing of the reader's";
#endif
  const WorstCase& worst = GetParam();
  const TemporaryFolder folder;
  const fs::path path = folder.path() / worst.name;
  if (std::string(worst.name) == "model.safetensors.index.json") {
    write_file(folder.path() / "m.safetensors", safetensors(0));
  }
  std::vector<Cost> costs;
  for (const size_t count : {worst.count, 4 * worst.count}) {
    const std::string bytes = worst.make(count);
    write_file(path, bytes);
    Cost cost = cost_of_reading([&] { return worst.read(path, bytes); });
    cost.memory_bytes += bytes.size();  // the caller's copy
    RecordProperty("bytes_a_byte", static_cast<int>(cost.memory_bytes / bytes.size()));
    EXPECT_EQ(cost.is_accepted, worst.is_accepted);
    EXPECT_LE(cost.memory_bytes, kFreeBytes + worst.factor * bytes.size())
        << static_cast<double>(cost.memory_bytes) / static_cast<double>(bytes.size())
        << " bytes a byte";
    costs.push_back(cost);
  }
  EXPECT_LE(costs[1].seconds, 8 * costs[0].seconds + 0.2);
}

INSTANTIATE_TEST_SUITE_P(All, ReaderLimits, testing::ValuesIn(worst_inputs()),
                         [](const testing::TestParamInfo<WorstCase>& each) {
                           std::string name = each.param.name;
                           for (char& c : name) c = std::isalnum(c) ? c : '_';
                           return name;
                         });

// A name made of names would double with every opcode: 40 bytes would ask for a terabyte.
TEST(ReaderLimits, NamesOfNamesAreNoNames) {
  std::string pickle = "\x8c\x04nameq\x01";
  for (int i = 0; i < 40; ++i) pickle += "h\x01h\x01\x93q\x01";
  const auto state = read_modelopt_state(zip_of(pickle + "."));
  ASSERT_FALSE(state.has_value());
  EXPECT_NE(state.error().what.find("a name that is not a text"), std::string::npos);
}

// A file that says its lines start with a million spaces gets 16.
TEST(ReaderLimits, IndentationIsNotTakenFromAFileWithoutBounds) {
  const std::string text = "{\n" + std::string(1'000'000, ' ') + "\"a\": [\n1,\n2\n]\n}";
  const auto root = JsonText::parse(text);
  ASSERT_TRUE(root.has_value());
  EXPECT_LE(root->dump(json_style_of(text)).size(), 200u);
}

}  // namespace
}  // namespace ckpt
