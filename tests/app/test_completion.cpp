#include "app/program.h"
#include "support/test_main.h"

#include <QRegularExpression>
#include <QSet>
#include <QStandardPaths>

using namespace twb;
using namespace twb::test;

namespace {

/// The programs that a user calls, each with its commands.
QList<QStringList> calls() {
    const Program twb;
    QList<QStringList> out{{"twb"}, {"tensor-workbench"}};
    const QString help = twb.run({"--help"}).out;
    static const QRegularExpression command(QStringLiteral("^  ([\\w-]+)  +\\S"),
                                            QRegularExpression::MultilineOption);
    const QString commands = help.mid(help.indexOf("Subcommands:"));
    for (auto found = command.globalMatch(commands); found.hasNext();)
        out << QStringList{"twb", found.next().captured(1)};
    return out;
}

/// The long options in the first column of a help.
QStringList optionsInHelp(const QStringList& call) {
    QProcess process;
    process.start(QStringLiteral(TWB_BINARY_DIR "/bin/") + call.front(), call.mid(1) << "--help");
    const QString help = Program::wait(process).out;
    static const QRegularExpression option(QStringLiteral("^  (?:-\\w,)?(--[\\w-]+)"),
                                           QRegularExpression::MultilineOption);
    QStringList out;
    for (auto found = option.globalMatch(help); found.hasNext();) out << found.next().captured(1);
    return out;
}

QStringList candidates(const Program& twb, const QStringList& words) {
    QStringList out;
    for (const QString& line : twb.run(QStringList{"__complete"} + words).out.split('\n').mid(1))
        if (!line.isEmpty()) out << line.section('\t', 0, 0);
    return out;
}

/// Whether `program` is on the PATH; else the test is skipped with a sentence.
bool has(const char* program) { return !QStandardPaths::findExecutable(QLatin1String(program)).isEmpty(); }
#define REQUIRE_PROGRAM(name)                                                                                \
    if (!has(name)) QSKIP(name " is not installed")

QProcessEnvironment withTwbOnPath() {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("PATH", QStringLiteral(TWB_BINARY_DIR "/bin:") + environment.value("PATH"));
    environment.insert("LC_ALL", "C.UTF-8");
    return environment;
}

} // namespace

/// The man pages and the completion of shells, which are generated from the options of the programs.
class TestCompletion : public QObject {
    Q_OBJECT

    Ended runShell(const QString& shell, const QStringList& arguments) const {
        QProcess process;
        process.setWorkingDirectory(m_twb.file(""));
        process.setProcessEnvironment(withTwbOnPath());
        process.start(shell, arguments);
        return Program::wait(process);
    }

    Program m_twb;
    QTemporaryDir m_home;

private Q_SLOTS:
    void initTestCase() {
        m_twb.save("g.twb", crossingGraph());
        m_twb.save("data/other.twb", smallGraph());
        GraphMaker spaced;
        spaced.node("Full", "a + b", "cpu", {{"shape", Integers{2}}, {"value", 1.0}});
        m_twb.save("spaced.twb", spaced);
        m_twb.write("w.npy", "");
        m_twb.write("notes.txt", "");
        // Beside the folder of the files, which shells complete.
        QDir(m_home.path()).mkdir(".ssh");
        QFile config(m_home.filePath(".ssh/config"));
        QVERIFY(config.open(QIODevice::WriteOnly));
        config.write("Host *.example\n  User me\nHost bigger bigbox !small\n  Port 2222\n");
        config.close();
        qputenv("HOME", m_home.path().toUtf8());
    }

    void everyOptionOfTheHelpIsInThePageAndTheCompletion_data() {
        QTest::addColumn<QStringList>("call");
        const QList<QStringList> all = calls();
        QVERIFY(all.size() > 20);
        for (const QStringList& call : all) QTest::newRow(qPrintable(call.join(' '))) << call;
    }
    void everyOptionOfTheHelpIsInThePageAndTheCompletion() {
        QFETCH(QStringList, call);
        const QStringList options = optionsInHelp(call);
        QVERIFY(options.contains("--help"));
        const QString page = m_twb.run({"man", call.back()}).out.replace("\\-", "-");
        QStringList words = call;
        const QStringList offered = candidates(m_twb, words << "--");
        for (const QString& option : options) {
            QVERIFY2(page.contains(".TP\n\\fB" + option + "\\fR") ||
                         page.contains(", \\fB" + option + "\\fR"),
                     qPrintable(option));
            QVERIFY2(offered.contains(option), qPrintable(option));
        }
        QCOMPARE(QSet<QString>(offered.begin(), offered.end()),
                 QSet<QString>(options.begin(), options.end()));
    }

    /// In both directions, so that neither a new option nor one that was removed is forgotten.
    void theManualHasTheOptionsOfThePrograms() {
        QSet<QString> options;
        for (const QStringList& call : calls())
            for (const QString& option : optionsInHelp(call)) options << option;
        static const QRegularExpression word(QStringLiteral("(?<![\\w-])--[a-z][a-z0-9-]+(?![\\w-]*--)"));
        const QDir manual(QStringLiteral(TWB_SOURCE_DIR "/resources/manual"));
        QSet<QString> named;
        for (const QString& page : manual.entryList({QStringLiteral("*.md")})) {
            QFile file(manual.filePath(page));
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QString text = QString::fromUtf8(file.readAll());
            for (auto found = word.globalMatch(text); found.hasNext();) named << found.next().captured();
        }
        // Of docker, cmake and package.sh; and one for the window alone.
        const QSet<QString> ofOthers{"--rm", "--build", "--preset", "--no-cuda"};
        const QSet<QString> internal{"--events", "--version"};
        const auto sorted = [](const QSet<QString>& all) {
            QStringList out(all.begin(), all.end());
            out.sort();
            return out.join(' ');
        };
        QCOMPARE(sorted(named - options - ofOthers), QString());
        QCOMPARE(sorted(options - named - internal), QString());
    }

    /// A flag has none, and a name may contain a colon.
    void pagesNameTheValuesOfOptions() {
        const auto line = [&](const char* page, const char* option) {
            const QString text = m_twb.run({"man", page}).out.replace("\\-", "-");
            const auto at = text.indexOf("\\fB" + QString(option) + "\\fR");
            return text.mid(at, text.indexOf('\n', at) - at);
        };
        QCOMPARE(line("run", "--quiet"), "\\fB--quiet\\fR");
        QCOMPARE(line("run", "--on"), "\\fB--on\\fR \\fIssh:HOST[:PATH]\\fR");
        QCOMPARE(line("run", "--ranks"), "\\fB--ranks\\fR \\fIN\\fR");
        QCOMPARE(line("capture", "--steps"), "\\fB--steps\\fR \\fIA:B\\fR");
        QCOMPARE(line("train", "--patience"), "\\fB--patience\\fR \\fIN\\fR");
        QCOMPARE(line("quantize", "--to"), "\\fB--to\\fR \\fIDTYPE\\fR");
    }

    void theMainPageListsCommandsAndExitCodes() {
        const QString page = m_twb.run({"man"}).out.replace("\\-", "-");
        for (const QStringList& call : calls())
            if (call.size() > 1) QVERIFY2(page.contains("twb-" + call.back()), qPrintable(call.back()));
        for (const int code : {0, 1, 2, 3, 4, 5, 130})
            QVERIFY2(page.contains(QStringLiteral(".TP\n\\fB%1\\fR\n").arg(code)), qPrintable(page));
    }

    void anUnknownPageIsRefused() {
        const Ended ended = m_twb.run({"man", "rum"});
        QCOMPARE(ended.exit, 2);
        QVERIFY2(ended.err.startsWith("twb: man: there is no page \"rum\"; the pages are: twb, "),
                 qPrintable(ended.err));
    }

    void manFormatsThePagesWithoutWarnings() {
        REQUIRE_PROGRAM("man");
        REQUIRE_PROGRAM("groff");
        const QTemporaryDir folder;
        QCOMPARE(m_twb.run({"man", "-o", folder.path()}).exit, 0);
        const QStringList pages = QDir(folder.path()).entryList({"*.1"});
        QCOMPARE(pages.size(), calls().size());
        for (const QString& page : pages) {
            const Ended ended =
                runShell("man", {"--warnings", "-E", "UTF-8", "-l", "-Tutf8", folder.filePath(page)});
            QCOMPARE(ended.exit, 0);
            QVERIFY2(ended.err.isEmpty(), qPrintable(page + ": " + ended.err));
            QVERIFY(!ended.out.isEmpty());
        }
    }

    void wordsAtTheCursor_data() {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<QStringList>("expected");
        const auto row = [](const QStringList& words, const QStringList& expected) {
            QTest::newRow(qPrintable(words.join(' '))) << words << expected;
        };
        row({"twb", "re"}, {"report"});
        row({"twb", "run", "--it"}, {"--iterations"});
        row({"twb", "run", "--iterations", "3", "--it"}, {});                         // already given
        row({"twb", "run", "g.twb", "--set", "there.device=cpu", "--se"}, {"--set"}); // may be repeated
        row({"twb", "fix", "--json", "--pa"}, {});                                    // excluded by --json
        row({"twb", "run", "g.twb", "--set", "fac"}, {"factor."});
        row({"twb", "run", "--set", "factor.d", "g.twb"}, {}); // the project is not known yet
        row({"twb", "run", "g.twb", "--set", "factor.d"},
            {"factor.dtype=", "factor.device=", "factor.disabled="});
        row({"twb", "run", "g.twb", "--set", "factor.device="},
            {"factor.device=cpu", "factor.device=cuda:0"});
        row({"twb", "run", "g.twb", "--set=factor.disabled=t"}, {"--set=factor.disabled=true"});
        row({"twb", "batch", "g.twb", "--set", "factor.dtype=f32,f6"}, {"factor.dtype=f32,f64"});
        row({"twb", "run", "g.twb", "--output", "sc"}, {"scaled="});
        row({"twb", "run", "g.twb", "--device-map", "cuda:0=simulated:h"},
            {"cuda:0=simulated:h100", "cuda:0=simulated:h200"});
        row({"twb", "train", "g.twb", "--parameters", "base,fac"}, {"base,factor"});
        row({"twb", "train", "--optimizer", "ada"}, {"adam", "adamw", "adagrad"});
        row({"twb", "export", "g.twb", "--to", "p"}, {"pytorch"});
        row({"twb", "ops", "Gem"}, {"Gemm"});
        row({"twb", "calibrate", "--base", "l"}, {"l4"});
        row({"twb", "run", "--quiet", "g.twb", "--output", "sc"}, {"scaled="}); // a flag has no value
        row({"twb", "run", "g.twb", "--world", "simulated:1"}, {"simulated:16:"});
        row({"twb", "train", "g.twb", "--world", "simulated:4:n"}, {"simulated:4:nvlink"});
        row({"twb", "run", "g.twb", "--on", "ssh:big"}, {"ssh:bigger", "ssh:bigbox"});
        row({"twb", "calibrate", "--on", "s"}, {"ssh:bigger", "ssh:bigbox", "ssh:"});
        row({"twb", "train", "g.twb", "--early-stop", "v"}, {"validation-loss"});
        row({"twb", "quantize", "--to", "b"}, {"bf16"});
        row({"twb", "run", "missing.twb", "--set", ""}, {});
        row({"twb", "nonsense", "--"}, {});
        row({"twb", "capture", "train.py", "--gp"}, {}); // an option of the script
        row({"tensor-workbench", "g.twb", "--select", "fac"}, {"factor"});
        row({"tensor-workbench", "--tab", "ti"}, {"timeline"});
    }
    void wordsAtTheCursor() {
        QFETCH(QStringList, words);
        QFETCH(QStringList, expected);
        QCOMPARE(candidates(m_twb, words), expected);
    }

    /// The cursor is at the end of the line. `words` is the line as readline splits it, at = and : too.
    void bashCompletes_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<QStringList>("expected");
        const auto row = [](const char* line, const QStringList& words, const QStringList& expected) {
            QTest::newRow(line) << QString::fromUtf8(line) << words << expected;
        };
        row("twb ru", {"twb", "ru"}, {"run"});
        row("twb  run --it", {"twb", "run", "--it"}, {"--iterations"});
        row("twb run ", {"twb", "run", ""}, {"data", "g.twb", "spaced.twb"}); // no other files
        row("twb run g.twb --set fac", {"twb", "run", "g.twb", "--set", "fac"}, {"factor."});
        // Only the part after the last word break.
        row("twb run g.twb --set factor.device=cu",
            {"twb", "run", "g.twb", "--set", "factor.device", "=", "cu"}, {"cuda:0"});
        row("twb run g.twb --set=factor.device=", {"twb", "run", "g.twb", "--set", "=", "factor.device", "="},
            {"cpu", "cuda:0"});
        row("twb run --device-map cuda:0=simulated:h",
            {"twb", "run", "--device-map", "cuda", ":", "0", "=", "simulated", ":", "h"}, {"h100", "h200"});
        row("twb run g.twb --output scaled=w", {"twb", "run", "g.twb", "--output", "scaled", "=", "w"},
            {"w.npy"});
        row("twb run spaced.twb --set a\\ +", {"twb", "run", "spaced.twb", "--set", "a\\ +"}, {"a\\ +\\ b."});
        row("twb run spaced.twb --set 'a +", {"twb", "run", "spaced.twb", "--set", "'a +"}, {"a + b."});
        row("tensor-workbench --theme ", {"tensor-workbench", "--theme", ""},
            {"dark", "high-contrast", "light"});
    }
    void bashCompletes() {
        REQUIRE_PROGRAM("bash");
        QFETCH(QString, line);
        QFETCH(QStringList, words);
        QFETCH(QStringList, expected);
        m_twb.write("complete.bash", R"(source <(twb completion bash) || exit 1
[[ $(complete -p twb tensor-workbench | grep -c _tensor_workbench) == 2 ]] || exit 1
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
_tensor_workbench "$2"
printf '%s\n' "${COMPREPLY[@]}" | sort -u
)");
        const Ended ended = runShell("bash", QStringList{"--norc", "complete.bash", line} + words);
        QVERIFY2(ended.exit == 0 && ended.err.isEmpty(), qPrintable(ended.err));
        QCOMPARE(ended.out.split('\n', Qt::SkipEmptyParts), expected);
    }

    void fishCompletes() {
        REQUIRE_PROGRAM("fish");
        QTemporaryDir home;
        const auto completions = [&](const QString& line) {
            QProcess process;
            QProcessEnvironment environment = withTwbOnPath();
            environment.insert("HOME", home.path());
            process.setProcessEnvironment(environment);
            process.setWorkingDirectory(m_twb.file(""));
            process.start("fish", {"-c", "twb completion fish | source; complete -C $argv[1]", line});
            const Ended ended = Program::wait(process);
            QStringList out;
            for (const QString& row : ended.out.split('\n', Qt::SkipEmptyParts))
                out << row.section('\t', 0, 0);
            return out;
        };
        QCOMPARE(completions("twb ru"), QStringList{"run"});
        QCOMPARE(completions("twb run "), (QStringList{"data/", "g.twb", "spaced.twb"}));
        QCOMPARE(completions("twb run g.twb --set factor.device="),
                 (QStringList{"factor.device=cpu", "factor.device=cuda:0"}));
        QCOMPARE(completions("twb run spaced.twb --set a\\ "), QStringList{"a + b."});
        QCOMPARE(completions("twb run g.twb --output scaled=w"), QStringList{"scaled=w.npy"});
    }

    void zshAcceptsTheScript() {
        REQUIRE_PROGRAM("zsh");
        m_twb.write("_twb", m_twb.run({"completion", "zsh"}).out.toUtf8());
        const Ended ended = runShell("zsh", {"-f", "-n", "_twb"});
        QVERIFY2(ended.exit == 0 && ended.err.isEmpty(), qPrintable(ended.err));
        // zsh loads it by its name in the first line.
        QVERIFY(m_twb.read("_twb").startsWith("#compdef twb tensor-workbench\n"));
    }
};

TWB_TEST_MAIN(TestCompletion)
#include "test_completion.moc"
