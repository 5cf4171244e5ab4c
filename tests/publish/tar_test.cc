// Tars as we write them, and everything that a tar may hold to harm its reader.
#include <gtest/gtest.h>

#include <span>

#include "publish/publish.h"

namespace ckpt {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The events of a reader, as text.
class EventLog final : public TarSink {
 public:
  Status begin(const TarMember& member) override {
    text += fmt::format("{}{} {}: ", member.name, member.is_folder ? "/" : "", member.size_bytes);
    return {};
  }
  Status add(std::span<const std::byte> content) override {
    text.append(reinterpret_cast<const char*>(content.data()), content.size());
    return {};
  }
  Status end() override {
    text += '\n';
    return {};
  }
  std::string text;
};

std::string padded(std::string text) {
  text.resize((text.size() + 511) / 512 * 512, '\0');
  return text;
}

std::string member(const std::string& name, const std::string& content) {
  return render_tar_header({name, content.size(), false}) + padded(content);
}

const std::string kEnd(kTarEndBytes, '\0');

// A header with one field changed and the sum computed again.
std::string changed(std::string header, size_t at, std::string_view field) {
  header.replace(at, field.size(), field);
  header.replace(148, 8, "        ");
  uint64_t sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(header[i]);
  header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
  return header;
}

// The events of `tar`, given in pieces of `piece` bytes; the error's text after "! ".
std::string read(std::string_view tar, size_t piece = 1 << 20) {
  EventLog told;
  TarReader reader(told);
  Status status;
  for (size_t at = 0; status && at < tar.size(); at += piece) {
    status = reader.add(bytes_of(tar.substr(at, piece)));
  }
  if (status) status = reader.finish();
  return status ? told.text : told.text + "! " + status.error().text();
}

TEST(Tar, HeadersAreUstar) {
  const std::string header = render_tar_header({"config.json", 5, false});
  ASSERT_EQ(header.size(), kTarBlockBytes);
  const auto field = [&](size_t at, size_t size) { return header.substr(at, size); };
  EXPECT_EQ(field(0, 12), std::string("config.json\0", 12));
  EXPECT_EQ(field(100, 8), std::string("0000644\0", 8));
  EXPECT_EQ(field(108, 16), std::string("0000000\0"
                                        "0000000\0",
                                        16));
  EXPECT_EQ(field(124, 24), std::string("00000000005\0"
                                        "00000000000\0",
                                        24));
  EXPECT_EQ(header[156], '0');
  EXPECT_EQ(field(257, 8), std::string("ustar\0"
                                       "00",
                                       8));
  EXPECT_EQ(header.substr(265).find_first_not_of('\0'), std::string::npos);  // nobody's name
  const std::string folder = render_tar_header({"sub", 0, true});
  EXPECT_EQ(folder.substr(0, 5), std::string("sub/\0", 5));
  EXPECT_EQ(folder.substr(100, 7), "0000755");
  EXPECT_EQ(folder[156], '5');
}

TEST(Tar, LongNamesAndSizesComeBack) {
  const std::string deep = std::string(90, 'a') + "/" + std::string(60, 'b') + "/c";
  const std::string long_part(240, 'x'), utf8 =
                                             "gr\xC3\xB6\xC3\x9F"
                                             "e/" +
                                             std::string(200, 'y');
  const std::string tar = member("a", "1") + member(deep, "two") + member(long_part, "3") +
                          render_tar_header({"sub", 0, true}) + member(utf8, "") + kEnd;
  EXPECT_EQ(render_tar_header({deep, 3, false}).size(), 512u) << "fits prefix and name";
  EXPECT_EQ(render_tar_header({long_part, 1, false}).size(), 3 * 512u);
  for (const size_t piece : {1, 7, 512, 513, 100000}) {
    EXPECT_EQ(read(tar, piece),
              "a 1: 1\n" + deep + " 3: two\n" + long_part + " 1: 3\nsub/ 0: \n" + utf8 + " 0: \n");
  }
  const uint64_t large = uint64_t{9} << 30;
  EXPECT_EQ(read(render_tar_header({"w", large, false})),
            "w 9663676416: ! the tar ends too early, after 1 members");
  EXPECT_EQ(render_tar_header({"w", (uint64_t{1} << 33) - 1, false}).size(), 512u);
  EXPECT_EQ(render_tar_header({"w", uint64_t{1} << 33, false}).size(), 3 * 512u);
}

TEST(Tar, WhatGnuTarWritesIsRead) {
  const std::string name(150, 'n');
  std::string long_name = changed(render_tar_header({"././@LongLink", 151, false}), 156, "L");
  EXPECT_EQ(read(long_name + padded(name + '\0') + member("cut", "5") + kEnd), name + " 1: 5\n");
  const std::string base256 =
      changed(member("big", "abc"), 124, std::string("\x80\0\0\0\0\0\0\0\0\0\0\x03", 12));
  EXPECT_EQ(read(base256 + kEnd + std::string(8192, '\0')), "big 3: abc\n");
  // "tar -C folder ." names everything from "./" on.
  EXPECT_EQ(read(render_tar_header({".", 0, true}) + member("./a", "1") + kEnd), "a 1: 1\n");
}

TEST(Tar, NamesThatLeaveTheFolderAreRefused) {
  for (const auto& [name, why] : std::vector<std::pair<std::string, std::string>>{
           {"../a", "a '..' in its name, which leaves the folder"},
           {"a/../../b", "a '..' in its name, which leaves the folder"},
           {"a/..", "a '..' in its name, which leaves the folder"},
           {"/etc/passwd", "an absolute name, which leaves the folder"},
           {"a//b", "an empty part or '.' inside its name"},
           {"a/./b", "an empty part or '.' inside its name"},
           {std::string(50, '/') + "a", "an absolute name, which leaves the folder"}}) {
    EXPECT_EQ(read(member("ok", "1") + member(name, "2") + kEnd),
              "ok 1: 1\n! member '" + name + "': " + why);
  }
  const std::string not_text = read(member("\xFF\xFE", "1") + kEnd);
  EXPECT_EQ(not_text, "! member '?': its name is not UTF-8");
  const std::string escape = read(member("\x1b[2J/..", "1") + kEnd);
  EXPECT_EQ(escape.find('\x1b'), std::string::npos);
  std::string deep;
  for (int i = 0; i < 101; ++i) deep += "d/";
  EXPECT_NE(read(member(deep + "f", "1") + kEnd).find("more than 100 folders"), std::string::npos);
  EXPECT_NE(read(member(std::string(5000, 'n'), "1") + kEnd).find("more than 4096 bytes"),
            std::string::npos);
}

TEST(Tar, OnlyFilesAndFoldersAreTaken) {
  const std::pair<char, std::string> kinds[] = {{'1', "a hard link"},
                                                {'2', "a symbolic link"},
                                                {'3', "a device"},
                                                {'4', "a device"},
                                                {'6', "a pipe"},
                                                {'S', "a sparse file"},
                                                {'V', "neither file nor folder"}};
  for (const auto& [type, what] : kinds) {
    EXPECT_EQ(read(changed(member("l", ""), 156, std::string(1, type)) + kEnd),
              "! member 'l': " + what + "; expected files and folders");
  }
}

TEST(Tar, NoNameComesTwice) {
  const std::string folder = render_tar_header({"a", 0, true});
  EXPECT_EQ(read(member("a", "1") + member("./a", "2") + kEnd),
            "a 1: 1\n! member 'a': it comes twice");
  EXPECT_EQ(read(folder + folder + member("a/b", "1") + kEnd), "a/ 0: \na/ 0: \na/b 1: 1\n");
  EXPECT_EQ(read(member("a", "1") + member("a/b/c", "2") + kEnd),
            "a 1: 1\n! member 'a/b/c': it is inside 'a', which is a file");
  EXPECT_EQ(read(member("a/b", "1") + member("a", "2") + kEnd),
            "a/b 1: 1\n! member 'a': a file where others have their folder");
  EXPECT_EQ(read(folder + member("a", "2") + kEnd), "a/ 0: \n! member 'a': it comes twice");
}

TEST(Tar, RecordsThatMakeNoSenseAreRefused) {
  const auto with_record = [](const std::string& text) {
    return changed(render_tar_header({"PaxHeader", text.size(), false}), 156, "x") + padded(text) +
           member("a", "1") + kEnd;
  };
  EXPECT_EQ(read(with_record("9 path=b\n")), "b 1: 1\n");
  EXPECT_EQ(read(with_record("11 mtime=9\n")), "a 1: 1\n");
  for (const char* text : {"9 path=bb\n", "99 path=b\n", "x path=b\n", "9_path=b\n", "5 ab\n",
                           "1 p=b\n", "0 p=b\n", "10 size=9x\n", "18446744073709551616 a=b\n"}) {
    EXPECT_EQ(read(with_record(text)), "! a pax record that is not 'LENGTH key=value'") << text;
  }
  EXPECT_EQ(read(with_record("13 path=a/..\n")),
            "! member 'a/..': a '..' in its name, which leaves the folder");
  EXPECT_EQ(read(with_record("9 size=1\n")), "a 1: 1\n");
  EXPECT_EQ(read(with_record("29 size=18446744073709551615\n")),
            "! member 'a': its size makes no sense");
  EXPECT_EQ(read(with_record("22 GNU.sparse.major=1\n")), "! a sparse file; expected whole ones");
  EXPECT_EQ(read(changed(with_record("9 path=b\n"), 156, "g")),
            "! one name or size for all members");
  const std::string huge =
      changed(render_tar_header({"PaxHeader", uint64_t{1} << 32, false}), 156, "x");
  EXPECT_EQ(read(huge), "! a header record of 4294967296 bytes; expected 1 to 1048576");
}

TEST(Tar, HeadersWhoseSumDoesNotAgreeAreRefused) {
  std::string tar = member("a", "1") + member("b", "2") + kEnd;
  tar[3] = 'x';
  EXPECT_EQ(read(tar), "! not a tar: the first header's sum does not agree");
  tar[3] = '\0';
  tar[1024 + 5] = 'x';
  EXPECT_EQ(read(tar), "a 1: 1\n! a member's header whose sum does not agree");
  EXPECT_EQ(read(changed(member("a", "1"), 124, "0000000000z") + kEnd),
            "! member 'a': its size makes no sense");
  EXPECT_EQ(read(changed(render_tar_header({"f", 0, true}), 124, "00000000005") + kEnd),
            "! member 'f/': its size makes no sense");
}

TEST(Tar, EndsAtTheDeclaredPosition) {
  const std::string tar = member("a", "1") + member("b", "2") + kEnd;
  EXPECT_EQ(read(tar), "a 1: 1\nb 1: 2\n");
  for (size_t size = 0; size < tar.size(); size += 61) {
    EXPECT_NE(read(tar.substr(0, size)).find("! the tar ends too early"), std::string::npos)
        << size;
  }
  EXPECT_EQ(read(tar + "x"), "a 1: 1\nb 1: 2\n! something after the end of the tar");
  EXPECT_EQ(read(tar + member("c", "3")), "a 1: 1\nb 1: 2\n! something after the end of the tar");
  EXPECT_EQ(read(tar + std::string(2 << 20, '\0')),
            "a 1: 1\nb 1: 2\n! something after the end of the tar");
  EXPECT_EQ(read(member("a", "1") + std::string(512, '\0') + member("b", "2")),
            "a 1: 1\n! a member after a block of zeros");
}

}  // namespace
}  // namespace ckpt
