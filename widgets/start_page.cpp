#include "widgets/start_page.h"

#include "core/error.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "graph/arrange.h"
#include "placement/analysis.h"
#include "widgets/canvas/thumbnail.h"
#include "widgets/icon.h"
#include "widgets/labels.h"
#include "widgets/model_import.h"
#include "widgets/project_card.h"
#include "widgets/recent_files.h"
#include "widgets/text.h"

#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QKeyEvent>
#include <QPointer>
#include <QPushButton>
#include <QScrollArea>
#include <QTimer>
#include <QVBoxLayout>

#include <exception>
#include <optional>
#include <utility>

namespace twb {
namespace {

constexpr int kMargin = 32;
constexpr int kGap = 16;
constexpr int kMostColumns = 5; ///< more cards in a row would be hard to take in
constexpr int kMostRecent = kMostColumns;
constexpr qint64 kMostBytes = 1 << 20; ///< limit on projects for which a picture is drawn

/// What a card shows of a file.
struct CardContent {
    struct Project {
        Graph graph;
        DeviceMap devices;
        Analysis analysis;
    };
    std::optional<Project> project; ///< nothing: no picture is drawn of this file
    QString error;                  ///< why it cannot be read
};

CardContent readCard(const QString& file, const ProfileLibrary& profiles) {
    CardContent out;
    if (isModel(file) || QFileInfo(file).size() > kMostBytes) return out;
    try {
        const std::filesystem::path path(file.toStdU16String());
        Graph graph = loadProject(path);
        arrangeUnplaced(graph);
        DeviceMap devices = makeDeviceMap(graph, {}, profiles);
        Analysis analysis =
            analyze(graph, devices, graph.info().policy, makeProjectFiles(path.parent_path()).get());
        out.project = {std::move(graph), std::move(devices), std::move(analysis)};
    } catch (const std::exception& error) {
        out.error = toQt(error.what());
    }
    return out;
}

/// A heading with cards below it.
QWidget* section(const QString& heading, QGridLayout*& grid) {
    auto* box = new QWidget;
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(12);
    grid = new QGridLayout;
    grid->setSpacing(kGap);
    layout->addWidget(makeHeading(heading));
    layout->addLayout(grid);
    return box;
}

} // namespace

StartPage::StartPage(std::shared_ptr<const ProfileLibrary> profiles, QWidget* parent)
    : QFrame(parent), m_profiles(std::move(profiles)) {
    setObjectName(QStringLiteral("startPage"));
    setProperty("surface", QStringLiteral("window"));
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(tr("Start page"));
    setFocusPolicy(Qt::StrongFocus);

    auto* blank = new QPushButton(tr("New graph"));
    blank->setProperty("role", QStringLiteral("primary"));
    auto* open = new QPushButton(tr("Open…"));
    open->setObjectName(QStringLiteral("startOpen"));
    connect(blank, &QPushButton::clicked, this, &StartPage::newRequested);
    connect(open, &QPushButton::clicked, this, &StartPage::openRequested);
    auto* head = new QHBoxLayout;
    head->setSpacing(12);
    auto* words = new QVBoxLayout;
    words->setSpacing(4);
    words->addWidget(makeLabel(tr("Tensor Workbench"), TextRole::laneTitle));
    words->addWidget(makeLabel(tr("Which device holds each tensor, and what does each transfer cost?"),
                               TextRole::body, QStringLiteral("secondary")));
    head->addLayout(words, 1);
    head->addWidget(open);
    head->addWidget(blank);

    m_recentSection = section(tr("Recent"), m_recentGrid);
    QWidget* examples = section(tr("Examples and lessons"), m_exampleGrid);
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(kMargin, 28, kMargin, kMargin);
    layout->setSpacing(28);
    layout->addLayout(head);
    layout->addWidget(m_recentSection);
    layout->addWidget(examples);
    layout->addStretch(1);
    content->setMaximumWidth(kMostColumns * (ProjectCard::kWidth + kGap) - kGap + 2 * kMargin);
    auto* middle = new QWidget;
    auto* centred = new QHBoxLayout(middle);
    centred->setContentsMargins(0, 0, 0, 0);
    centred->addStretch(1);
    centred->addWidget(content, 100);
    centred->addStretch(1);
    auto* scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setWidget(middle);
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(scroll);
}

ProjectCard* StartPage::addCard(std::vector<ProjectCard*>& cards, const QString& path) {
    auto* card = new ProjectCard(path);
    cards.push_back(card);
    return card;
}

void StartPage::refill() {
    for (auto* cards : {&m_recent, &m_examples}) {
        for (ProjectCard* card : *cards) card->deleteLater();
        cards->clear();
    }
    for (const QString& path : recentFiles()) {
        if (int(m_recent.size()) == kMostRecent || !QFileInfo::exists(path)) continue;
        ProjectCard* card = addCard(m_recent, path);
        card->setWords(QFileInfo(path).fileName(), QDir::toNativeSeparators(QFileInfo(path).absolutePath()));
        connect(card, &ProjectCard::clicked, this, [this, path] { Q_EMIT fileChosen(path); });
    }
    try {
        for (const QString& path : exampleFiles()) {
            ProjectCard* card = addCard(m_examples, path);
            card->setWords(exampleTitle(path, {}), {});
            connect(card, &ProjectCard::clicked, this, [this, path] { Q_EMIT exampleChosen(path); });
        }
    } catch (const Error& error) {
        m_exampleGrid->parentWidget()->setToolTip(toQt(error.what()));
    }
    m_columns = 0;
    layOut();
    drawNext();
}

void StartPage::layOut() {
    const int columns =
        std::clamp((width() - 2 * kMargin + kGap) / (ProjectCard::kWidth + kGap), 1, kMostColumns);
    if (columns == m_columns) return;
    m_columns = columns;
    for (auto [grid, cards] : {std::pair(m_recentGrid, &m_recent), std::pair(m_exampleGrid, &m_examples)}) {
        for (std::size_t i = 0; i < cards->size(); ++i)
            grid->addWidget((*cards)[i], int(i) / columns, int(i) % columns, Qt::AlignLeft | Qt::AlignTop);
        for (int column = 0; column < grid->columnCount(); ++column) grid->setColumnStretch(column, 0);
        grid->setColumnStretch(columns, 1);
    }
    m_recentSection->setVisible(!m_recent.empty());
}

/// Reads the files of the cards one by one on another thread: their folders may be slow.
void StartPage::drawNext() {
    for (auto* cards : {&m_recent, &m_examples})
        for (ProjectCard* card : *cards) {
            if (card->isDrawn()) continue;
            const bool isExample = cards == &m_examples;
            m_reading.start(
                [path = card->path(), profiles = m_profiles] { return readCard(path, *profiles); },
                [this, isExample, card = QPointer<ProjectCard>(card)](const CardContent& content) {
                    if (!card) return;
                    QImage picture;
                    if (const auto& project = content.project) {
                        const GraphInfo& info = project->graph.info();
                        if (isExample && !info.title.empty())
                            card->setWords(exampleTitle(card->path(), toQt(info.title)),
                                           toQt(info.description));
                        picture = Thumbnail(project->graph, project->analysis, project->devices, 0)
                                      .small(ProjectCard::pictureSize(), card->devicePixelRatioF());
                    }
                    card->setPicture(picture);
                    if (!content.error.isEmpty()) card->setToolTip(content.error);
                    drawNext();
                });
            return;
        }
}

void StartPage::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape)
        Q_EMIT left();
    else
        QFrame::keyPressEvent(event);
}

void StartPage::resizeEvent(QResizeEvent* event) {
    QFrame::resizeEvent(event);
    layOut();
}

void StartPage::changeEvent(QEvent* event) {
    QFrame::changeEvent(event);
    if (event->type() != QEvent::PaletteChange) return;
    for (auto* cards : {&m_recent, &m_examples})
        for (ProjectCard* card : *cards) card->forgetPicture();
    QTimer::singleShot(0, this, &StartPage::drawNext);
}

} // namespace twb
