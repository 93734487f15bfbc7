#include "core/error.h"
#include "formats/project.h"
#include "widgets/ask_for_path.h"
#include "widgets/panels/export_plot.h"
#include "widgets/panels/ledger_csv.h"
#include "widgets/panels/ledger_view.h"
#include "widgets/panels/transfers_panel.h"
#include "widgets/text.h"

#include <QAction>
#include <QActionGroup>
#include <QButtonGroup>
#include <QDir>
#include <QFileInfo>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>

namespace twb {

void TransfersPanel::fillMenu(QMenu& menu, const AddAction& add) {
    m_menuButton->setMenu(&menu);
    auto* units = new QActionGroup(&menu);
    const std::pair<QString, QString> names[] = {
        {tr("Time of each transfer"), QStringLiteral("Alt+Shift+1")},
        {tr("Rate of each transfer"), QStringLiteral("Alt+Shift+2")},
        {tr("Average bytes per second"), QStringLiteral("Alt+Shift+3")},
        {tr("Share of the iteration"), QStringLiteral("Alt+Shift+4")},
        {tr("Cumulative time"), QStringLiteral("Alt+Shift+5")}};
    for (int i = 0; i < 5; ++i) {
        QAction* action = add(menu, names[i].first, QKeySequence(names[i].second),
                              [this, i] { setUnit(TransferPlot::Unit(i)); });
        action->setCheckable(true);
        action->setChecked(i == 0);
        units->addAction(action);
        connect(m_units, &QButtonGroup::idToggled, action, [action, i](int id, bool on) {
            if (id == i && on) action->setChecked(true);
        });
    }
    menu.addSeparator();
    const auto addSwitch = [&](const QString& text, const QString& shortcut,
                               const std::function<void(bool)>& set) {
        QAction* action = add(menu, text, QKeySequence(shortcut), [] {});
        action->setCheckable(true);
        connect(action, &QAction::toggled, this, set);
        return action;
    };
    addSwitch(tr("&Logarithmic scale"), QStringLiteral("Alt+Shift+L"),
              [this](bool on) { m_plot->setLogarithmic(on); });
    addSwitch(tr("&Pause the plot"), QStringLiteral("Alt+Shift+P"),
              [this](bool on) { m_plot->setPaused(on); });
    QAction* follow = add(menu, tr("&Follow the run"), QKeySequence(QStringLiteral("Alt+Shift+F")),
                          [this] { m_plot->follow(); });
    follow->setEnabled(!m_plot->isFollowing());
    connect(m_plot, &TransferPlot::followingChanged, follow, [follow](bool on) { follow->setEnabled(!on); });
    fillCurvesMenu(*menu.addMenu(tr("&Curves")), add);
    menu.addSeparator();
    QAction* whole =
        addSwitch(tr("&Whole ledger"), QStringLiteral("Alt+Shift+T"), [this](bool on) { setWhole(on); });
    connect(m_wholeSwitch, &QPushButton::toggled, whole, &QAction::setChecked);
    add(menu, tr("Fi&lter the ledger"), QKeySequence(QStringLiteral("Alt+Shift+R")), [this] {
        setWhole(true);
        m_filter->setFocus(Qt::ShortcutFocusReason);
    });
    add(menu, tr("Most expensive &transfers first"), QKeySequence(QStringLiteral("Alt+Shift+M")), [this] {
        setWhole(true);
        m_table->sortByColumn(LedgerModel::TotalColumn, Qt::DescendingOrder);
        m_table->setFocus(Qt::ShortcutFocusReason);
    });
    menu.addSeparator();
    add(menu, tr("Export pict&ure…"), QKeySequence(QStringLiteral("Alt+Shift+E")),
        [this] { exportPicture(); });
    add(menu, tr("Export C&SV…"), QKeySequence(QStringLiteral("Alt+Shift+C")), [this] { exportCsv(); });
    add(menu, tr("E&xport ledger as CSV…"), QKeySequence(QStringLiteral("Alt+Shift+S")),
        [this] { exportLedger(); });
}

void TransfersPanel::fillCurvesMenu(QMenu& menu, const AddAction& add) {
    auto* group = new QActionGroup(&menu);
    const auto addRule = [&](const QString& text, const QString& shortcut, const std::function<void()>& set,
                             const std::function<bool()>& isSet) {
        QAction* action = add(menu, text, QKeySequence(shortcut), [this, set] {
            set();
            refreshNow();
        });
        action->setCheckable(true);
        group->addAction(action);
        connect(&menu, &QMenu::aboutToShow, action, [=] { action->setChecked(isSet()); });
    };
    group->setExclusionPolicy(QActionGroup::ExclusionPolicy::ExclusiveOptional);
    const auto addMost = [&](const QString& text, const QString& shortcut, std::size_t count) {
        addRule(
            text, shortcut, [this, count] { m_choice.showMost(count); },
            [this, count] { return m_choice.rule() == CurveChoice::Rule::most && m_choice.most() == count; });
    };
    addMost(tr("The 3 most expensive"), QStringLiteral("Alt+Shift+6"), 3);
    addMost(tr("The 10 most expensive"), QStringLiteral("Alt+Shift+7"), 10);
    addMost(tr("The 30 most expensive"), QStringLiteral("Alt+Shift+8"), 30);
    addMost(tr("All, up to %1").arg(CurveChoice::kMostCurves), QStringLiteral("Alt+Shift+9"),
            CurveChoice::kMostCurves);
    addRule(
        tr("Selected transfers"), QStringLiteral("Alt+Shift+0"), [this] { m_choice.showSelected(); },
        [this] { return m_choice.rule() == CurveChoice::Rule::selected; });
    menu.addSeparator();
    add(menu, tr("Show or hide the curve"), QKeySequence(QStringLiteral("Alt+Shift+H")), [this] {
        if (m_table->currentRow() >= 0) toggleCurve(m_table->currentRow());
    });
}

QString TransfersPanel::askForFile(const QString& title, const QString& what, const QStringList& filters) {
    const QString name = QFileInfo(m_document.title()).completeBaseName() + QLatin1Char(' ') + what;
    const QString path = askForPath(this, title, QDir(m_document.folder()).filePath(name), filters);
    try {
        if (!path.isEmpty()) m_document.checkTarget(path);
        return path;
    } catch (const Error& error) {
        Q_EMIT failed(title, toQt(error.what()));
        return {};
    }
}

bool TransfersPanel::hasRun(const QString& title) {
    if (m_runs.figures()) return true;
    Q_EMIT failed(title, tr("Nothing to export yet. Run the graph first."));
    return false;
}

void TransfersPanel::exportPicture() {
    const QString ask = tr("Export the transfer plot");
    if (!hasRun(ask)) return;
    const QString path =
        askForFile(ask, tr("transfers"), {tr("PNG image (*.png)"), tr("SVG drawing (*.svg)")});
    if (path.isEmpty()) return;
    chooseCurves();
    const QString title = tr("Transfers of %1").arg(m_document.title());
    if (!exportPlot(*m_plot, title, path))
        Q_EMIT failed(
            tr("Cannot write the picture"),
            tr("Cannot write %1. Choose a writable folder and a name that ends in .png or .svg.").arg(path));
}

void TransfersPanel::exportCsv() {
    const QString ask = tr("Export the transfers");
    if (hasRun(ask)) exportTable(ask, tr("transfers"), [this] { return toCsv(*m_runs.figures()->series()); });
}

void TransfersPanel::exportLedger() {
    exportTable(tr("Export the ledger"), tr("ledger"), [this] {
        m_model->refresh(); // a hidden ledger is not updated
        return toCsv(*m_model, *m_rows);
    });
}

void TransfersPanel::exportTable(const QString& title, const QString& what,
                                 const std::function<std::string()>& table) {
    const QString path = askForFile(title, what, {tr("Table (*.csv)")});
    if (path.isEmpty()) return;
    try {
        writeFileAtomically(path.toStdString(), table());
    } catch (const Error& error) {
        Q_EMIT failed(tr("Cannot write the table"), QString::fromUtf8(error.what()));
    }
}

} // namespace twb
