#pragma once

#include <QString>

#include <cstdint>
#include <string>
#include <string_view>

namespace twb {

/// Texts of the engine are UTF-8.
inline QString toQt(std::string_view text) { return QString::fromUtf8(text.data(), qsizetype(text.size())); }

/// "1,000": the same in every view for any locale, as in files and on the command line.
QString grouped(std::int64_t number);
/// "40.2 ms" below a second, then "1.9 s", "3 min 12 s".
QString duration(double ns);
/// Six significant digits, "NaN", "inf", in the shortest form.
QString compact(double value);

} // namespace twb
