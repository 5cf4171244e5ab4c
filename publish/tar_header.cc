// Renders one header block of a tar (POSIX ustar), 512 bytes:
//
//     0 name 100 | 100 mode 8 | 108 uid 8 | 116 gid 8 | 124 size 12 | 136 mtime 12 | 148 sum 8
//   156 type 1 | 157 link 100 | 257 "ustar\0" | 263 "00" | 265 owner 32 | 297 group 32
//   329 device 8 + 8 | 345 prefix 155 | 500 zeros 12
//
// Numbers are octal text. A path of more than 100 bytes is split at a '/' into prefix and name. A
// path that does not fit in this way, or a number of more than eleven octal digits, is stored in a
// pax record before the header: "LENGTH key=value\n", where LENGTH includes itself.
#include <algorithm>

#include "core/base/arithmetic.h"
#include "publish/archive.h"

namespace ckpt {
namespace {

constexpr size_t kNameBytes = 100, kPrefixBytes = 155;
constexpr uint64_t kMaxOctalSize = (uint64_t{1} << 33) - 1;  // eleven octal digits

struct SplitName {
  std::string prefix, name;
};

// Splits the path into prefix and name; nullopt if no '/' divides it so that both fit.
std::optional<SplitName> split(const std::string& path) {
  if (path.size() <= kNameBytes) return SplitName{"", path};
  const size_t from = path.size() - kNameBytes - 1;  // the name after it fits exactly
  const size_t slash = path.find('/', from);
  if (slash == path.npos || slash == 0 || slash > kPrefixBytes || slash + 1 == path.size()) {
    return std::nullopt;
  }
  return SplitName{path.substr(0, slash), path.substr(slash + 1)};
}

void put(std::string& block, size_t at, std::string_view text) {
  std::ranges::copy(text, block.begin() + static_cast<std::ptrdiff_t>(at));
}

std::string block_of(const SplitName& name, char type, uint64_t size_bytes) {
  std::string block(kTarBlockBytes, '\0');
  put(block, 0, name.name);
  put(block, 100, type == '5' ? "0000755" : "0000644");
  put(block, 108, "0000000");
  put(block, 116, "0000000");
  put(block, 124, fmt::format("{:011o}", size_bytes));
  put(block, 136, "00000000000");
  put(block, 148, "        ");  // counts as spaces in the sum
  block[156] = type;
  put(block, 257,
      std::string_view("ustar\0"
                       "00",
                       8));
  put(block, 345, name.prefix);
  uint64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(block, 148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  return block;
}

std::string record(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;  // " =\n"
  size_t length = rest + 1;
  while (length != rest + fmt::formatted_size("{}", length)) {
    length = rest + fmt::formatted_size("{}", length);
  }
  return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace

std::string render_tar_header(const TarMember& member) {
  const std::string path = member.is_folder ? member.name + "/" : member.name;
  std::optional<SplitName> name = split(path);
  std::string records;
  if (!name) records += record("path", path);
  if (member.size_bytes > kMaxOctalSize) {
    records += record("size", fmt::format("{}", member.size_bytes));
  }
  std::string out;
  if (!records.empty()) {
    // Readers of pax ignore this name; others unpack a file of this name next to the folder's.
    out = block_of({"", "PaxHeader"}, 'x', records.size());
    out += records;
    out.resize(round_up(out.size(), kTarBlockBytes), '\0');
  }
  if (!name) name = SplitName{"", path.substr(0, kNameBytes)};
  const uint64_t octal_size = member.size_bytes > kMaxOctalSize ? 0 : member.size_bytes;
  return out + block_of(*name, member.is_folder ? '5' : '0', octal_size);
}

}  // namespace ckpt
