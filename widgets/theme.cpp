#include "widgets/theme.h"

#include "widgets/plain_text.h"
#include "widgets/style_sheet.h"

#include <QApplication>
#include <QFontDatabase>
#include <QStyleFactory>
#include <QStyleHints>

#include <array>

/// Outside any namespace, as Qt's macro requires; without it, a static library's resources are not found.
static void loadIcons() { Q_INIT_RESOURCE(icons); }

namespace twb {
namespace {

const Theme* inUse = nullptr;

bool isDark(const QPalette& palette) { return palette.color(QPalette::Window).lightness() < 128; }

/// The desktop's palette before the first theme replaced it.
const QPalette& desktopPalette() {
    static const QPalette palette = QGuiApplication::palette();
    return palette;
}

QColor mixed(const QColor& base, const QColor& over, double share) {
    return QColor::fromRgbF(static_cast<float>(base.redF() * (1 - share) + over.redF() * share),
                            static_cast<float>(base.greenF() * (1 - share) + over.greenF() * share),
                            static_cast<float>(base.blueF() * (1 - share) + over.blueF() * share));
}

Theme makeDark() {
    Theme t;
    t.isDark = true;
    t.window = QColor(0x16181D);
    t.panel = QColor(0x1C1F26);
    t.raised = QColor(0x232731);
    t.canvas = QColor(0x121419);
    t.dotGrid = QColor(0x242933);
    t.border = QColor(0x2C323D);
    t.laneHeader = QColor(0x20242D);
    t.cpuLane = QColor(0x171B22);
    t.cudaLane = QColor(0x151C18);
    t.text = QColor(0xE8EBF1);
    t.secondaryText = QColor(0x9BA5B5);
    t.disabledText = QColor(0x5D6777);
    t.accent = QColor(0x6EA8FE);
    t.onAccent = QColor(0x0C1424);
    t.error = QColor(0xFF7070);
    t.warning = QColor(0xF2B84B);
    t.good = QColor(0x4CC38A);
    t.floatWire = QColor(0x8AB4F8);
    t.integerWire = QColor(0xE8B260);
    t.boolWire = QColor(0xF28FAD);
    return t;
}

Theme makeLight() {
    Theme t;
    t.isDark = false;
    t.window = QColor(0xF3F4F7);
    t.panel = QColor(0xFFFFFF);
    t.raised = QColor(0xFFFFFF);
    t.canvas = QColor(0xFAFBFC);
    t.dotGrid = QColor(0xE3E6EC);
    t.border = QColor(0xD7DCE4);
    t.laneHeader = QColor(0xEEF0F4);
    t.cpuLane = QColor(0xF4F7FB);
    t.cudaLane = QColor(0xF3F9F0);
    t.text = QColor(0x1A1E26);
    t.secondaryText = QColor(0x566072);
    t.disabledText = QColor(0x98A1AF);
    t.accent = QColor(0x2962C3);
    t.onAccent = QColor(0xFFFFFF);
    t.error = QColor(0xC93236);
    t.warning = QColor(0x9C5D00);
    t.good = QColor(0x1E8E5A);
    t.floatWire = QColor(0x3B78E7);
    t.integerWire = QColor(0xB87A14);
    t.boolWire = QColor(0xC2477A);
    return t;
}

Theme makeHighContrast() {
    Theme t = makeDark();
    t.window = QColor(Qt::black);
    t.panel = QColor(Qt::black);
    t.raised = QColor(0x14161A);
    t.canvas = QColor(Qt::black);
    t.dotGrid = QColor(0x3A3F48);
    t.border = QColor(0x8A919E);
    t.laneHeader = QColor(0x0E1013);
    t.cpuLane = QColor(Qt::black);
    t.cudaLane = QColor(Qt::black);
    t.text = QColor(0xFFFFFF);
    t.secondaryText = QColor(0xDDE2EA);
    t.disabledText = QColor(0xA3ABB8);
    t.onAccent = QColor(Qt::black);
    t.error = QColor(0xFF8F8F);
    t.warning = QColor(0xFFD166);
    t.good = QColor(0x6FF0A8);
    t.floatWire = QColor(0x9CCBFF);
    t.integerWire = QColor(0xFFC857);
    t.boolWire = QColor(0xFF9CC2);
    return t;
}

/// The first of these families that is installed, else the system's font of that kind.
QString family(std::initializer_list<const char*> wanted, QFontDatabase::SystemFont otherwise) {
    for (const char* name : wanted)
        if (QFontDatabase::hasFamily(QString::fromLatin1(name))) return QString::fromLatin1(name);
    return QFontDatabase::systemFont(otherwise).family();
}

QFont makeFont(const QString& family, int pixels, QFont::Weight weight) {
    QFont f(family);
    f.setPixelSize(pixels);
    f.setWeight(weight);
    f.setHintingPreference(QFont::PreferNoHinting);
    return f;
}

std::array<QFont, 9> makeFonts() {
    const QString sans = family({"Inter", "Inter Variable", "Inter Display"}, QFontDatabase::GeneralFont);
    const QString mono = family({"JetBrains Mono"}, QFontDatabase::FixedFont);
    QFont caps = makeFont(sans, 10, QFont::DemiBold);
    caps.setCapitalization(QFont::AllUppercase);
    caps.setLetterSpacing(QFont::AbsoluteSpacing, 0.5);
    return {caps,
            makeFont(sans, 11, QFont::Normal),
            makeFont(sans, 12, QFont::Normal),
            makeFont(sans, 12, QFont::DemiBold),
            makeFont(sans, 13, QFont::DemiBold),
            makeFont(sans, 15, QFont::DemiBold),
            makeFont(sans, 16, QFont::DemiBold),
            makeFont(mono, 12, QFont::Normal),
            makeFont(mono, 11, QFont::Normal)};
}

} // namespace

QColor Theme::device(Device device) const {
    static constexpr QRgb darkAccents[] = {0x8AD65E, 0xE0A8F5};
    static constexpr QRgb lightAccents[] = {0x3F8F1E, 0x9A58CC};
    if (device.isCpu()) return isDark ? QColor(0x8596B5) : QColor(0x4A5F80);
    if (device.isAuto()) return secondaryText;
    const auto& accents = isDark ? darkAccents : lightAccents;
    // The GPUs of another rank have the accents after those of a few GPUs of the rank before.
    constexpr int kOfARank = 3;
    const int number = device.index + kOfARank * device.rank;
    if (number < 2) return QColor(accents[number]);
    const QColor second(accents[1]);
    // The golden angle separates neighbouring hues for any number of devices.
    const int hue = (second.hsvHue() + 137 * (number - 1)) % 360;
    return QColor::fromHsv(hue, second.hsvSaturation(), second.value());
}

QColor Theme::deviceInk(Device device) const {
    const QColor accent = this->device(device);
    return isDark ? accent : accent.darker(128);
}

QColor Theme::severity(Severity severity) const {
    return severity == Severity::error ? error : severity == Severity::warning ? warning : accent;
}

QColor Theme::warningInk() const { return isDark ? warning : warning.darker(128); }

QColor Theme::laneBackground(Device device) const {
    if (device.isCpu() || device.isAuto()) return cpuLane;
    if (device == Device::cuda(0)) return cudaLane;
    return mixed(canvas, this->device(device), 0.06);
}

QColor Theme::wire(DType dtype) const {
    if (dtype == DType::boolean) return boolWire;
    return holdsFractions(dtype) ? floatWire : integerWire;
}

QColor Theme::frame(FrameColor color) const {
    switch (color) {
    case FrameColor::blue:
        return accent;
    case FrameColor::teal:
        return isDark ? QColor(0x35bfa8) : QColor(0x0d7a6a);
    case FrameColor::green:
        return isDark ? QColor(0x7cc651) : QColor(0x357a19);
    case FrameColor::yellow:
        return isDark ? QColor(0xe8c15a) : QColor(0x876500);
    case FrameColor::orange:
        return isDark ? QColor(0xf09a5b) : QColor(0xb0540f);
    case FrameColor::pink:
        return isDark ? QColor(0xf28fad) : QColor(0xbb3f70);
    case FrameColor::purple:
        return isDark ? QColor(0xb79bf2) : QColor(0x7349c9);
    case FrameColor::none:
        break;
    }
    return secondaryText;
}

QColor Theme::series(std::size_t index) const {
    static constexpr QRgb darkSeries[] = {0xE9B452, 0x68D7A1, 0xDD84AF};
    static constexpr QRgb lightSeries[] = {0xB77610, 0x175C3E, 0xC93F76};
    const auto& others = isDark ? darkSeries : lightSeries;
    if (index == 0) return accent;
    if (index <= std::size(others)) return QColor(others[index - 1]);
    const int hue = int(accent.hsvHue() + 137 * (index - std::size(others) + 1)) % 360;
    return QColor::fromHsv(hue, isDark ? 120 : 190, isDark ? 235 : 150);
}

QPalette Theme::palette() const {
    QPalette p;
    p.setColor(QPalette::Window, window);
    p.setColor(QPalette::WindowText, text);
    p.setColor(QPalette::Base, panel);
    p.setColor(QPalette::AlternateBase, raised);
    p.setColor(QPalette::Text, text);
    p.setColor(QPalette::PlaceholderText, secondaryText);
    p.setColor(QPalette::Button, raised);
    p.setColor(QPalette::ButtonText, text);
    p.setColor(QPalette::BrightText, error);
    p.setColor(QPalette::ToolTipBase, raised);
    p.setColor(QPalette::ToolTipText, text);
    p.setColor(QPalette::Highlight, accent);
    p.setColor(QPalette::HighlightedText, onAccent);
    p.setColor(QPalette::Link, accent);
    p.setColor(QPalette::LinkVisited, accent);
    p.setColor(QPalette::Light, mixed(raised, text, 0.1));
    p.setColor(QPalette::Midlight, border);
    p.setColor(QPalette::Mid, border);
    p.setColor(QPalette::Dark, border);
    p.setColor(QPalette::Shadow, window);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, disabledText);
    p.setColor(QPalette::Disabled, QPalette::Highlight, border);
    p.setColor(QPalette::Disabled, QPalette::HighlightedText, disabledText);
    return p;
}

const Theme& Theme::dark() {
    static const Theme theme = makeDark();
    return theme;
}

const Theme& Theme::light() {
    static const Theme theme = makeLight();
    return theme;
}

const Theme& Theme::highContrast() {
    static const Theme theme = makeHighContrast();
    return theme;
}

const Theme& Theme::named(const QString& name) {
    if (name == QLatin1String("dark")) return dark();
    if (name == QLatin1String("light")) return light();
    if (name == QLatin1String("high-contrast")) return highContrast();
    return ofSystem();
}

const Theme& Theme::current() { return inUse ? *inUse : dark(); }

void Theme::apply(QApplication& app, const Theme& theme) {
    desktopPalette();
    const bool first = inUse == nullptr;
    inUse = &theme;
    if (first) {
        loadIcons();
        app.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
        showTextsLiterally(app);
    }
    app.setFont(font(TextRole::body));
    app.setPalette(theme.palette());
    app.setStyleSheet(styleSheet(theme));
}

const Theme& Theme::ofSystem() {
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
    switch (QGuiApplication::styleHints()->colorScheme()) {
    case Qt::ColorScheme::Dark:
        return dark();
    case Qt::ColorScheme::Light:
        return light();
    case Qt::ColorScheme::Unknown:
        break;
    }
#endif
    return twb::isDark(desktopPalette()) ? dark() : light();
}

const QFont& font(TextRole role) {
    static const std::array<QFont, 9> fonts = makeFonts();
    return fonts[static_cast<std::size_t>(role)];
}

} // namespace twb
