#include "core/error.h"
#include "support/test_main.h"
#include "widgets/actions/menu_action.h"
#include "widgets/manual_window.h"
#include "widgets/recent_files.h"
#include "widgets/window_hand.h"

#include <QDir>
#include <QLineEdit>
#include <QMenuBar>
#include <QRegularExpression>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextTable>
#include <QTreeWidget>

using namespace twb;
using namespace twb::test;

namespace {

void write(const QTemporaryDir& folder, const char* name, const QByteArray& text) {
    QFile file(folder.filePath(QString::fromLatin1(name)));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text);
}

QStringList entries(const QTreeWidget& contents) {
    QStringList out;
    for (int i = 0; i < contents.topLevelItemCount(); ++i) {
        out << contents.topLevelItem(i)->text(0);
        for (int j = 0; j < contents.topLevelItem(i)->childCount(); ++j)
            out << QStringLiteral("- ") + contents.topLevelItem(i)->child(j)->text(0);
    }
    return out;
}

/// The entries of a menu in the menu bar, and of its submenu `inside`.
QList<QAction*> menu(MainWindow& window, const char* title, const char* inside = nullptr) {
    for (QAction* top : window.menuBar()->actions()) {
        if (top->text().remove(QLatin1Char('&')) != QLatin1String(title)) continue;
        if (!inside) return top->menu()->actions();
        for (QAction* entry : top->menu()->actions())
            if (entry->menu() && entry->text().remove(QLatin1Char('&')) == QLatin1String(inside)) {
                Q_EMIT entry->menu()->aboutToShow();
                return entry->menu()->actions();
            }
    }
    return {};
}

/// A row of the manual's page of keys for each action of a menu and its submenus that has keys.
QString keyRows(const QMenu& menu) {
    QString out;
    for (const QAction* action : menu.actions()) {
        if (action->menu()) out += keyRows(*action->menu());
        const QString keys = QKeySequence::listToString(action->shortcuts(), QKeySequence::PortableText);
        if (!action->menu() && !keys.isEmpty())
            out += QStringLiteral("| %1 | %2 |\n")
                       .arg(pathOf(*action).remove(QStringLiteral("…")),
                            QString(keys).replace(QStringLiteral("; "), QStringLiteral(", ")));
    }
    return out;
}

QPushButton* button(QWidget& in, const char* text) {
    for (auto* found : in.findChildren<QPushButton*>())
        if (found->isVisible() && found->text() == QLatin1String(text)) return found;
    return nullptr;
}

} // namespace

class TestHelp : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void theHelpMenuHasManualKeysLegendAndAbout() {
        const auto window = makeWindow();
        QStringList texts;
        for (const QAction* action : menu(*window, "Help"))
            if (!action->isSeparator()) texts << action->text().remove(QLatin1Char('&'));
        QCOMPARE(texts, (QStringList{QStringLiteral("Manual"), QStringLiteral("Help for the selected op"),
                                     QStringLiteral("Keys…"), QStringLiteral("Legend"),
                                     QStringLiteral("About Tensor Workbench")}));
        QTest::keyClick(&window->canvas(), Qt::Key_F1, Qt::ShiftModifier);
        QVERIFY(find<QWidget>(*window, "legend")->isVisible());
    }

    void theManualHasContentsLinksAndASearch() {
        const QTemporaryDir folder;
        write(folder, "index.md",
              "# The manual\n\nSee [the canvas](canvas.md#frames).\n\n## Zero *steps*\n\nNo words.\n");
        write(folder, "about.md", "# About\n\nA page that the first one does not name.\n");
        write(folder, "canvas.md",
              "# The canvas\n\nCards.\n\n```\n# no heading\n```\n\n" + QByteArray("text\n\n").repeated(80) +
                  "## Frames\n\nA frame has a turquoise border.\n");
        ManualWindow manual(folder.path(), nullptr);
        manual.show();
        QVERIFY(QTest::qWaitForWindowExposed(&manual));
        auto* contents = find<QTreeWidget>(manual, "manualContents");
        auto* text = find<QTextBrowser>(manual, "manualText");
        auto* search = find<QLineEdit>(manual, "manualSearch");
        QCOMPARE(
            entries(*contents),
            (QStringList{QStringLiteral("The manual"), QStringLiteral("- Zero steps"),
                         QStringLiteral("The canvas"), QStringLiteral("- Frames"), QStringLiteral("About")}));
        QVERIFY(text->toPlainText().contains(QStringLiteral("See the canvas")));
        // A link scrolls its heading to the top, or as far as the page allows.
        Q_EMIT text->anchorClicked(QUrl::fromLocalFile(folder.filePath(QStringLiteral("canvas.md")))
                                       .resolved(QUrl(QStringLiteral("canvas.md#frames"))));
        QCOMPARE(text->textCursor().block().text(), QStringLiteral("Frames"));
        QVERIFY(text->viewport()->rect().contains(text->cursorRect().center()));
        // Search finds words on every page and highlights them.
        QTest::keyClicks(search, QStringLiteral("no words"));
        QCOMPARE(entries(*contents), QStringList{QStringLiteral("The manual · Zero steps")});
        QTest::keyClick(search, Qt::Key_Return);
        QCOMPARE(text->textCursor().block().text(), QStringLiteral("Zero steps"));
        QCOMPARE(text->extraSelections().size(), 1);
        search->clear();
        QTest::keyClicks(search, QStringLiteral("TURQUOISE"));
        QCOMPARE(entries(*contents), QStringList{QStringLiteral("The canvas · Frames")});
        search->clear();
        QCOMPARE(entries(*contents).size(), 5);
        QTest::keyClick(&manual, Qt::Key_Escape);
        QVERIFY(!manual.isVisible());
        const QTemporaryDir empty;
        QVERIFY_EXCEPTION_THROWN(ManualWindow(empty.path(), nullptr), Error);
    }

    /// Headings stood on the text above, and each cell of a table had a frame of its own.
    void aPageHasSpaceAroundItsParts() {
        const QTemporaryDir folder;
        write(folder, "index.md",
              "# The manual\n\nWords.\n\n## A part\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n");
        ManualWindow manual(folder.path(), nullptr);
        const QTextDocument& page = *find<QTextBrowser>(manual, "manualText")->document();
        bool hasCode = false;
        for (QTextBlock block = page.begin(); block.isValid(); block = block.next()) {
            if (block.text() == QStringLiteral("Words.")) QVERIFY(block.blockFormat().bottomMargin() > 0);
            if (block.text() == QStringLiteral("A part")) QVERIFY(block.blockFormat().topMargin() > 0);
            if (block.text() != QStringLiteral("code")) continue;
            hasCode = true;
            QVERIFY(block.blockFormat().background().style() != Qt::NoBrush);
        }
        QVERIFY(hasCode);
        const QTextTable* table = nullptr;
        for (QTextFrame* frame : page.rootFrame()->childFrames())
            if (auto* found = qobject_cast<QTextTable*>(frame)) table = found;
        QVERIFY(table);
        QVERIFY(table->format().borderCollapse());
        QCOMPARE(table->format().cellSpacing(), 0.0);
        QVERIFY(table->format().cellPadding() > 0);
    }

    /// Every link in the manual leads to an existing page and heading, and every picture exists.
    void theManualThatComesAlongIsWhole() {
        const QDir folder(sourcePath("resources/manual"));
        QVERIFY(folder.exists(QStringLiteral("index.md")));
        static const QRegularExpression link(QStringLiteral("\\]\\(([^)#\\s]*)(#[^)\\s]*)?\\)"));
        int links = 0;
        for (const QString& page : folder.entryList({QStringLiteral("*.md")})) {
            QFile file(folder.filePath(page));
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QString text = QString::fromUtf8(file.readAll());
            for (auto at = link.globalMatch(text); at.hasNext(); ++links) {
                const QString target = at.next().captured(1);
                if (target.contains(QLatin1String("://"))) continue;
                QVERIFY2(target.isEmpty() || folder.exists(target),
                         qPrintable(page + QStringLiteral(": ") + target));
            }
        }
        QVERIFY(links > 8);
        const auto window = makeWindow();
        QTest::keyClick(&window->canvas(), Qt::Key_F1);
        auto* manual = window->findChild<ManualWindow*>();
        QVERIFY(manual && manual->isVisible());
        manual->close();
    }

    /// The page is generated from the menus, so that no key is missing or wrong.
    void theKeysPageListsTheKeysOfAllActions() {
        const auto window = makeWindow();
        QString page =
            QStringLiteral("# Keys\n\n[Manual](index.md)\n\n*Help ▸ Keys* changes these keys. Ctrl+Shift+P "
                           "searches for an action by name. A letter alone acts on the canvas.\n");
        for (const QAction* top : window->menuBar()->actions()) {
            const QString rows = keyRows(*top->menu());
            if (rows.isEmpty()) continue;
            page += QStringLiteral("\n## %1\n\n| action | keys |\n|---|---|\n")
                        .arg(top->text().remove(QLatin1Char('&')));
            page += rows;
        }
        QFile file(sourcePath("resources/manual/keys.md"));
        const bool isThere = file.open(QIODevice::ReadOnly);
        if (isThere && QString::fromUtf8(file.readAll()) == page) return;
        const QString wanted = QStringLiteral(TWB_BINARY_DIR "/keys.md");
        QFile out(wanted);
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(page.toUtf8());
        QFAIL(qPrintable(QStringLiteral("copy %1 to %2, which differs").arg(wanted, file.fileName())));
    }

    void lessonsAreNumberedAndLeadOn() {
        const auto window = makeWindow();
        QStringList titles;
        const QList<QAction*> examples = menu(*window, "File", "Examples");
        for (const QAction* action : examples) titles << action->text();
        QVERIFY2(titles.front().startsWith(QStringLiteral("Lesson 1: ")), qPrintable(titles.front()));
        int lessons = 0;
        for (const QString& path : exampleFiles()) lessons += lessonNumber(path) > 0;
        QCOMPARE(lessons, 17);
        examples.front()->trigger();
        for (int lesson = 1; lesson <= lessons; ++lesson) {
            QCoreApplication::processEvents();
            auto* notice = find<QWidget>(*window, "notice");
            QVERIFY(notice->isVisible());
            QVERIFY2(notice->accessibleName().startsWith(QStringLiteral("Lesson %1: ").arg(lesson)),
                     qPrintable(notice->accessibleName()));
            QPushButton* next = button(*notice, "Next lesson");
            QCOMPARE(next != nullptr, lesson < lessons);
            if (next) QTest::mouseClick(next, Qt::LeftButton);
        }
        // Opening another graph ends the lessons.
        window->load(sourcePath(kDigits));
        QVERIFY(!find<QWidget>(*window, "notice")->isVisible());
    }
};

TWB_GUI_TEST_MAIN(TestHelp)
#include "test_help.moc"
