#pragma once

#include <string>
#include <string_view>

namespace twb {

/// `text` for an element or a quoted attribute of XML or HTML: markup is escaped, line ends stay, and
/// characters that XML forbids are shown as in printable().
std::string escaped(std::string_view text);

} // namespace twb
