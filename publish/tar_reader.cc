// Reads a tar in pieces. tar_header.cc draws a header block; in addition to what that file writes,
// this reader accepts:
//
//   type 'x'  pax records for the next member      'g'  for all following members
//   type 'L'  GNU: the long name of the next member
//   size      GNU: a first byte of 0x80 makes the other eleven a big-endian number
//
// The size of a member other than a file or folder does not count the bytes after it, so such a
// member ends the reading.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/base/arithmetic.h"
#include "core/base/numbers.h"
#include "core/base/utf8.h"
#include "publish/archive.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxRecordBytes = 1 << 20;
constexpr size_t kMaxMembers = 1'000'000;
constexpr uint64_t kMaxNameBytes = 64 << 20;  // for all members together
constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxDepth = 100;
constexpr uint64_t kMaxEndBytes = 1 << 20;  // limit for zeros at the end of the archive

std::string_view field(const std::byte* header, size_t at, size_t size_bytes) {
  const std::string_view all(reinterpret_cast<const char*>(header) + at, size_bytes);
  return all.substr(0, all.find('\0'));
}

// Parses octal text between spaces; nullopt for anything else.
std::optional<uint64_t> parse_octal(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return number_from<uint64_t>(text, 8);
}

std::optional<uint64_t> parse_size(const std::byte* header) {
  constexpr size_t kAt = 124, kBytes = 12;
  if (std::to_integer<unsigned>(header[kAt]) != 0x80) {
    return parse_octal(field(header, kAt, kBytes));
  }
  uint64_t value = 0;
  for (size_t i = kAt + 1; i < kAt + kBytes; ++i) {
    if (value >> 56 != 0) return std::nullopt;
    value = value << 8 | std::to_integer<uint64_t>(header[i]);
  }
  return value;
}

bool sum_agrees(const std::byte* header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kTarBlockBytes; ++i) {
    sum += i >= 148 && i < 156 ? uint64_t{' '} : std::to_integer<uint64_t>(header[i]);
  }
  return parse_octal(field(header, 148, 8)) == sum;
}

std::string name_of(const std::byte* header) {
  const std::string_view name = field(header, 0, 100);
  // Old GNU headers ("ustar  ") store times in place of the prefix.
  const bool has_prefix = std::memcmp(header + 257, "ustar\0", 6) == 0;
  const std::string_view prefix = has_prefix ? field(header, 345, 155) : std::string_view();
  return prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
}

std::string_view describe_member_type(char type) {
  constexpr std::pair<char, std::string_view> kTypes[] = {
      {'1', "a hard link"}, {'2', "a symbolic link"}, {'3', "a device"},
      {'4', "a device"},    {'6', "a pipe"},          {'S', "a sparse file"}};
  for (const auto& [known, what] : kTypes) {
    if (type == known) return what;
  }
  return "neither file nor folder";
}

// Formats a name for messages without control characters, which would reach a terminal.
std::string shown(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 200)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + (name.size() > 200 ? "..." : "");
}

}  // namespace

Result<std::string> unpacked_name(std::string_view raw, std::string_view noun) {
  const auto refused = [&](std::string_view why) {
    return corrupt("{} '{}': {}", noun, is_utf8(raw) ? shown(raw) : "?", why);
  };
  if (!is_utf8(raw)) return refused("its name is not UTF-8");
  if (raw.size() > kMaxPathBytes) return refused("a name of more than 4096 bytes");
  if (raw.find('\0') != raw.npos) return refused("a zero byte in its name");
  if (raw.starts_with('/')) return refused("an absolute name, which leaves the folder");
  std::string_view name = raw;
  while (name.starts_with("./")) name.remove_prefix(2);
  if (name.ends_with('/')) name.remove_suffix(1);
  if (name == ".") name = {};
  if (name.empty()) return raw.empty() ? refused("it has no name") : Result<std::string>("");
  size_t depth = 0;
  for (std::string_view rest = name; !rest.empty(); ++depth) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    if (part == "..") return refused("a '..' in its name, which leaves the folder");
    if (part.empty() || part == "." || rest.ends_with('/')) {
      return refused("an empty part or '.' inside its name");
    }
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  if (depth > kMaxDepth) return refused("more than 100 folders deep");
  return std::string(name);
}

namespace {

struct Records {
  std::optional<std::string> path;
  std::optional<uint64_t> size_bytes;
  bool is_sparse = false;
};

// Parses a sequence of "LENGTH key=value\n".
Result<Records> parse_records(std::string_view text) {
  const auto malformed = [] { return corrupt("a pax record that is not 'LENGTH key=value'"); };
  Records out;
  while (!text.empty() && text[0] != '\0') {
    uint64_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<size_t>(end - text.data());
    if (error != std::errc() || length > text.size() || length < digits + 3) return malformed();
    if (text[digits] != ' ' || text[length - 1] != '\n') return malformed();
    const std::string_view pair = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const size_t equals = pair.find('=');
    if (equals == pair.npos) return malformed();
    const std::string_view key = pair.substr(0, equals), value = pair.substr(equals + 1);
    if (key == "path") out.path = value;
    if (key.starts_with("GNU.sparse.")) out.is_sparse = true;
    if (key != "size") continue;
    out.size_bytes = number_from<uint64_t>(value);
    if (!out.size_bytes) return malformed();
  }
  return out;
}

}  // namespace

Status TarReader::remember(const TarMember& member) {
  const auto refused = [&](std::string_view why) {
    return corrupt("member '{}': {}", shown(member.name), why);
  };
  name_bytes_ += member.name.size();
  if (is_folder_.size() >= kMaxMembers || name_bytes_ > kMaxNameBytes) {
    return unsupported("more than {} members, or {} bytes of names", kMaxMembers, kMaxNameBytes);
  }
  for (size_t at = member.name.find('/'); at != std::string::npos;
       at = member.name.find('/', at + 1)) {
    const auto parent = is_folder_.find(member.name.substr(0, at));
    if (parent != is_folder_.end() && !parent->second) {
      return refused(fmt::format("it is inside '{}', which is a file", shown(parent->first)));
    }
  }
  const auto inside = is_folder_.lower_bound(member.name + "/");
  if (!member.is_folder && inside != is_folder_.end() &&
      inside->first.starts_with(member.name + "/")) {
    return refused("a file where others have their folder");
  }
  const auto [at, is_new] = is_folder_.emplace(member.name, member.is_folder);
  if (!is_new && !(member.is_folder && at->second)) return refused("it comes twice");
  return {};
}

Status TarReader::start_record(char type, uint64_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kMaxRecordBytes) {
    return unsupported("a header record of {} bytes; expected 1 to {}", size_bytes,
                       kMaxRecordBytes);
  }
  record_type_ = type;
  record_.clear();
  left_bytes_ = size_bytes;
  padding_bytes_ = round_up(size_bytes, kTarBlockBytes) - size_bytes;
  state_ = State::kRecord;
  return {};
}

Status TarReader::record_ended() {
  if (record_type_ == 'L') {
    next_name_ = record_.substr(0, record_.find('\0'));
    return {};
  }
  CKPT_ASSIGN(Records records, parse_records(record_));
  if (records.is_sparse) return unsupported("a sparse file; expected whole ones");
  if (record_type_ == 'g') {
    if (!records.path && !records.size_bytes) return {};
    return corrupt("one name or size for all members");
  }
  if (records.path) next_name_ = std::move(records.path);
  if (records.size_bytes) next_size_ = records.size_bytes;
  return {};
}

Status TarReader::start_member(const std::byte* header, char type) {
  const std::string raw = next_name_ ? *next_name_ : name_of(header);
  const std::optional<uint64_t> size = next_size_ ? next_size_ : parse_size(header);
  next_name_.reset();
  next_size_.reset();
  CKPT_ASSIGN(std::string name, unpacked_name(raw, "member"));
  const bool is_file = type == '0' || type == '\0' || type == '7';
  const bool is_folder = type == '5' || (is_file && raw.ends_with('/'));
  if (!is_file && !is_folder) {
    return corrupt("member '{}': {}; expected files and folders", shown(raw),
                   describe_member_type(type));
  }
  if (!size || ckpt::add(*size, kTarBlockBytes) == std::nullopt || (is_folder && *size != 0)) {
    return corrupt("member '{}': its size makes no sense", shown(raw));
  }
  if (name.empty()) {
    if (is_folder) return {};  // "./", the folder itself
    return corrupt("member '{}': a file without a name", shown(raw));
  }
  const TarMember member{std::move(name), *size, is_folder};
  CKPT_TRY(remember(member));
  CKPT_TRY(sink_.begin(member));
  left_bytes_ = *size;
  padding_bytes_ = round_up(*size, kTarBlockBytes) - *size;
  state_ = State::kContent;
  return left_bytes_ == 0 ? content_ended() : Status();
}

Status TarReader::content_ended() {
  if (state_ == State::kContent) CKPT_TRY(sink_.end());
  if (state_ == State::kRecord) CKPT_TRY(record_ended());
  left_bytes_ = std::exchange(padding_bytes_, 0);  // padding has no padding
  state_ = left_bytes_ == 0 ? State::kHeader : State::kPadding;
  return {};
}

Status TarReader::add_header() {
  const auto* header = reinterpret_cast<const std::byte*>(block_.data());
  const bool is_zero = block_.find_first_not_of('\0') == block_.npos;
  if (is_zero) {
    zero_bytes_ += kTarBlockBytes;
    if (zero_bytes_ == kTarEndBytes) state_ = State::kEnd;
    return {};
  }
  if (zero_bytes_ != 0) return corrupt("a member after a block of zeros");
  if (!sum_agrees(header)) {
    return corrupt("{}", is_folder_.empty() ? "not a tar: the first header's sum does not agree"
                                            : "a member's header whose sum does not agree");
  }
  const char type = block_[156];
  if (type != 'x' && type != 'g' && type != 'L') return start_member(header, type);
  const std::optional<uint64_t> size = parse_size(header);
  if (!size) return corrupt("a header record whose size makes no sense");
  return start_record(type, *size);
}

Status TarReader::check_zeros(std::span<const std::byte> bytes) {
  zero_bytes_ += bytes.size();
  if (zero_bytes_ > kMaxEndBytes ||
      std::ranges::any_of(bytes, [](std::byte b) { return b != std::byte{0}; })) {
    return corrupt("something after the end of the tar");
  }
  return {};
}

Status TarReader::take_content(std::span<const std::byte> bytes) {
  if (state_ == State::kContent) CKPT_TRY(sink_.add(bytes));
  if (state_ == State::kRecord) {
    record_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  left_bytes_ -= bytes.size();
  return left_bytes_ == 0 ? content_ended() : Status();
}

Status TarReader::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (state_ == State::kEnd) return check_zeros(bytes);
    const bool in_header = state_ == State::kHeader;
    const uint64_t wanted = in_header ? kTarBlockBytes - block_.size() : left_bytes_;
    const auto here = bytes.first(std::min<uint64_t>(wanted, bytes.size()));
    bytes = bytes.subspan(here.size());
    if (!in_header) {
      CKPT_TRY(take_content(here));
      continue;
    }
    block_.append(reinterpret_cast<const char*>(here.data()), here.size());
    if (block_.size() < kTarBlockBytes) continue;
    CKPT_TRY(add_header());
    block_.clear();
  }
  return {};
}

Status TarReader::finish() const {
  if (state_ == State::kEnd) return {};
  return corrupt("the tar ends too early, after {} members", is_folder_.size());
}

}  // namespace ckpt
