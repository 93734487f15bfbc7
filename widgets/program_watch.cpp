#include "widgets/program_watch.h"

#include "core/error.h"
#include "widgets/document.h"
#include "widgets/run_controller.h"
#include "widgets/text.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>

#include <unistd.h>

namespace twb {
namespace {

constexpr int kFrameMs = 33;
constexpr qsizetype kLongestLine = 1 << 20;

} // namespace

QString watchFolder() {
    const QString runtime = qEnvironmentVariable("XDG_RUNTIME_DIR");
    return runtime.isEmpty() ? QStringLiteral("/tmp/tensor-workbench-%1").arg(getuid())
                             : runtime + QStringLiteral("/tensor-workbench");
}

std::vector<WatchableProgram> watchablePrograms(const QString& folder) {
    std::vector<WatchableProgram> out;
    if (QFileInfo(folder).exists() && QFileInfo(folder).ownerId() != getuid()) return out;
    static const QRegularExpression name(QStringLiteral("^watch-([1-9][0-9]{0,9})\\.sock$"));
    const QStringList entries =
        QDir(folder).entryList({QStringLiteral("watch-*.sock")}, QDir::System | QDir::Hidden);
    for (const QString& entry : entries) {
        const QRegularExpressionMatch match = name.match(entry);
        if (!match.hasMatch()) continue;
        WatchableProgram program;
        program.socket = QDir(folder).filePath(entry);
        program.process = match.captured(1).toLongLong();
        QFile commandLine(QStringLiteral("/proc/%1/cmdline").arg(program.process));
        if (!commandLine.open(QIODevice::ReadOnly)) continue; // the process has ended
        program.commandLine = QString::fromLocal8Bit(commandLine.readAll().replace('\0', ' ')).trimmed();
        out.push_back(std::move(program));
    }
    std::sort(out.begin(), out.end(),
              [](const WatchableProgram& a, const WatchableProgram& b) { return a.process < b.process; });
    return out;
}

ProgramWatch::ProgramWatch(Document& document, RunController& runs, QObject* parent)
    : QObject(parent), m_document(document), m_runs(runs) {
    m_timer.setInterval(kFrameMs);
    connect(&m_timer, &QTimer::timeout, this, &ProgramWatch::readSocket);
    connect(&m_socket, &QLocalSocket::errorOccurred, this, [this](QLocalSocket::LocalSocketError error) {
        if (!isActive() || error == QLocalSocket::PeerClosedError) return;
        const QString reason = m_socket.errorString();
        stop();
        Q_EMIT failed(tr("Cannot watch the program: %1").arg(reason));
    });
    connect(&m_runs, &RunController::leaveRequested, this, [this] {
        if (m_isShown) end(tr("Stopped watching. The watched program keeps running."));
    });
    connect(&m_document, &Document::reset, this, [this] {
        if (m_isShown) stop();
    });
}

void ProgramWatch::start(const WatchableProgram& program) {
    if (isActive()) end(tr("Stopped watching. The watched program keeps running."));
    m_program.emplace();
    m_isShown = false;
    m_revision = m_document.revision();
    m_rest.clear();
    m_socket.connectToServer(program.socket, QIODevice::ReadOnly);
    m_timer.start();
}

void ProgramWatch::readSocket() {
    if (!isActive() || (m_mayChange && !m_mayChange())) return;
    const bool hasClosed = m_socket.state() == QLocalSocket::UnconnectedState;
    const QByteArray received = m_socket.readAll();
    if (received.isEmpty() && !hasClosed) return;
    m_rest += received;
    try {
        qsizetype begin = 0;
        for (qsizetype end = m_rest.indexOf('\n'); end >= 0; end = m_rest.indexOf('\n', begin)) {
            m_program->read(std::string_view(m_rest.constData() + begin, std::size_t(end - begin)));
            begin = end + 1;
        }
        m_rest.remove(0, begin);
        if (m_rest.size() > kLongestLine)
            throw Error(ErrorCode::badFile,
                        tr("The watched program sent a line of more than 1 MiB.").toStdString());
        if (m_program->hasStarted()) show();
    } catch (const std::exception& error) {
        const QString reason = toQt(error.what());
        end(reason);
        Q_EMIT failed(reason);
        return;
    }
    if (!isActive() || (!hasClosed && !m_program->hasEnded())) return;
    const QString steps =
        m_program->step() == 1 ? tr("1 step") : tr("%1 steps").arg(grouped(m_program->step()));
    end(m_program->hasEnded() ? tr("%1 ended after %2").arg(scriptName(), steps)
                              : tr("%1 closed its connection after %2").arg(scriptName(), steps));
}

/// Updates document and run. The graph grows with the lines that were met; the figures then start anew with
/// all records.
void ProgramWatch::show() {
    if (!m_isShown) {
        if (m_runs.isRunning() || m_document.revision() != m_revision || (m_mayReplace && !m_mayReplace()))
            throw Error(ErrorCode::invalidArgument,
                        tr("The graph was edited, or a run was started, before %1 answered. Choose Watch a "
                           "process again.")
                            .arg(scriptName())
                            .toStdString());
        const QFileInfo script(toQt(m_program->script()));
        m_document.import(Graph(),
                          script.absoluteDir().filePath(script.completeBaseName() + QStringLiteral(".twb")),
                          std::make_shared<const QTemporaryDir>());
        m_runs.follow(m_program->plan(m_document.devices()), sentence());
        m_isShown = true;
    }
    if (!m_program->hasGrown()) {
        m_runs.addFollowed(m_program->takeRecords(), m_program->steps(), sentence());
        return;
    }
    m_document.apply(m_program->grow(m_document.graph()));
    m_runs.follow(m_program->plan(m_document.devices()), sentence());
    m_program->takeRecords();
    m_runs.addFollowed(m_program->records(), m_program->steps(), sentence());
    Q_EMIT grown();
}

QString ProgramWatch::scriptName() const { return QFileInfo(toQt(m_program->script())).fileName(); }

QString ProgramWatch::sentence() const {
    QString text = tr("Watching %1 (process %2): step %3")
                       .arg(scriptName(), QString::number(m_program->process()), grouped(m_program->step()));
    if (m_program->lost()) text += tr(", %1 events lost").arg(grouped(qint64(m_program->lost())));
    return text;
}

void ProgramWatch::end(const QString& sentence) {
    if (!isActive()) return;
    RunResult result;
    result.wallNs = result.clockNs = m_program->clockNs();
    const bool isShown = m_isShown; // else the run, if there is one, is another's
    stop();
    if (isShown) m_runs.endFollowing(std::move(result), sentence);
}

void ProgramWatch::stop() {
    m_timer.stop();
    m_program.reset();
    m_isShown = false;
    m_socket.abort();
}

} // namespace twb
