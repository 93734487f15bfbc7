#include "app/program.h"
#include "support/captures.h"
#include "support/json_schema.h"
#include "support/test_main.h"

#include <QFileInfo>
#include <QStandardPaths>

using namespace twb;
using namespace twb::test;

namespace {

QByteArray dataFile(const char* name) {
    QFile file(QStringLiteral(TWB_SOURCE_DIR "/tests/data/") + name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// An attribute, a tensor made in the forward and class weights on the CPU.
const QByteArray kFaultyScript = R"x(import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.scale = torch.ones(8)  # stays behind

    def forward(self, x):
        h = F.relu(self.first(x)) * self.scale
        noise = torch.randn(h.shape)
        return h + 0.1 * noise


model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
weights = torch.ones(8)
for step in range(3):
    x = torch.randn(16, 4).to(device)
    y = torch.randint(0, 8, (16,)).to(device)
    out = model(x)
    loss = F.cross_entropy(out, y, weight=weights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
)x";

} // namespace

/// `twb import`, `check` and `fix` on captures of PyTorch programs.
class TestCapturedPrograms : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aCaptureBecomesAProject() {
        const Program twb;
        twb.write("run.twbcap", QByteArray::fromStdString(loopCapture(100)));
        const Ended ended = twb.run({"import", "run.twbcap", "-o", "run.twb"});
        QVERIFY(!ended.err.contains("Simplified")); // its nodes are those of the program
        QCOMPARE(ended.exit, 0);
        const Graph graph = loadProject(twb.fsPath("run.twb"));
        QCOMPARE(graph.info().iterations, 100);
        QCOMPARE(graph.info().title, "train.py");
    }

    void eachProblemNamesItsLine() {
        const Program twb;
        twb.write("run.twbcap", dataFile("capture_five_faults.twbcap"));
        const Ended ended = twb.run({"check", "run.twbcap"});
        QCOMPARE(ended.exit, 3);
        for (const char* place :
             {"five_faults.py:20 in forward", "five_faults.py:22 in forward", "five_faults.py:33 in <module>",
              "five_faults.py:38 in <module>", "five_faults.py:43 in <module>"})
            QVERIFY2(
                ended.out.contains(QStringLiteral("run.twbcap: error[device-mismatch]: %1: ").arg(place)),
                qPrintable(ended.out));
        QVERIFY(ended.out.contains("1 more caused by this mismatch: five_faults.py:35 in <module>"));
        QVERIFY(ended.out.contains("created on cpu at five_faults.py:16 in __init__"));
        QVERIFY(ended.out.contains("note[sync]: five_faults.py:37 in <module>: item()"));
        QVERIFY(ended.out.contains("1 graph, 5 errors, "));
    }

    void jsonHasTheLinesAndFitsTheSchema() {
        const Program twb;
        twb.write("run.twbcap", dataFile("capture_five_faults.twbcap"));
        const Ended ended = twb.run({"check", "run.twbcap", "--json", "--max-syncs", "1"});
        QCOMPARE(ended.exit, 3);
        const nlohmann::json report = parsed(ended.out);
        QCOMPARE(report["errors"], 6); // five mismatches, and the budget
        const auto& file = report["files"][0];
        QVERIFY(file["step"]["syncs"] > 1);
        QCOMPARE(file["step"]["exceeded"].size(), std::size_t{1});
        std::size_t roots = 0;
        for (const auto& d : file["diagnostics"]) {
            if (d["code"] != "device-mismatch") continue;
            QVERIFY(d["source"]["line"] > 0);
            roots += d.contains("root") ? 0 : 1;
        }
        QCOMPARE(roots, std::size_t{5});
        const auto schema = std::filesystem::path(TWB_SOURCE_DIR) / "resources/schema/check.schema.json";
        QCOMPARE(Schema(nlohmann::json::parse(readFile(schema, 1 << 20)), true).problem(report), "");
    }

    void budgetsOfAStepFailTheCheck() {
        const Program twb;
        twb.write("run.twbcap", QByteArray::fromStdString(loopCapture(5)));
        QCOMPARE(twb.run({"check", "run.twbcap"}).exit, 0);
        QCOMPARE(twb.run({"check", "run.twbcap", "--max-syncs", "1", "--max-transfer-bytes", "36"}).exit, 0);
        const Ended ended = twb.run(
            {"check", "run.twbcap", "--max-syncs", "0", "--max-transfer-bytes", "35B", "--junit", "out.xml"});
        QCOMPARE(ended.exit, 3);
        QVERIFY2(ended.out.contains(
                     "run.twbcap: error[budget]: the CPU waits for a device 1 times per iteration, but "
                     "--max-syncs allows 0: train.py:70 in <module>\n"),
                 qPrintable(ended.out));
        QVERIFY2(
            ended.out.contains("run.twbcap: error[budget]: one iteration copies 36 B between devices, but "
                               "--max-transfer-bytes allows 35 B: train.py:30 in <module> (32 B), "
                               "train.py:70 in <module> (4 B)\n"),
            qPrintable(ended.out));
        QVERIFY(twb.read("out.xml").contains("--max-syncs allows 0"));
        QCOMPARE(twb.run({"check", "run.twbcap", "--max-transfer-bytes", "much"}).exit, 2);
    }

    void aCutCaptureIsReadUpToThereWithARemark() {
        const Program twb;
        const std::string whole = loopCapture(3);
        twb.write("run.twbcap", QByteArray::fromStdString(whole.substr(0, whole.size() / 2)));
        const Ended ended = twb.run({"import", "run.twbcap", "-o", "run.twb"});
        QCOMPARE(ended.exit, 0);
        QVERIFY(ended.err.contains("the capture ends early, at line "));
    }

    void thePatchFixesTheScript_data() {
        QTest::addColumn<QByteArray>("script");
        QTest::newRow("of the test") << kFaultyScript;
        QFile example(QStringLiteral(TWB_SOURCE_DIR "/resources/examples/scripts/train_digits.py"));
        QVERIFY(example.open(QIODevice::ReadOnly));
        QTest::newRow("example") << example.readAll();
    }

    /// The diff is applied to the script, whose capture then has no mismatch.
    void thePatchFixesTheScript() {
        QFETCH(QByteArray, script);
        const QString patch = QStandardPaths::findExecutable("patch");
        if (patch.isEmpty()) QSKIP("no patch");
        QProcess torch;
        torch.start(debiansPython(), {"-c", "import torch"});
        if (!torch.waitForFinished(60000) || torch.exitCode() != 0) QSKIP("no torch");
        const Program twb;
        QVERIFY(QDir(QFileInfo(twb.file("x")).path()).mkdir("scripts"));
        QVERIFY(QFile::link(QStringLiteral(TWB_SOURCE_DIR "/resources/examples/digits"), twb.file("digits")));
        twb.write("scripts/train.py", script);
        const QStringList capture{"capture", "--python",   debiansPython(),
                                  "-o",      "run.twbcap", "scripts/train.py"};
        twb.run(capture, 200000);
        QCOMPARE(twb.run({"check", "run.twbcap"}).exit, 3);
        const Ended diff = twb.run({"fix", "run.twbcap", "--patch"});
        QCOMPARE(diff.exit, 0);
        twb.write("fix.diff", diff.out.toUtf8());
        QProcess apply;
        apply.setWorkingDirectory(QFileInfo(twb.file("fix.diff")).path());
        apply.start(patch, {"-p0", "-i", "fix.diff"});
        QVERIFY(apply.waitForFinished(60000));
        QVERIFY2(apply.exitCode() == 0, apply.readAllStandardOutput().constData());
        twb.run(capture, 200000);
        const Ended after = twb.run({"check", "run.twbcap"});
        QVERIFY2(!after.out.contains("device-mismatch"), qPrintable(diff.out + after.out));
    }
};

TWB_TEST_MAIN(TestCapturedPrograms)
#include "test_captured_programs.moc"
