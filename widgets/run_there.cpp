#include "widgets/run_there.h"

#include "formats/file_claims.h"
#include "formats/project.h"
#include "formats/remote_run.h"
#include "formats/tensor_archive.h"
#include "profile/run_events.h"
#include "widgets/document.h"
#include "widgets/run_controller.h"
#include "widgets/text.h"

#include <QFileInfo>
#include <QTemporaryDir>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <mutex>
#include <utility>

namespace twb {
namespace {

constexpr int kEventsMs = 33;

/// A folder with the project as it is now, and with links to the files that it reads.
std::shared_ptr<const QTemporaryDir> snapshotOf(const Document& document, std::string& file) {
    namespace fs = std::filesystem;
    auto folder = std::make_shared<const QTemporaryDir>();
    if (!folder->isValid()) // its path is empty, so the project would be written to the current folder
        throw Error(ErrorCode::io, RunThere::tr("Cannot create a temporary folder for the project: %1. Free "
                                                "some disk space, or make the folder writable.")
                                       .arg(folder->errorString())
                                       .toStdString());
    const fs::path to = folder->path().toStdString();
    QString name = QFileInfo(document.path()).fileName();
    if (name.isEmpty()) name = QStringLiteral("graph.twb");
    file = (to / name.toStdString()).string();
    saveProject(document.graph(), file);
    for (const GraphFile& named : filesNamedBy(document.graph())) {
        const fs::path path = fs::path(splitTensorPath(named.path).file).lexically_normal();
        if (path.is_absolute() || *path.begin() == "..") continue; // refused when it starts
        std::error_code ignored; // a missing file is reported when it is copied, or is yet to be written
        fs::create_directories((to / path).parent_path(), ignored);
        fs::create_symlink(fs::path(document.folder().toStdString()) / path, to / path, ignored);
    }
    return folder;
}

/// The last message of `twb`, without the program's name.
QString lastMessage(const std::string& messages) {
    const QStringList lines = toQt(messages).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    for (auto line = lines.crbegin(); line != lines.crend(); ++line)
        if (line->startsWith(QLatin1String("twb: "))) return line->mid(5);
    return lines.isEmpty() ? QString() : lines.last();
}

/// Of a run that has ended.
QString messageOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const LostConnection&) {
        return RunThere::tr("the connection was lost");
    } catch (const std::exception& other) {
        return toQt(other.what());
    }
}

} // namespace

/// Between the thread that talks to the other machine and the window.
class RunThere::Shared final : public RemoteObserver {
public:
    RemoteRun run;
    QString host;
    std::shared_ptr<const QTemporaryDir> folder;

    struct News {
        std::vector<std::string> remarks;
        std::vector<StepRecord> records;
        std::shared_ptr<const Plan> plan;
        std::vector<LiveRank> ranks; ///< as they are now
        std::int64_t iterations = 0; ///< of the whole run
        std::int64_t done = 0;
        bool hasEnded = false;
    };
    News take() {
        const std::lock_guard lock(m_mutex);
        return {
            std::exchange(m_remarks, {}), m_streamed.takeRecords(), m_streamed.plan(), m_streamed.liveRanks(),
            m_streamed.iterations(),      m_streamed.done(),        m_hasEnded};
    }

    void ask(RemoteWish wish) {
        const std::lock_guard lock(m_mutex);
        m_wish = wish;
        m_asked.notify_all();
    }
    RemoteWish wish(int waitMs) override {
        std::unique_lock lock(m_mutex);
        m_asked.wait_for(lock, std::chrono::milliseconds(waitMs),
                         [this] { return m_wish != RemoteWish::goOn; });
        if (m_wish == RemoteWish::leave) return m_wish;
        return std::exchange(m_wish, RemoteWish::goOn);
    }
    void remark(const std::string& sentence) override {
        const std::lock_guard lock(m_mutex);
        m_remarks.push_back(sentence);
    }
    void events(std::string_view bytes) override {
        m_rest += bytes;
        std::size_t begin = 0;
        for (std::size_t end = m_rest.find('\n'); end != std::string::npos; end = m_rest.find('\n', begin)) {
            const std::lock_guard lock(m_mutex);
            m_streamed.read(std::string_view(m_rest).substr(begin, end - begin));
            begin = end + 1;
        }
        m_rest.erase(0, begin);
    }

    void work() {
        std::exception_ptr error;
        try {
            m_end = runRemotely(run, *this);
        } catch (...) {
            error = std::current_exception();
        }
        const std::lock_guard lock(m_mutex);
        m_error = error;
        m_hasEnded = true;
    }

    // After the end.
    const StreamedRun& streamed() const { return m_streamed; }
    const RemoteEnd& end() const { return m_end; }
    const std::exception_ptr& error() const { return m_error; }

private:
    std::mutex m_mutex;
    std::condition_variable m_asked;
    RemoteWish m_wish = RemoteWish::goOn;
    std::vector<std::string> m_remarks;
    StreamedRun m_streamed;
    std::string m_rest; ///< an incomplete line; of the thread
    RemoteEnd m_end;
    std::exception_ptr m_error;
    bool m_hasEnded = false;
};

RunThere::RunThere(Document& document, RunController& runs, QObject* parent)
    : QObject(parent), m_document(document), m_runs(runs) {
    m_timer.setInterval(kEventsMs);
    connect(&m_timer, &QTimer::timeout, this, &RunThere::take);
    connect(&m_runs, &RunController::leaveRequested, this, [this] {
        if (isActive()) m_shared->ask(RemoteWish::stop);
    });
    connect(&m_runs, &RunController::detachRequested, this, &RunThere::detach);
    connect(&m_document, &Document::reset, this, &RunThere::leave);
}

RunThere::~RunThere() { leave(); }

void RunThere::leave() {
    if (!isActive()) return;
    m_timer.stop();
    m_shared->ask(RemoteWish::leave);
    m_thread.join();
    m_shared.reset();
}

void RunThere::detach() {
    if (!isActive()) return;
    const QString host = m_shared->host;
    leave();
    RunResult result;
    result.status = RunStatus::cancelled;
    m_runs.endFollowing(std::move(result),
                        tr("Run %1 continues on %2").arg(QString::number(m_runs.runNumber()), host));
}

void RunThere::start(const QString& on, const QString& program, std::int64_t iterations, int ranks) {
    if (m_runs.isRunning() || !m_runs.mayStart()) return;
    auto shared = std::make_shared<Shared>();
    shared->run.on = on.toStdString();
    shared->run.program = program.toStdString();
    shared->host = toQt(remoteHost(shared->run.on));
    shared->run.hasEvents = true;
    shared->run.ranks = ranks;
    shared->folder = snapshotOf(m_document, shared->run.file);
    shared->run.graph = m_document.graph();
    shared->run.results = m_document.folder().toStdString();
    shared->run.arguments = {"--iterations", std::to_string(iterations)};
    if (m_runs.allowsTf32()) shared->run.arguments.emplace_back("--allow-tf32");
    if (m_runs.timesEachOp()) shared->run.arguments.emplace_back("--no-fusion");
    m_hasPlan = false;
    m_shared = std::move(shared);
    m_runs.awaitRun(m_shared->host, tr("Copying %1 to %2").arg(m_document.title(), m_shared->host),
                    iterations);
    m_thread = std::thread([shared = m_shared] { shared->work(); });
    m_timer.start();
}

void RunThere::take() {
    Shared::News news = m_shared->take();
    const QString host = m_shared->host;
    for (const std::string& remark : news.remarks) m_runs.say(toQt(remark));
    const auto sentence = [&] {
        return tr("Run %1 on %2: %3 of %4 iterations")
            .arg(QString::number(m_runs.runNumber()), host, grouped(news.done), grouped(m_runs.total()));
    };
    if (news.plan && !m_hasPlan) {
        m_hasPlan = true;
        m_runs.follow(news.plan, sentence(), news.iterations);
    }
    if (!news.records.empty() || (m_hasPlan && (news.done != m_runs.done() || news.ranks != m_runs.ranks())))
        m_runs.addFollowed(news.records, news.done, sentence(), news.ranks);
    if (news.hasEnded) finish();
}

void RunThere::finish() {
    m_timer.stop();
    m_thread.join();
    const std::shared_ptr<Shared> shared = std::exchange(m_shared, nullptr);
    if (const std::uint64_t leftOut = shared->streamed().leftOut())
        m_runs.say(tr("The run was long: %1 step times are missing.").arg(grouped(qint64(leftOut))));
    if (const std::optional<RunResult>& result = shared->streamed().result()) {
        // The run has ended, so a later failure to tidy up does not change its result.
        if (shared->error())
            m_runs.say(
                tr("Run %1 has ended, but its files on %2 may not have been deleted: %3")
                    .arg(QString::number(m_runs.runNumber()), shared->host, messageOf(shared->error())));
        RunResult end = *result;
        if (shared->end().isCancelled) { // a rank fails if another one was stopped before it
            end.status = RunStatus::cancelled;
            end.errors.clear();
        }
        return m_runs.endFollowing(std::move(end), {}, shared->streamed().probes(),
                                   shared->streamed().ranks());
    }
    // There is no result: the reason is an error of the connection, or what the program there said.
    RunResult result;
    result.status = shared->end().isCancelled ? RunStatus::cancelled : RunStatus::failed;
    QString title = tr("Cannot run on %1").arg(shared->host);
    QString sentence = lastMessage(shared->end().messages);
    if (sentence.isEmpty())
        sentence = tr("The run on %1 ended without a result. Run the graph there again.").arg(shared->host);
    try {
        if (shared->error()) std::rethrow_exception(shared->error());
    } catch (const LostConnection&) {
        title = tr("Connection to %1 lost").arg(shared->host);
        sentence = tr("The run continues on %1. To see its results, run the unchanged graph there again "
                      "with the same number of iterations.")
                       .arg(shared->host);
    } catch (const Error& error) {
        sentence = toQt(error.what());
        if (error.code() == ErrorCode::cancelled) result.status = RunStatus::cancelled;
    } catch (const std::exception& error) {
        sentence = toQt(error.what());
    }
    const bool isCancelled = result.status == RunStatus::cancelled;
    QString end = QStringLiteral("%1: %2").arg(title, sentence);
    if (isCancelled) // a launcher kills the ranks, which then write no result
        end = m_hasPlan ? tr("Run %1 on %2 cancelled after %3 of %4 iterations")
                              .arg(QString::number(m_runs.runNumber()), shared->host, grouped(m_runs.done()),
                                   grouped(m_runs.total()))
                        : QString();
    m_runs.endFollowing(std::move(result), end);
    if (!isCancelled) Q_EMIT failed(title, sentence);
}

} // namespace twb
