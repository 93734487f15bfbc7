#include "widgets/language.h"

#include <QCoreApplication>
#include <QFile>
#include <QRegularExpression>
#include <QTranslator>

#include <clocale>

#ifdef TWB_TRANSLATIONS
/// Of the static library; Q_INIT_RESOURCE must be outside of namespaces.
static void loadTranslations() { Q_INIT_RESOURCE(translations); }
#else
static void loadTranslations() {}
#endif

namespace twb {
namespace {

QString translationOf(const QString& catalogue, const QString& language) {
    return QStringLiteral(":/twb/translations/%1_%2.qm").arg(catalogue, language);
}

/// The system's locale also has the user's choices of separators and dates.
QLocale localeFor(const QString& chosen) {
    const QLocale system = QLocale::system();
    if (chosen.isEmpty()) return system.language() == QLocale::C ? QLocale(QLocale::English) : system;
    const QLocale locale(chosen);
    return system.language() == locale.language() ? system : locale;
}

} // namespace

QString languageFor(const QString& language, const QStringList& wanted) {
    loadTranslations();
    QString english = QStringLiteral("en");
    for (const QString& tag : language.isEmpty() ? wanted : QStringList{language}) {
        QString code = tag.section(QLatin1Char('-'), 0, 0);
        if (code == english || QFile::exists(translationOf(QStringLiteral("tensor-workbench"), code)))
            return code;
    }
    return english;
}

void useLanguage(const QString& language) {
    // Qt sets the C library's locale, in which the engine and other libraries would read "0.5" as 0.
    std::setlocale(LC_NUMERIC, "C");
    QLocale::setDefault(localeFor(language));
    const QString spoken = languageFor(language, QLocale::system().uiLanguages());
    for (const char* catalogue : {"qtbase", "tensor-workbench"}) {
        auto* translator = new QTranslator(QCoreApplication::instance());
        if (translator->load(translationOf(QLatin1String(catalogue), spoken)))
            QCoreApplication::installTranslator(translator);
        else
            delete translator;
    }
}

QString withoutLocale(const QString& figure) {
    const QLocale locale;
    const QRegularExpression separator(QStringLiteral("(?<=\\d)(%1|%2)(?=\\d)")
                                           .arg(QRegularExpression::escape(locale.decimalPoint()),
                                                QRegularExpression::escape(locale.groupSeparator())));
    QString out;
    qsizetype from = 0;
    for (const QRegularExpressionMatch& match : separator.globalMatch(figure)) {
        out += figure.mid(from, match.capturedStart() - from);
        out += match.captured() == locale.decimalPoint() ? QLatin1Char('.') : QLatin1Char(',');
        from = match.capturedEnd();
    }
    return out + figure.mid(from);
}

} // namespace twb
