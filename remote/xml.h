// Extracts elements from the XML with which S3 and STS answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// The texts of all elements `name`, undecoded. Elements of one name do not nest in S3's answers.
std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name);
// The decoded text of the first element `name`; "" if there is none.
std::string xml_element(std::string_view xml, std::string_view name);

}  // namespace ckpt
