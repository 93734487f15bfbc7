#pragma once

#include <QString>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace twb {

/// Texts of the engine are UTF-8.
inline QString toQt(std::string_view text) { return QString::fromUtf8(text.data(), qsizetype(text.size())); }

/// A figure of the engine ("1,234 ms", "7.8 GB/s") with the separators of the window's locale ("1.234 ms",
/// "7,8 GB/s"). Files and data on the clipboard keep the engine's separators.
QString localized(QString figure);
inline QString localized(std::string_view figure) { return localized(toQt(figure)); }

/// "1,000", with the locale's separators, like all figures below.
QString grouped(std::int64_t number);
/// "40.2 ms" below a second, then "1.9 s", "3 min 12 s".
QString duration(double ns);
/// The shortest text with at most `digits` significant digits: "0.5", "1e+09", "NaN", "inf".
QString compact(double value, int digits = 6);
/// "0.50", with this number of decimals.
QString fixed(double value, int decimals);
/// "12.5 %".
QString percentage(double percent, int decimals = 0);

/// A number as the user typed it: with the locale's decimal separator or a point, without groups; also "nan"
/// and "inf". Null if the text is not a number.
std::optional<double> typedNumber(const QString& text);

} // namespace twb
