#include "widgets/crash_report.h"

#include "widgets/labels.h"
#include "widgets/text.h"

#include <QClipboard>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDir>
#include <QGuiApplication>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSysInfo>
#include <QTime>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <execinfo.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

namespace twb {
namespace {

/// For translators.
struct CrashReportWords {
    Q_DECLARE_TR_FUNCTIONS(CrashReport)
};

constexpr int kMostReports = 10;
constexpr int kMostFrames = 100;
constexpr std::size_t kActions = 32;
constexpr std::array kFatalSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
const QString kReportFiles = QStringLiteral("crash-*.txt");

using ActionText = std::array<char, 200>;

/// Everything that a signal handler reads; it must not allocate.
struct CrashState {
    std::array<char, 1024> path{}; ///< of the report
    std::array<char, 512> head{};
    std::array<ActionText, kActions> actions{};
    std::size_t actionCount = 0;
    std::array<char, 512> exception{};
    std::array<char, 1 << 16> stack{}; ///< of the handler: the thread's own one may be full
};
CrashState crashState;

template <std::size_t N> void assign(std::array<char, N>& to, const QByteArray& text) {
    const std::size_t length = std::min(N - 1, std::size_t(text.size()));
    std::memcpy(to.data(), text.constData(), length);
    to[length] = '\0';
}

void put(int file, const char* text) {
    const std::size_t length = std::strlen(text);
    for (std::size_t at = 0; at < length;) {
        const ssize_t written = ::write(file, text + at, length - at);
        if (written <= 0) return;
        at += std::size_t(written);
    }
}

const char* nameOf(int signal) {
    switch (signal) {
    case SIGSEGV:
        return "SIGSEGV, invalid memory access";
    case SIGBUS:
        return "SIGBUS, memory that cannot be accessed";
    case SIGFPE:
        return "SIGFPE, arithmetic error";
    case SIGILL:
        return "SIGILL, illegal instruction";
    default:
        return "SIGABRT, abnormal end";
    }
}

void writeReport(int signal) {
    const int file = ::open(crashState.path.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    put(file, crashState.head.data());
    put(file, "Signal: ");
    put(file, nameOf(signal));
    if (crashState.exception[0] != '\0') {
        put(file, "\nUncaught exception: ");
        put(file, crashState.exception.data());
    }
    put(file, "\n\nLast actions\n");
    const std::size_t count = std::min(crashState.actionCount, kActions);
    for (std::size_t i = crashState.actionCount - count; i < crashState.actionCount; ++i) {
        put(file, crashState.actions[i % kActions].data());
        put(file, "\n");
    }
    put(file, "\nBacktrace\n");
    std::array<void*, kMostFrames> frames;
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), kMostFrames), file);
    ::close(file);
}

void crashed(int signal) {
    for (const int fatal : kFatalSignals) std::signal(fatal, SIG_DFL); // also for a fault in this handler
    writeReport(signal);
    ::raise(signal);
}

[[noreturn]] void terminated() {
    if (const std::exception_ptr current = std::current_exception()) {
        try {
            std::rethrow_exception(current);
        } catch (const std::exception& error) {
            assign(crashState.exception, error.what());
        } catch (...) {
            assign(crashState.exception, "of an unknown type");
        }
    }
    std::abort();
}

QByteArray reportHead() {
    return QStringLiteral("Tensor Workbench %1, built by %2\nQt %3, %4\nSystem: %5, %6 %7, %8\n")
        .arg(QCoreApplication::applicationVersion(), QStringLiteral("GCC " __VERSION__),
             QString::fromLatin1(qVersion()), QGuiApplication::platformName(), QSysInfo::prettyProductName(),
             QSysInfo::kernelType(), QSysInfo::kernelVersion(), QSysInfo::currentCpuArchitecture())
        .toUtf8();
}

} // namespace

void writeCrashReports(const QString& folder) {
    QDir().mkpath(folder);
    assign(crashState.path, QFile::encodeName(QDir(folder).absoluteFilePath(
                                QStringLiteral("crash-%1.txt").arg(QCoreApplication::applicationPid()))));
    assign(crashState.head, reportHead());
    std::array<void*, 1> frame;
    ::backtrace(frame.data(), 1); // loads its library, which a handler must not do

    stack_t stack{};
    stack.ss_sp = crashState.stack.data();
    stack.ss_size = crashState.stack.size();
    ::sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_handler = crashed;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (const int fatal : kFatalSignals) ::sigaction(fatal, &action, nullptr);
    std::set_terminate(terminated);
}

void rememberAction(const QString& text) {
    ActionText& slot = crashState.actions[crashState.actionCount % kActions];
    assign(slot, QStringLiteral("%1  %2")
                     .arg(QTime::currentTime().toString(QStringLiteral("HH:mm:ss")), text.simplified())
                     .toUtf8());
    ++crashState.actionCount;
}

std::vector<CrashReport> crashReports(const QString& folder) {
    std::vector<CrashReport> out;
    for (const QFileInfo& file : QDir(folder).entryInfoList({kReportFiles}, QDir::Files, QDir::Time)) {
        if (out.size() < kMostReports)
            out.push_back({file.absoluteFilePath(), file.lastModified()});
        else
            QFile::remove(file.absoluteFilePath());
    }
    return out;
}

QString textOf(const CrashReport& report) {
    QFile file(report.path);
    if (!file.open(QIODevice::ReadOnly)) return {};
    QString text = QString::fromUtf8(file.readAll());
    static const QRegularExpression mangled(QStringLiteral("_Z\\w+"));
    for (auto match = mangled.match(text); match.hasMatch();
         match = mangled.match(text, match.capturedEnd())) {
        const std::unique_ptr<char, decltype(&std::free)> name(
            abi::__cxa_demangle(match.captured().toLatin1().constData(), nullptr, nullptr, nullptr),
            &std::free);
        if (name) text.replace(match.capturedStart(), match.capturedLength(), QString::fromUtf8(name.get()));
    }
    return text;
}

void showCrashReport(const CrashReport& report, QWidget* parent) {
    QDialog dialog(parent);
    dialog.setObjectName(QStringLiteral("crashReport"));
    dialog.setWindowTitle(CrashReportWords::tr("Crash report"));
    dialog.resize(720, 480);
    auto* sentence =
        makeLabel(CrashReportWords::tr("This report is only on this computer, in %1. It names the "
                                       "last actions, which can contain names of nodes.")
                      .arg(QDir::toNativeSeparators(report.path)),
                  TextRole::body, QStringLiteral("secondary"));
    sentence->setWordWrap(true);
    auto* text = new QPlainTextEdit(textOf(report));
    text->setReadOnly(true);
    text->setFont(twb::font(TextRole::figure));
    text->setAccessibleName(CrashReportWords::tr("Crash report"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QPushButton* copy = buttons->addButton(CrashReportWords::tr("Copy"), QDialogButtonBox::ActionRole);
    QObject::connect(copy, &QPushButton::clicked, &dialog,
                     [text] { QGuiApplication::clipboard()->setText(text->toPlainText()); });
    QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    auto* layout = new QVBoxLayout(&dialog);
    layout->setContentsMargins(20, 20, 20, 16);
    layout->setSpacing(12);
    layout->addWidget(sentence);
    layout->addWidget(text, 1);
    layout->addWidget(buttons);
    dialog.exec();
}

} // namespace twb
