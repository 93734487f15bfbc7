#include "app/program.h"
#include "support/test_main.h"

#include <QMimeDatabase>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QtEndian>

using namespace twb;
using namespace twb::test;

namespace {

QString desktopFile(const QString& name) {
    return QStringLiteral(TWB_SOURCE_DIR "/resources/desktop/") + name;
}

QString textOf(const QString& name) {
    QFile file(desktopFile(name));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// The value of `key` in a desktop entry or a thumbnailer.
QString valueOf(const QString& name, const QString& key) {
    const QRegularExpression line("^" + key + "=(.*)$", QRegularExpression::MultilineOption);
    return line.match(textOf(name)).captured(1);
}

/// Runs a validator of the desktop.
Ended validated(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    return Program::wait(process);
}

bool has(const char* program) { return !QStandardPaths::findExecutable(QLatin1String(program)).isEmpty(); }

} // namespace

/// The entries that a desktop reads: launcher, MIME types, metadata, thumbnails.
class TestDesktop : public QObject {
    Q_OBJECT

    QTemporaryDir m_data;

private Q_SLOTS:
    void initTestCase() {
        QDir(m_data.path()).mkpath("mime/packages");
        QVERIFY(QFile::copy(desktopFile("tensor-workbench.xml"),
                            m_data.filePath("mime/packages/tensor-workbench.xml")));
        qputenv("XDG_DATA_HOME", m_data.path().toUtf8());
    }

    void theLauncherIsValid() {
        if (!has("desktop-file-validate"))
            QSKIP("desktop-file-validate (desktop-file-utils) is not installed");
        const Ended ended = validated("desktop-file-validate", {desktopFile("tensor-workbench.desktop")});
        QVERIFY2(ended.exit == 0 && ended.out.isEmpty(), qPrintable(ended.out));
    }

    void theMetadataIsValid() {
        if (!has("appstreamcli")) QSKIP("appstreamcli (appstream) is not installed");
        const Ended ended =
            validated("appstreamcli", {"validate", "--no-net",
                                       desktopFile("org.tensor_workbench.tensor_workbench.metainfo.xml")});
        QVERIFY2(ended.exit == 0, qPrintable(ended.out));
    }

    void filesHaveTheTypesOfTheLauncher_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("type");
        QTest::newRow("project") << TWB_SOURCE_DIR "/resources/examples/digits.twb"
                                 << "application/x-tensor-workbench";
        QTest::newRow("capture") << TWB_SOURCE_DIR "/tests/data/capture_five_faults.twbcap"
                                 << "application/x-tensor-workbench-capture";
        QTest::newRow("program") << TWB_SOURCE_DIR "/tests/data/pt2/torch2.9-encoder.pt2"
                                 << "application/x-pytorch-program";
        QTest::newRow("model") << "model.onnx"
                               << "application/x-onnx";
    }
    void filesHaveTheTypesOfTheLauncher() {
        QFETCH(QString, path);
        QFETCH(QString, type);
        const QMimeDatabase types;
        QCOMPARE(types.mimeTypeForFile(path).name(), type);
        const QStringList opened = valueOf("tensor-workbench.desktop", "MimeType").split(';');
        QVERIFY2(opened.contains(type), qPrintable(type));
        QVERIFY(textOf("org.tensor_workbench.tensor_workbench.metainfo.xml")
                    .contains("<mediatype>" + type + "</mediatype>"));
    }

    void aProjectIsRecognisedWithoutItsSuffix() {
        const Program folder;
        QVERIFY(QFile::copy(TWB_SOURCE_DIR "/resources/examples/digits.twb", folder.file("project")));
        QCOMPARE(QMimeDatabase().mimeTypeForFile(folder.file("project")).name(),
                 QStringLiteral("application/x-tensor-workbench"));
    }

    /// The command of the file manager.
    void theThumbnailerDrawsAProject() {
        const Program folder;
        QStringList words = QProcess::splitCommand(valueOf("tensor-workbench.thumbnailer", "Exec"));
        QCOMPARE(words.front(), QStringLiteral("tensor-workbench"));
        for (QString& word : words)
            word.replace("%o", folder.file("out.png"))
                .replace("%s", "256")
                .replace("%i", TWB_SOURCE_DIR "/resources/examples/digits.twb");
        QProcess process;
        process.start(TWB_BINARY_DIR "/bin/tensor-workbench", words.mid(1));
        const Ended ended = Program::wait(process);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        const QByteArray png = folder.read("out.png");
        QVERIFY(png.startsWith("\x89PNG"));
        const auto side = [&](int at) { return qFromBigEndian<quint32>(png.constData() + at); };
        // The graph fills the whole picture; at this size, words and headers of lanes would be illegible.
        QCOMPARE(side(16), quint32(256));
        QCOMPARE(side(20), quint32(256));
    }
};

TWB_TEST_MAIN(TestDesktop)
#include "test_desktop.moc"
