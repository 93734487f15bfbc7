#pragma once

#include <string>
#include <string_view>

namespace twb {

/// `text` as it may stand in an element or a quoted attribute of XML and HTML: markup is escaped, lines stay,
/// and what those do not allow is shown as printable() shows it.
std::string escaped(std::string_view text);

} // namespace twb
