// Sums, statements, bundles and signatures against what the reference programs write.
#include "publish/publish.h"

#include <gtest/gtest.h>

#include <span>

#include "core/base/sha256.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

std::string digest_of(std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.finish();
}

const std::string kOne(64, 'a'), kTwo(64, 'b');

TEST(OwnFile, RecognizesRecordsAndLeftovers) {
  for (const char* name : {".r.gguf.ckpt-made", "sub/.m.ckpt-made"}) {
    EXPECT_EQ(own_file(name), OwnFile::kRecord) << name;
  }
  for (const char* name :
       {"m.gguf.partial", "out.partial/config.json", ".config.json.partial",
        "m.partial.ledger-1-of-2", ".ckpt-partial.ledger", ".ckpt-patch/files/0",
        "sub/.m.gguf.ckpt-patch/journal", ".ckpt-lfs-x.partial", ".ckpt-owner-77"}) {
    EXPECT_EQ(own_file(name), OwnFile::kLeftover) << name;
  }
  for (const char* name : {"m.ckpt", "model.ckpt-made", "ckpt-patch/x", "partial", "x.partials"}) {
    EXPECT_EQ(own_file(name), OwnFile::kNone) << name;
  }
}

TEST(Sha256Sums, AreWrittenAsSha256sumWrites) {
  EXPECT_EQ(render_sha256sums({{"b c", kTwo, 2}, {"a", kOne, 1}, {"x\\y\nz\r", kOne, 1}}),
            kOne + "  a\n" + kTwo + "  b c\n\\" + kOne + "  x\\\\y\\nz\\r\n");
}

TEST(Sha256Sums, BothFormsAreRead) {
  const auto files = parse_sha256sums(kOne + "  a\n" + kTwo + " *b\r\n\nSHA256 (c) d) = " + kOne +
                                      "\n\\" + kOne + "  x\\\\y\\nz");
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->size(), 4u);
  EXPECT_EQ((*files)[0].name, "a");
  EXPECT_EQ((*files)[1].name, "b");
  EXPECT_EQ((*files)[2].name, "c) d");
  EXPECT_EQ((*files)[3].name, "x\\y\nz");
}

TEST(Sha256Sums, WhatSha256sumChecksIsRead) {
  const auto files =
      parse_sha256sums("# sums\n" + std::string(64, 'A') + "  ./a\n" + kTwo + " *.//./b/c\n" +
                       "SHA256 (./d) = " + kOne + "\n" + kOne + "  a\n");
  ASSERT_TRUE(files) << files.error().text();
  ASSERT_EQ(files->size(), 3u);
  EXPECT_EQ((*files)[0].name, "a");
  EXPECT_EQ((*files)[0].sha256, kOne);
  EXPECT_EQ((*files)[1].name, "b/c");
  EXPECT_EQ((*files)[2].name, "d");
}

TEST(Sha256Sums, RejectsUnparsableLines) {
  for (const std::string& line :
       {std::string("short  a"), kOne + " a", kOne + "  ", kOne + "  ./",
        std::string(64, 'g') + "  a",
        "\\" + kOne + "  a\\q", "SHA256 (a = " + kOne}) {
    const auto files = parse_sha256sums(kOne + "  ok\n" + line + "\n");
    ASSERT_FALSE(files) << line;
    EXPECT_TRUE(files.error().text().starts_with("line 2: ")) << files.error().text();
  }
}

TEST(Sha256Sums, AFileListedTwiceHasOneDigest) {
  const auto twice = parse_sha256sums(kOne + "  a\n" + kTwo + "  b\n" + kOne + " *a\n");
  ASSERT_TRUE(twice) << twice.error().text();
  EXPECT_EQ(twice->size(), 2u);
  const auto torn = parse_sha256sums(kOne + "  a\n" + kTwo + "  a\n");
  ASSERT_FALSE(torn);
  EXPECT_EQ(torn.error().text(), "line 2: a: listed before with another digest");
}

TEST(LfsPointer, HasItsOneForm) {
  EXPECT_EQ(render_lfs_pointer({"w", kOne, 12345}),
            "version https://git-lfs.github.com/spec/v1\noid sha256:" + kOne + "\nsize 12345\n");
  EXPECT_EQ(render_lfs_pointer({"empty", kOne, 0}), "");
}

// A model of two files whose statement, hint and signature were made with OpenSSL and accepted by
// model_signing 1.1.1.
Manifest tiny_model() {
  return {
      "tiny-model",
      std::vector<std::string>{".git", ".gitattributes", ".github", ".gitignore", "model.sig"},
      {{"model.safetensors", "9bbcbf73561f6bc5d0a17ea6a2081feed2d1304e87602d8c502d9a5c4bd85576",
        16},
       {"config.json", "b64d62c95f44639a7423378bfd48f5645d0d9119aacb894a27a72d9e02f577c0", 22}}};
}

constexpr std::string_view kTinyPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELwzjIO9/Ian6YgonJOgoKxxOSuTM\n"
    "uoJs3GclgVAIDwtVD1HySgVnBDVlLaTu0rXJn8sm9bDgux+oF3FyLnalTQ==\n"
    "-----END PUBLIC KEY-----\n";

Bundle tiny_bundle() {
  const std::string json =
      R"({"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json",)"
      R"("verificationMaterial":{"publicKey":{"hint":)"
      R"("1c7264309852f178cec05ef53b0b9ee838bcca7f4a11c79750a36b1e3f95ac05"}},)"
      R"("dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json",)"
      R"("signatures":[{"sig":"MEUCIQCxz9RL78x8dh5u6chJogfzif7G58b6FuFEjfuqw/JwNQIgQxQ0l8uHzwX+)"
      R"(7/Lf1i6IsSKzMs5CSHlIOq1LAJv2ou8="}]}})";
  Result<Bundle> bundle = parse_bundle(json);
  EXPECT_TRUE(bundle) << bundle.error().text();
  Bundle out = bundle ? std::move(*bundle) : Bundle();
  out.payload = render_statement(tiny_model());
  return out;
}

TEST(ModelSignature, TheStatementIsTheKnownOne) {
  const std::string statement = render_statement(tiny_model());
  EXPECT_EQ(statement.size(), 648u);
  EXPECT_EQ(digest_of(statement),
            "f71deaba5cb69a2bef290a24cb16ead4c2ddc8bd10e2ee7cd55dd49c358f8190");
  const auto manifest = parse_statement(statement);
  ASSERT_TRUE(manifest) << manifest.error().text();
  EXPECT_EQ(manifest->model, "tiny-model");
  ASSERT_EQ(manifest->files.size(), 2u);
  EXPECT_EQ(manifest->files[0].name, "config.json");
  EXPECT_EQ(manifest->ignored->size(), 5u);
}

TEST(ModelSignature, AKnownSignatureIsAccepted) {
  const Status verified = verify_with_key(tiny_bundle(), kTinyPublicKey);
  EXPECT_TRUE(verified) << verified.error().text();
}

TEST(ModelSignature, AnyChangeIsNoticed) {
  for (size_t i = 0; i < 648; i += 37) {
    Bundle bundle = tiny_bundle();
    bundle.payload[i] = static_cast<char>(bundle.payload[i] ^ 1);
    EXPECT_FALSE(verify_with_key(bundle, kTinyPublicKey)) << i;
  }
  Bundle bundle = tiny_bundle();
  bundle.signature[12] = static_cast<char>(bundle.signature[12] ^ 1);
  EXPECT_FALSE(verify_with_key(bundle, kTinyPublicKey));
  bundle = tiny_bundle();
  bundle.key_hint[0] = bundle.key_hint[0] == '0' ? '1' : '0';
  const Status other = verify_with_key(bundle, kTinyPublicKey);
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().what.starts_with("signed by key ")) << other.error().text();
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST(ModelSignature, StatementsThatDoNotHoldAreRefused) {
  const std::string good = render_statement(tiny_model());
  const std::pair<std::string_view, std::string_view> edits[] = {
      {"9e5e19d1", "9e5e19d2"},  // root digest
      {"\"method\":\"files\"", "\"method\":\"shards\""},
      {"\"hash_type\":\"sha256\"", "\"hash_type\":\"blake2b\""},
      {"\"algorithm\":\"sha256\"", "\"algorithm\":\"SHA256\""},
      {"\"config.json\"", "\"../config.json\""},
      {"\"config.json\"", "\"/config.json\""},
      {"\"config.json\"", "\"model.safetensors\""},  // twice
      {"\".git\"", "\".\""},                         // ignores all
      {"\".git\"", "\"../x\""},
      {"in-toto.io/Statement/v1", "in-toto.io/Statement/v0.1"},
      {"model_signing/signature/v1.0", "slsa.dev/provenance/v1"},
      {"\"resources\"", "\"resource\""},
  };
  for (const auto& [from, to] : edits) {
    EXPECT_FALSE(parse_statement(replaced(good, from, to))) << from << " -> " << to;
  }
}

TEST(ModelSignature, RejectsInvalidBundles) {
  const std::string good = render_bundle(tiny_bundle());
  ASSERT_TRUE(parse_bundle(good));
  EXPECT_FALSE(parse_bundle(""));
  EXPECT_FALSE(parse_bundle("[]"));
  EXPECT_FALSE(parse_bundle(std::string(100'000, '[')));
  EXPECT_FALSE(parse_bundle(replaced(good, "v0.3+json", "+json;version=0.3")));
  EXPECT_FALSE(parse_bundle(replaced(good, "\"publicKey\"", "\"certificate\"")));
  EXPECT_FALSE(parse_bundle(replaced(good, "in-toto+json", "other+json")));
  EXPECT_FALSE(parse_bundle(replaced(good, "\"sig\":\"", "\"sig\":\"*")));
}

TEST(ModelSignature, KeysOfAllThreeCurvesSignAndVerify) {
  for (const std::string curve : {"p256", "p384", "p521", "p256-encrypted"}) {
    Signer signer;
    signer.private_key_pem = read_file(testdata("publish/" + curve + ".pem"));
    if (curve == "p256-encrypted") signer.password = "secret";
    const auto bundle = sign(render_statement(tiny_model()), signer);
    ASSERT_TRUE(bundle) << curve << ": " << bundle.error().text();
    const auto again = parse_bundle(render_bundle(*bundle));
    ASSERT_TRUE(again);
    const std::string own = read_file(testdata("publish/" + curve + ".pub"));
    const Status verified = verify_with_key(*again, own);
    EXPECT_TRUE(verified) << curve << ": " << verified.error().text();
    EXPECT_FALSE(verify_with_key(*again, kTinyPublicKey)) << curve;
  }
}

TEST(ModelSignature, OtherKeysAreRefusedByName) {
  for (const auto& [name, said] : {std::pair<std::string, std::string>{"ed25519", "ED25519"},
                                   {"rsa", "RSA"},
                                   {"secp256k1", "secp256k1"}}) {
    const auto bundle = sign("{}", {read_file(testdata("publish/" + name + ".pem")), {}, {}});
    ASSERT_FALSE(bundle) << name;
    EXPECT_NE(bundle.error().text().find(said), std::string::npos) << bundle.error().text();
  }
  EXPECT_FALSE(sign("{}", {"no key", {}, {}}));
  EXPECT_FALSE(sign("{}", {read_file(testdata("publish/p256-encrypted.pem")), "wrong", {}}));
}

Signer certified() {
  return {read_file(testdata("publish/leaf.pem")),
          {},
          read_file(testdata("publish/leaf.crt")) + read_file(testdata("publish/issuer.crt"))};
}

TEST(ModelSignature, CertificatesLeadToTheirAuthority) {
  const auto bundle = sign(render_statement(tiny_model()), certified());
  ASSERT_TRUE(bundle) << bundle.error().text();
  ASSERT_EQ(bundle->certificates.size(), 2u);
  const std::string root = read_file(testdata("publish/root.crt"));
  const std::string leaf = read_file(testdata("publish/leaf.crt"));
  const std::string stranger = read_file(testdata("publish/stranger.crt"));
  const auto who = verify_with_certificates(*bundle, {{}, root});
  ASSERT_TRUE(who) << who.error().text();
  EXPECT_EQ(*who, "CN=release");
  EXPECT_TRUE(verify_with_certificates(*bundle, {leaf, {}}));
  EXPECT_TRUE(verify_with_certificates(*bundle, {leaf, root}));
  EXPECT_FALSE(verify_with_certificates(*bundle, {{}, stranger}));
  EXPECT_FALSE(verify_with_certificates(*bundle, {stranger, root}));
  EXPECT_FALSE(verify_with_key(*bundle, kTinyPublicKey));
  Bundle changed = *bundle;
  changed.payload += " ";
  EXPECT_FALSE(verify_with_certificates(changed, {{}, root}));
}

TEST(ModelSignature, CertificateAndKeyMustBeAPairThatMaySign) {
  Signer signer = certified();
  signer.private_key_pem = read_file(testdata("publish/p256.pem"));
  EXPECT_FALSE(sign("{}", signer));
  signer = certified();
  signer.certificate_pem = read_file(testdata("publish/no-signing.crt"));
  const auto bundle = sign("{}", signer);
  ASSERT_FALSE(bundle);
  EXPECT_NE(bundle.error().text().find("is not for signing"), std::string::npos);
}

TEST(ModelSignature, IsTheSameWhereOnlyTheRandomNumberDiffers) {
  const Signer by_key{read_file(testdata("publish/p256.pem")), {}, {}};
  const Signer by_other{read_file(testdata("publish/p384.pem")), {}, {}};
  for (const Signer& signer : {by_key, certified()}) {
    const Bundle known = sign("{}", signer).value(), made = sign("{}", signer).value();
    EXPECT_NE(known.signature, made.signature);
    EXPECT_TRUE(is_same_signature(known, made, signer));
    Bundle broken = known;
    broken.signature.back() = static_cast<char>(broken.signature.back() ^ 1);
    EXPECT_FALSE(is_same_signature(broken, made, signer));
    EXPECT_FALSE(is_same_signature(sign("{ }", signer).value(), made, signer));
    EXPECT_FALSE(is_same_signature(sign("{}", by_other).value(), made, signer));
  }
}

TEST(ProvenanceFile, EqualRunsGiveEqualBytes) {
  const Provenance provenance{
      {{"w", kOne, 1}}, {{"base", {{"w", kTwo, 1}}}}, "{\"to\": \"nvfp4\"}", "", "0.1.0", ""};
  const auto a = render_provenance(provenance), b = render_provenance(provenance);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a, *b);
  EXPECT_NE(a->find("\"base/w\""), std::string::npos);
  EXPECT_EQ(a->find("finishedOn"), std::string::npos);
  Provenance broken = provenance;
  broken.recipe = "{";
  EXPECT_FALSE(render_provenance(broken));
}

}  // namespace
}  // namespace ckpt
