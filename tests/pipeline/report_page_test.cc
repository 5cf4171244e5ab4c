#include "tools/report/page.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(ReportPage, HasOnePlaceForItsData) {
  const std::size_t at = kReportPage.find("/*DATA*/null");
  ASSERT_NE(at, std::string_view::npos);
  EXPECT_EQ(kReportPage.find("/*DATA*/null", at + 1), std::string_view::npos);
}

TEST(ReportPage, IsWholeAndLoadsNothing) {
  EXPECT_TRUE(kReportPage.starts_with("<!doctype html>"));
  EXPECT_TRUE(kReportPage.ends_with("</html>\n"));
  EXPECT_LE(kReportPage.size(), 150'000u);
  for (const char* loads : {"src=\"", "rel=\"stylesheet\"", "url(", "@import", "fetch(", "eval("}) {
    EXPECT_EQ(kReportPage.find(loads), std::string_view::npos) << loads;
  }
}

}  // namespace
}  // namespace ckpt
