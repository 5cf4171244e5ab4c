// Elements of the XML that S3 and STS answer with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt {

// The texts of all elements `name`, as they are in `xml`; elements of one name do not nest in S3's
// answers.
std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name);
// The text of the first element `name` of an answer, decoded; "" without one.
std::string xml_element(std::string_view xml, std::string_view name);

}  // namespace ckpt
