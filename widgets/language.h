#pragma once

#include <QLocale>
#include <QString>
#include <QStringList>

namespace twb {

/// Sets the language of the window: its translation, that of Qt's own dialogs, and the locale of numbers and
/// dates. `language` is "en", "de", or empty for the system's language; English if there is no translation.
/// Call it before the first window is made. Files, reports and clipboard data are the same in all languages.
void useLanguage(const QString& language);

/// The language that useLanguage() takes: `language`, or if empty the first of `wanted` ("de-AT", "en-US",
/// in the order of preference) that the window speaks.
QString languageFor(const QString& language, const QStringList& wanted);

/// Reverses localized() (widgets/text.h), for data on the clipboard: "1.234,5 ms" becomes "1,234.5 ms".
QString withoutLocale(const QString& figure);

} // namespace twb
