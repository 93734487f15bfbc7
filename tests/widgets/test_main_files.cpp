#include "support/test_main.h"
#include "widgets/file_answer.h"
#include "widgets/window_fixture.h"

#include <QLineEdit>
#include <QListView>

using namespace twb;
using namespace twb::test;

class TestMainFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void saveAndOpenRoundTrip();
    void unsavedChangesAreAskedAbout();
    void brokenFileLeavesTheDocument();
    void exportsWhatTheDialogOffers_data();
    void exportsWhatTheDialogOffers();
    void anEndingThatIsNoPictureIsRefused();
};

void TestMainFiles::initTestCase() {
    isolateSettings();
    Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
}

void TestMainFiles::saveAndOpenRoundTrip() {
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("mine.twb"));
    const auto window = makeWindow();
    auto* search = find<QLineEdit>(*window, "paletteSearch");
    QTest::keyClicks(search, QStringLiteral("linear"));
    QTest::keyClick(search, Qt::Key_Down);
    window->document().save(path);
    QTest::keyClick(find<QListView>(*window, "paletteList"), Qt::Key_Return);
    QVERIFY(window->document().isModified());
    action(*window, QStringLiteral("Save"))->trigger();
    QVERIFY(!window->document().isModified());
    const auto other = makeWindow();
    QVERIFY(other->openFile(path));
    QVERIFY(other->document().graph() == window->document().graph());
    QCOMPARE(QSettings().value(QStringLiteral("recent")).toStringList().first(), path);
}

void TestMainFiles::unsavedChangesAreAskedAbout() {
    const auto window = makeWindow();
    auto* search = find<QLineEdit>(*window, "paletteSearch");
    QTest::keyClicks(search, QStringLiteral("softm"));
    QTest::keyClick(search, Qt::Key_Return);
    {
        BoxAnswer answer(QMessageBox::Cancel);
        QVERIFY(!window->close());
        QVERIFY(answer.answered());
        QVERIFY(answer.text().contains(QLatin1String("Save")));
    }
    {
        BoxAnswer answer(QMessageBox::Cancel);
        QVERIFY(!window->openFile(sourcePath(kDigits)));
        QCOMPARE(window->document().graph().nodes().size(), std::size_t(1));
    }
    {
        BoxAnswer answer(QMessageBox::Discard);
        QVERIFY(window->openFile(sourcePath(kDigits)));
        QVERIFY(window->document().graph().nodes().size() > 10);
    }
    QVERIFY(window->close()); // there are no unsaved changes
}

void TestMainFiles::brokenFileLeavesTheDocument() {
    QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("broken.twb")));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{ \"format\": \"tensor-workbench\", ");
    file.close();
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    const Graph before = window->document().graph();
    BoxAnswer answer(QMessageBox::Ok);
    QVERIFY(!window->openFile(file.fileName()));
    QVERIFY(answer.answered());
    QVERIFY2(answer.detail().contains(QLatin1String("broken.twb")), qPrintable(answer.detail()));
    QVERIFY(window->document().graph() == before);
    QVERIFY(window->document().path().endsWith(QLatin1String("digits.twb")));
}

void TestMainFiles::exportsWhatTheDialogOffers_data() {
    QTest::addColumn<QString>("type");
    QTest::addColumn<QByteArray>("start");
    QTest::addRow("png") << QStringLiteral("PNG") << QByteArray("\x89PNG");
    QTest::addRow("svg") << QStringLiteral("SVG") << QByteArray("<?xml");
    QTest::addRow("pdf") << QStringLiteral("PDF") << QByteArray("%PDF");
}

void TestMainFiles::exportsWhatTheDialogOffers() {
    QFETCH(QString, type);
    QFETCH(QByteArray, start);
    const QTemporaryDir folder;
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    // Without an extension, the chosen type's extension is added.
    FileAnswer answer(type, folder.filePath(QStringLiteral("picture")));
    action(*window, QStringLiteral("Export image…"))->trigger();
    QVERIFY(answer.answered());
    QFile file(folder.filePath(QStringLiteral("picture.") + type.toLower()));
    QVERIFY2(file.open(QIODevice::ReadOnly), qPrintable(file.fileName()));
    const QByteArray content = file.readAll();
    QVERIFY(content.startsWith(start));
    QVERIFY(content.size() > 8000); // more than an empty page
}

void TestMainFiles::anEndingThatIsNoPictureIsRefused() {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("picture.gif"));
    const auto window = makeWindow();
    window->load(sourcePath(kDigits));
    FileAnswer file(QStringLiteral("PNG"), path);
    BoxAnswer box(QMessageBox::Ok);
    action(*window, QStringLiteral("Export image…"))->trigger();
    QVERIFY(box.answered());
    QVERIFY(box.detail().contains(QLatin1String(".svg")));
    QVERIFY(!QFile::exists(path));
}

TWB_GUI_TEST_MAIN(TestMainFiles)
#include "test_main_files.moc"
