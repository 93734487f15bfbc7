#include "support/graphs.h"
#include "support/test_main.h"
#include "widgets/labels.h"
#include "widgets/text.h"
#include "widgets/window_hand.h"

#include <QHelpEvent>
#include <QInputDialog>
#include <QLabel>
#include <QMenu>
#include <QTextDocumentFragment>
#include <QToolTip>

using namespace twb;
using namespace twb::test;

namespace {

using Integers = std::vector<std::int64_t>;

const std::string kName = "<b>fc1</b><img src='file:///etc/hostname'>";

/// The text of a tooltip as a person reads it.
QString shownTip() {
    const QString tip = QToolTip::text();
    return Qt::mightBeRichText(tip) ? QTextDocumentFragment::fromHtml(tip).toPlainText() : tip;
}

/// Rests the pointer on a position of a widget.
void restOn(QWidget& widget, QPoint at) {
    QToolTip::hideText();
    QTest::mouseMove(&widget, at);
    QHelpEvent event(QEvent::ToolTip, at, widget.mapToGlobal(at));
    QApplication::sendEvent(&widget, &event);
}

/// A mismatch between two nodes whose names look like HTML.
Graph namedLikeHtml() {
    GraphMaker maker;
    const NodeId a = maker.node("Ones", kName, "cpu", {{"shape", Integers{3}}});
    const NodeId b = maker.node("Ones", "b", "cuda:0", {{"shape", Integers{3}}});
    maker.node("Add", kName + "2", "cuda:0", {}, {a, b});
    return maker.graph();
}

} // namespace

/// Names of nodes, files and lanes are shown literally, also where they look like HTML.
class TestPlainText : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// A file can give a node a name of any length. Measured again for each word, this one would take hours.
    void aLongNameIsWrappedAtOnce() {
        const QString name = QStringLiteral("x ").repeated(200'000);
        const QStringList lines = wrapped(name, font(TextRole::body), 200, 2);
        QCOMPARE(lines.size(), qsizetype(2));
        QVERIFY(lines[0].startsWith(QLatin1String("x x ")));
        QVERIFY(lines[1].endsWith(QChar(0x2026)));
    }

    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void tooltipsOfRows() {
        WindowHand hand(namedLikeHtml());
        hand.window->showProblems();
        QCoreApplication::processEvents();
        int rows = 0;
        for (auto* view : hand.window->findChildren<QAbstractItemView*>()) {
            if (!view->isVisible() || !view->model()) continue;
            for (int row = 0; row < view->model()->rowCount(); ++row) {
                const QModelIndex index = view->model()->index(row, 0);
                const QString tip = index.data(Qt::ToolTipRole).toString();
                if (!tip.contains(toQt(kName))) continue;
                ++rows;
                restOn(*view->viewport(), view->visualRect(index).center());
                QCOMPARE(shownTip(), tip);
            }
        }
        QVERIFY(rows > 0);
    }

    void tooltipsAndLabelsOfTheInspector() {
        WindowHand hand(namedLikeHtml());
        const NodeId add = hand.graph().nodes().lastId();
        QTest::mouseClick(&hand.canvas, Qt::LeftButton, {}, hand.pixel(hand.shape(add).rect.center()));
        QCoreApplication::processEvents();
        int tips = 0;
        int labels = 0;
        for (auto* widget : hand.window->findChildren<QWidget*>()) {
            if (const auto* label = qobject_cast<QLabel*>(widget); label && label->isVisible()) {
                ++labels;
                QCOMPARE(label->textFormat(), Qt::PlainText);
            }
            if (!widget->isVisible() || !widget->toolTip().contains(toQt(kName))) continue;
            ++tips;
            restOn(*widget, widget->rect().center());
            QCOMPARE(shownTip(), widget->toolTip());
        }
        QVERIFY(tips > 0);
        QVERIFY(labels > 4);
    }

    void tooltipsOfMenus() {
        QMenu menu;
        menu.setToolTipsVisible(true);
        QAction* entry = menu.addAction(toQt(kName));
        menu.popup({40, 40});
        QVERIFY(QTest::qWaitForWindowExposed(&menu));
        restOn(menu, menu.actionGeometry(entry).center());
        QCOMPARE(shownTip(), toQt(kName));
        menu.close();
    }

    void tooltipsOfTheCanvas() {
        WindowHand hand(namedLikeHtml());
        restOn(hand.canvas, hand.pixel(hand.shape(NodeId(1)).rect.center()));
        QVERIFY2(shownTip().startsWith(toQt(kName)), qPrintable(shownTip()));
    }

    void dialogs() {
        QInputDialog dialog;
        dialog.setLabelText(toQt(kName));
        dialog.show();
        const auto labels = dialog.findChildren<QLabel*>();
        QVERIFY(!labels.isEmpty());
        for (const QLabel* label : labels) QCOMPARE(label->textFormat(), Qt::PlainText);
    }

    void aShortenedLabelTellsItsWholeText() {
        ElidedLabel label;
        label.setText(toQt(kName));
        label.resize(40, 20);
        label.show();
        QVERIFY(QTest::qWaitForWindowExposed(&label));
        QTRY_VERIFY(!label.toolTip().isEmpty());
        restOn(label, label.rect().center());
        QCOMPARE(shownTip(), toQt(kName));
    }
};

TWB_GUI_TEST_MAIN(TestPlainText)
#include "test_plain_text.moc"
