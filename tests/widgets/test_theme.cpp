#include "support/test_main.h"
#include "widgets/style_sheet.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QDialog>
#include <QFile>
#include <QImage>
#include <QPushButton>
#include <QRegularExpression>
#include <QSet>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <vector>

using namespace twb;

namespace {

double luminance(const QColor& color) {
    const auto linear = [](double c) {
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

/// Contrast by WCAG 2.1: at least 4.5 for small text, 3 for shapes and large text.
double contrast(const QColor& a, const QColor& b) {
    const double x = luminance(a);
    const double y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

using Rgb = std::array<double, 3>;
using Matrix = std::array<Rgb, 3>;

Rgb operator*(const Matrix& m, const Rgb& v) {
    Rgb out{};
    for (std::size_t i = 0; i < 3; ++i) out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
    return out;
}

/// A colour as it is seen with a kind of colour-blindness, in OKLab. `sight` acts on linear RGB; from
/// Machado, Oliveira and Fernandes 2009, severity 1. OKLab: Ottosson 2020.
Rgb seen(const QColor& color, const Matrix& sight) {
    const auto linear = [](double c) {
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    Rgb rgb = sight * Rgb{linear(color.redF()), linear(color.greenF()), linear(color.blueF())};
    for (double& c : rgb) c = std::clamp(c, 0.0, 1.0);
    Rgb cone = Matrix{{{0.4122214708, 0.5363325363, 0.0514459929},
                       {0.2119034982, 0.6806995451, 0.1073969566},
                       {0.0883024619, 0.2817188376, 0.6299787005}}} *
               rgb;
    for (double& c : cone) c = std::cbrt(c);
    return Matrix{{{0.2104542553, 0.7936177850, -0.0040720468},
                   {1.9779984951, -2.4285922050, 0.4505937099},
                   {0.0259040371, 0.7827717662, -0.8086757660}}} *
           cone;
}

/// The least distance of two colours, over normal sight and three kinds of colour-blindness. 0.02 is about
/// the least difference that people see.
double leastDistance(const std::vector<QColor>& colors) {
    constexpr Matrix sights[] = {
        {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
        {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
        {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
        {{{1.255528, -0.076749, -0.178779},
          {-0.078411, 0.930809, 0.147602},
          {0.004733, 0.691367, 0.303900}}}};
    double least = 1;
    for (const Matrix& sight : sights)
        for (std::size_t i = 0; i < colors.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const Rgb a = seen(colors[i], sight);
                const Rgb b = seen(colors[j], sight);
                least = std::min(least, std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
            }
    return least;
}

/// The grounds that the style sheet makes of a token and its opacity, "@accent-18" for instance, and the
/// texts on them.
void textOnWashesIsLegible(const Theme& t) {
    const auto wash = [&](const char* rule) {
        const QRegularExpression color(
            QRegularExpression::escape(QLatin1String(rule)) +
            QStringLiteral("[^}]*background: rgba\\((\\d+),(\\d+),(\\d+),(\\d+)%\\)"));
        const QRegularExpressionMatch found = color.match(styleSheet(t));
        const double share = found.captured(4).toInt() / 100.0;
        const auto mixed = [&](int part, int ground) {
            return int(std::lround(found.captured(part).toInt() * share + ground * (1 - share)));
        };
        return found.hasMatch()
                   ? QColor(mixed(1, t.panel.red()), mixed(2, t.panel.green()), mixed(3, t.panel.blue()))
                   : QColor();
    };
    const std::tuple<const char*, QColor, QColor> texts[] = {
        {"QPushButton[role=\"fix\"]:hover {", t.accent, t.accent},
        {"QPushButton[role=\"segment\"]:checked {", t.accent, t.accent},
        {"QTreeView::item:selected, QListView::item:selected, QTableView::item:selected {", t.text,
         t.secondaryText},
        {"QFrame[role=\"problem\"][severity=\"error\"] {", t.text, t.secondaryText},
        {"QFrame[role=\"problem\"][severity=\"warning\"] {", t.text, t.secondaryText},
        {"QFrame[role=\"problem\"][severity=\"note\"] {", t.text, t.accent},
        {"QFrame[role=\"notice\"] {", t.text, t.secondaryText},
        {"QLabel[role=\"modelled\"] {", t.warningInk(), t.warningInk()},
    };
    for (const auto& [rule, first, second] : texts) {
        const QColor ground = wash(rule);
        QVERIFY2(ground.isValid(), rule);
        QVERIFY2(contrast(first, ground) >= 4.5 && contrast(second, ground) >= 4.5,
                 qPrintable(QStringLiteral("%1 %2 %3")
                                .arg(QLatin1String(rule))
                                .arg(contrast(first, ground))
                                .arg(contrast(second, ground))));
    }
}

const std::vector<std::pair<const char*, const Theme*>> kThemes{
    {"dark", &Theme::dark()}, {"light", &Theme::light()}, {"high-contrast", &Theme::highContrast()}};

} // namespace

class TestTheme : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void textIsLegible_data();
    void textIsLegible();
    void highContrastIsHigher();
    void devicesAreToldApart();
    void colourBlindUsersTellColoursApart();
    void styleSheetIsComplete();
    void disabledButtonsLookDisabled_data() { textIsLegible_data(); }
    void disabledButtonsLookDisabled();
    void applyChangesTheCurrentTheme();
};

void TestTheme::textIsLegible_data() {
    QTest::addColumn<QString>("name");
    for (const auto& [name, theme] : kThemes) QTest::newRow(name) << QString::fromLatin1(name);
}

void TestTheme::textIsLegible() {
    QFETCH(QString, name);
    const Theme& t = Theme::named(name);
    QCOMPARE(t.isDark, name != QLatin1String("light"));
    for (const QColor& ground :
         {t.window, t.panel, t.raised, t.canvas, t.laneHeader, t.cpuLane, t.cudaLane}) {
        QVERIFY(contrast(t.text, ground) >= 7);
        QVERIFY(contrast(t.secondaryText, ground) >= 4.5);
        // Links, fixes, messages and badges are texts in these colours.
        for (const QColor& ink : {t.error, t.warning, t.accent})
            QVERIFY2(contrast(ink, ground) >= 4.5,
                     qPrintable(ink.name() + QStringLiteral(" on ") + ground.name()));
        QVERIFY(contrast(t.good, ground) >= 3);
    }
    for (const QColor& ground : {t.canvas, t.cpuLane, t.cudaLane})
        for (const FrameColor title :
             {FrameColor::none, FrameColor::blue, FrameColor::teal, FrameColor::green, FrameColor::yellow,
              FrameColor::orange, FrameColor::pink, FrameColor::purple})
            QVERIFY2(contrast(t.frame(title), ground) >= 4.5, qPrintable(t.frame(title).name()));
    textOnWashesIsLegible(t);
    for (const QColor& ground : {t.laneHeader, t.raised}) {
        QVERIFY(contrast(t.warningInk(), ground) >= 4.5);
        for (const Device device : {Device::cpu(), Device::cuda(0), Device::cuda(1)})
            QVERIFY2(contrast(t.deviceInk(device), ground) >= 4.5, device.toString().c_str());
    }
    QVERIFY(contrast(t.onAccent, t.accent) >= 4.5);
    for (std::size_t i = 0; i < 12; ++i)
        QVERIFY2(contrast(t.series(i), t.panel) >= 3, qPrintable(QString::number(i)));
}

void TestTheme::highContrastIsHigher() {
    const Theme& t = Theme::highContrast();
    for (const QColor& ground :
         {t.window, t.panel, t.raised, t.canvas, t.laneHeader, t.cpuLane, t.cudaLane}) {
        QVERIFY(contrast(t.text, ground) >= 14);
        QVERIFY(contrast(t.secondaryText, ground) >= 7);
        QVERIFY(contrast(t.disabledText, ground) >= 4.5);
        QVERIFY(contrast(t.border, ground) >= 3);
        for (const QColor& mark :
             {t.error, t.warning, t.good, t.accent, t.floatWire, t.integerWire, t.boolWire})
            QVERIFY(contrast(mark, ground) >= 4.5);
    }
}

void TestTheme::colourBlindUsersTellColoursApart() {
    for (const auto& [name, t] : kThemes) {
        const double devices =
            leastDistance({t->device(Device::cpu()), t->device(Device::cuda(0)), t->device(Device::cuda(1))});
        QVERIFY2(devices >= 0.08, qPrintable(QStringLiteral("%1: %2").arg(QLatin1String(name)).arg(devices)));
        const double series = leastDistance({t->series(0), t->series(1), t->series(2), t->series(3)});
        QVERIFY2(series >= 0.075, qPrintable(QStringLiteral("%1: %2").arg(QLatin1String(name)).arg(series)));
        const double wires =
            leastDistance({t->wire(DType::f32), t->wire(DType::i64), t->wire(DType::boolean)});
        QVERIFY2(wires >= 0.06, qPrintable(QStringLiteral("%1: %2").arg(QLatin1String(name)).arg(wires)));
    }
}

void TestTheme::devicesAreToldApart() {
    for (const auto& [name, t] : kThemes) {
        QSet<QRgb> seen{t->device(Device::cpu()).rgb()};
        for (int i = 0; i < 8; ++i) {
            const QRgb color = t->device(Device::cuda(i)).rgb();
            QVERIFY(!seen.contains(color));
            seen.insert(color);
        }
        QVERIFY(t->wire(DType::f32) != t->wire(DType::i64));
        QVERIFY(t->wire(DType::i64) != t->wire(DType::boolean));
    }
}

void TestTheme::styleSheetIsComplete() {
    QApplication& app = *qobject_cast<QApplication*>(qApp);
    for (const auto& [name, t] : kThemes) {
        Theme::apply(app, *t);
        const QString sheet = styleSheet(*t);
        QVERIFY(!sheet.contains(QLatin1Char('@'))); // all tokens were replaced
        QRegularExpressionMatchIterator images =
            QRegularExpression(QStringLiteral("url\\(([^)]+)\\)")).globalMatch(sheet);
        int count = 0;
        while (images.hasNext()) {
            const QString path = images.next().captured(1);
            QVERIFY2(QFile::exists(path), qPrintable(path));
            ++count;
        }
        QVERIFY(count > 3);
    }
}

/// Segments, links and default buttons kept their colour.
void TestTheme::disabledButtonsLookDisabled() {
    QFETCH(QString, name);
    Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::named(name));
    for (const char* role : {"", "segment", "link", "compact", "fix", "primary"}) {
        QPushButton button(QStringLiteral("Train"));
        if (*role) button.setProperty("role", QLatin1String(role));
        button.setFocusPolicy(Qt::NoFocus);
        button.resize(button.sizeHint());
        const QImage enabled = button.grab().toImage();
        button.setEnabled(false);
        QVERIFY2(button.grab().toImage() != enabled, role);
    }
    // The default button of a dialog, in the accent.
    QDialog dialog;
    auto* button = new QPushButton(QStringLiteral("Run"), &dialog);
    button->setDefault(true);
    dialog.show();
    const QImage enabled = button->grab().toImage();
    button->setEnabled(false);
    const QImage disabled = button->grab().toImage();
    QVERIFY(disabled.pixelColor(8, 8) != enabled.pixelColor(8, 8)); // not only the text
}

void TestTheme::applyChangesTheCurrentTheme() {
    QApplication& app = *qobject_cast<QApplication*>(qApp);
    Theme::apply(app, Theme::light());
    QCOMPARE(&Theme::current(), &Theme::light());
    QCOMPARE(app.palette().color(QPalette::Window), Theme::light().window);
    Theme::apply(app, Theme::dark());
    QCOMPARE(&Theme::current(), &Theme::dark());
    QVERIFY(font(TextRole::figure).family() != font(TextRole::body).family());
    QCOMPARE(font(TextRole::panelTitle).pixelSize(), 15);
}

TWB_GUI_TEST_MAIN(TestTheme)
#include "test_theme.moc"
