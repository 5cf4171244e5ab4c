// Targets of publish --to: a file that changed after it was hashed never gets a name under the old
// digest.
#include "plan/publish_to/publish_to.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "core/engine/compare.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Shipment shipment_in(const fs::path& folder) {
  Shipment out{folder, {}};
  for (const auto& entry : fs::directory_iterator(folder)) {
    struct stat status {};
    EXPECT_EQ(::stat(entry.path().c_str(), &status), 0);
    out.files.push_back(
        {entry.path().filename().string(), hash_file(entry.path()).value(), entry.file_size()});
    out.states.push_back(state_of(status));
  }
  return out;
}

TEST(PublishTo, RefusesAFileThatChangedSinceItWasHashed) {
  TemporaryFolder scratch;
  fs::create_directories(scratch / "release");
  fs::create_directories(scratch / "models");
  Conversion conversion;
  conversion.in = testdata("qwen3-micro");
  conversion.out = scratch / "release/m.gguf";
  ASSERT_TRUE(run(conversion));
  const Shipment shipment = shipment_in(scratch / "release");
  const auto time = fs::last_write_time(conversion.out);
  fs::last_write_time(conversion.out, time + std::chrono::seconds(2));
  ::setenv("OLLAMA_MODELS", (scratch / "models").c_str(), 1);

  Observer observer;
  const auto target = find_publish_target("ollama:m");
  ASSERT_TRUE(target);
  const auto sent = (*target)->send("ollama:m", shipment, {.observer = &observer});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kCorrupt) << sent.error().text();
  EXPECT_EQ(listing(scratch / "models").find("manifests"), std::string::npos);

  fs::last_write_time(conversion.out, time);
  const auto again = (*target)->send("ollama:m", shipment, {.observer = &observer});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_NE(listing(scratch / "models").find("library/m/latest"), std::string::npos);
}

}  // namespace
}  // namespace ckpt
