#include "support/test_main.h"
#include "widgets/style_sheet.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QFile>
#include <QRegularExpression>
#include <QSet>

#include <cmath>

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

} // namespace

class TestTheme : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void textIsLegible_data();
    void textIsLegible();
    void devicesAreToldApart();
    void styleSheetIsComplete();
    void applyChangesTheCurrentTheme();
};

void TestTheme::textIsLegible_data() {
    QTest::addColumn<bool>("dark");
    QTest::newRow("dark") << true;
    QTest::newRow("light") << false;
}

void TestTheme::textIsLegible() {
    QFETCH(bool, dark);
    const Theme& t = dark ? Theme::dark() : Theme::light();
    QCOMPARE(t.isDark, dark);
    for (const QColor& ground :
         {t.window, t.panel, t.raised, t.canvas, t.laneHeader, t.cpuLane, t.cudaLane}) {
        QVERIFY(contrast(t.text, ground) >= 7);
        QVERIFY(contrast(t.secondaryText, ground) >= 4.5);
        for (const QColor& mark : {t.error, t.warning, t.good, t.accent})
            QVERIFY(contrast(mark, ground) >= 3);
    }
    for (const QColor& ground : {t.laneHeader, t.raised}) {
        QVERIFY(contrast(t.warningInk(), ground) >= 4.5);
        for (const Device device : {Device::cpu(), Device::cuda(0), Device::cuda(1)})
            QVERIFY2(contrast(t.deviceInk(device), ground) >= 4.5, device.toString().c_str());
    }
    QVERIFY(contrast(t.onAccent, t.accent) >= 4.5);
    for (std::size_t i = 0; i < 12; ++i)
        QVERIFY2(contrast(t.series(i), t.panel) >= 2.5, qPrintable(QString::number(i)));
}

void TestTheme::devicesAreToldApart() {
    for (const Theme* t : {&Theme::dark(), &Theme::light()}) {
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
    for (const Theme* t : {&Theme::dark(), &Theme::light()}) {
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
