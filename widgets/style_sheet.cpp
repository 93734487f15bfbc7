#include "widgets/style_sheet.h"

namespace twb {
namespace {

/// `@name` stands for a token, `@name-NN` for a token at NN percent opacity.
const char* const kSheet = R"(
QMainWindow, QDialog, QMessageBox { background: @window; }
QWidget { color: @text; }
QMessageBox QLabel#qt_msgbox_label { font-weight: 600; }
QMessageBox QLabel#qt_msgbox_informativelabel { min-width: 320px; color: @secondary; }
QToolTip { background: @raised; color: @text; border: 1px solid @border; padding: 4px 8px; }

QMainWindow::separator { background: @border; width: 1px; height: 1px; }
QMainWindow::separator:hover { background: @accent; }
QSplitter::handle { background: @border; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QSplitter::handle:hover { background: @accent; }

QMenuBar { background: @panel; border-bottom: 1px solid @border; padding: 0 8px; }
QMenuBar::item { background: transparent; padding: 5px 8px; border-radius: 4px; color: @secondary; }
QMenuBar::item:selected, QMenuBar::item:pressed { background: @raised-hover; color: @text; }
QMenu { background: @raised; border: 1px solid @border; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 28px; border-radius: 4px; }
QMenu::item:selected { background: @accent-22; }
QMenu::item:disabled { color: @disabled; }
QMenu::separator { height: 1px; background: @border; margin: 4px 8px; }
QMenu::indicator { width: 16px; height: 16px; left: 6px; }
QMenu::indicator:checked { image: url(:/twb/icons/@theme/menu-check.svg); }
QMenu::right-arrow { image: url(:/twb/icons/@theme/chevron-right.svg); width: 16px; height: 16px; right: 4px; }
QMenu::icon { left: 6px; }

QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QPushButton, QToolButton[role="button"] {
    background: @raised; border: 1px solid @border; border-radius: 6px; padding: 4px 12px; min-height: 18px;
}
QPushButton:hover, QToolButton[role="button"]:hover { background: @raised-hover; }
QPushButton:pressed, QToolButton[role="button"]:pressed { background: @border; }
QPushButton:focus, QToolButton[role="button"]:focus { border-color: @accent; }
QPushButton:disabled, QToolButton[role="button"]:disabled { color: @disabled; }
QPushButton[role="primary"], QPushButton:default { background: @accent; border-color: @accent; color: @onAccent; font-weight: 600; }
QPushButton[role="primary"]:hover, QPushButton:default:hover { background: @accent-hover; border-color: @accent-hover; }
QPushButton[role="primary"]:disabled, QPushButton:default:disabled { background: @accent-40; border-color: transparent; color: @onAccent; }
QPushButton[role="primary"]:focus { border-color: @text; }
QPushButton[role="link"] { background: transparent; border: none; color: @accent; padding: 0 4px; }
QPushButton[role="link"]:hover { color: @text; }
QPushButton[role="link"]:disabled { color: @disabled; }
QPushButton[role="fix"] { background: @raised; border: 1px solid @border; padding: 4px 8px; color: @accent; font-weight: 600; text-align: left; }
QPushButton[role="fix"]:hover { border-color: @accent; background: @accent-12; }
QPushButton[role="fix"]:focus { border-color: @accent; }
QPushButton[role="fix"]:disabled { color: @disabled; }
QPushButton[role="compact"] { padding: 1px 10px; min-height: 16px; }
QToolButton { background: transparent; border: 1px solid transparent; border-radius: 6px; padding: 3px; }
QToolButton:hover { background: @raised-hover; }
QToolButton:pressed, QToolButton:checked { background: @accent-22; }
QToolButton:focus { border-color: @accent; }
QToolButton::menu-indicator { image: none; }
QPushButton[role="segment"] {
    background: transparent; border: none; border-radius: 10px; padding: 2px 12px; min-height: 16px; color: @secondary;
}
QPushButton[role="segment"]::menu-indicator { image: none; width: 0; }
QPushButton[role="segment"]:hover { color: @text; background: @raised-hover; }
QPushButton[role="segment"]:checked { background: @accent-22; color: @accent; font-weight: 600; }
QPushButton[role="segment"]:disabled { color: @disabled; }
QPushButton[role="segment"]:focus { border: 1px solid @accent; padding: 1px 11px; }

QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox, QPlainTextEdit, QTextEdit {
    background: @field; border: 1px solid @border; border-radius: 6px; padding: 3px 8px; min-height: 18px;
    selection-background-color: @accent; selection-color: @onAccent;
}
QSpinBox[role="compact"], QComboBox[role="compact"] { padding: 1px 8px; min-height: 16px; }
QLineEdit:hover, QSpinBox:hover, QDoubleSpinBox:hover, QComboBox:hover { border-color: @border-strong; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus, QPlainTextEdit:focus { border-color: @accent; }
QLineEdit[invalid="true"], QSpinBox[invalid="true"] { border-color: @error; }
QLineEdit:disabled, QSpinBox:disabled, QComboBox:disabled { color: @disabled; }
QLineEdit[role="pill"] { border-radius: 13px; }
QFrame[role="popup"] { background: @raised; border: 1px solid @border-strong; }
QFrame[role="popup"] QListView { background: transparent; }
QListView[role="popup"] { background: @raised; border: 1px solid @border; border-radius: 0; padding: 0; }
QListView[role="lines"] { padding: 6px 4px; }
QPushButton[role="menu"] { padding-right: 28px; }
QPushButton::menu-indicator { image: url(:/twb/icons/@theme/chevron-down.svg); subcontrol-origin: border; subcontrol-position: right center; width: 16px; height: 16px; right: 6px; }
QPlainTextEdit[role="log"] { background: transparent; border: none; padding: 0; }
QLineEdit[role="name"] { background: transparent; border-color: transparent; padding: 2px 4px; margin-left: -5px; }
QLineEdit[role="name"]:hover { border-color: @border; }
QLineEdit[role="name"]:focus { background: @field; border-color: @accent; }
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button, QDoubleSpinBox::down-button {
    width: 16px; border: none; background: transparent; subcontrol-origin: border; margin-right: 2px;
}
QSpinBox::up-button, QDoubleSpinBox::up-button { subcontrol-position: top right; margin-top: 2px; }
QSpinBox::down-button, QDoubleSpinBox::down-button { subcontrol-position: bottom right; margin-bottom: 2px; }
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow { image: url(:/twb/icons/@theme/chevron-up.svg); width: 10px; height: 10px; }
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow { image: url(:/twb/icons/@theme/chevron-down.svg); width: 10px; height: 10px; }
QComboBox { padding-right: 4px; }
QComboBox::drop-down { border: none; width: 24px; subcontrol-position: right center; }
QComboBox::down-arrow { image: url(:/twb/icons/@theme/chevron-down.svg); width: 16px; height: 16px; }
QComboBox QAbstractItemView { background: @raised; border: 1px solid @border; padding: 4px; outline: none; selection-background-color: @accent-22; selection-color: @text; }
QComboBox QAbstractItemView::item { min-height: 24px; padding: 0 8px; border-radius: 4px; }

QCheckBox { spacing: 8px; }
QCheckBox::indicator, QTableView::indicator, QListView::indicator, QTreeView::indicator { width: 14px; height: 14px; border: 1px solid @border-strong; border-radius: 4px; background: @field; }
QCheckBox::indicator:hover, QTableView::indicator:hover, QListView::indicator:hover, QTreeView::indicator:hover { border-color: @accent; }
QCheckBox::indicator:checked, QTableView::indicator:checked, QListView::indicator:checked, QTreeView::indicator:checked { background: @accent; border-color: @accent; image: url(:/twb/icons/@theme/check.svg); }
QCheckBox:focus { color: @accent; }

QScrollBar { background: transparent; border: none; margin: 0; }
QScrollBar:vertical { width: 10px; }
QScrollBar:horizontal { height: 10px; }
QScrollBar::handle { background: @scroll; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: @disabled; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea { background: transparent; }
QAbstractScrollArea::corner { background: transparent; }

QTreeView, QListView, QTableView { background: @panel; border: none; outline: none; selection-background-color: @accent-18; selection-color: @text; }
QTreeView::item, QListView::item { min-height: 22px; border-radius: 4px; }
QTableView { gridline-color: transparent; alternate-background-color: @panel; }
QTableView::item { padding: 0 5px; border: none; }
#shortcutList::item { padding: 0 5px; }
QUndoView { padding: 8px; }
QUndoView::item { padding: 0 8px; }
QTreeView::item:hover, QListView::item:hover, QTableView::item:hover { background: @raised-hover; }
QTreeView::item:selected, QListView::item:selected, QTableView::item:selected { background: @accent-18; color: @text; }
QTreeView::branch { background: transparent; border-image: none; image: none; }
QHeaderView { background: @panel; border: none; }
QHeaderView::section { background: @panel; color: @secondary; border: none; border-bottom: 1px solid @border; padding: 4px 8px; font-size: 11px; font-weight: 600; }
QTableCornerButton::section { background: @panel; border: none; }

QTabWidget::pane { border: none; }
QTabBar { background: transparent; qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: @secondary; padding: 7px 4px 6px 4px; margin: 0 6px; border: none; border-bottom: 2px solid transparent; }
QTabBar::tab:hover { color: @text; }
QTabBar::tab:selected { color: @text; border-bottom-color: @accent; }
QTabBar::tab:focus { color: @accent; }

QStatusBar { background: @panel; border-top: 1px solid @border; }
QStatusBar::item { border: none; }
QProgressBar { background: @field; border: none; border-radius: 2px; max-height: 4px; min-height: 4px; text-align: center; }
QProgressBar::chunk { background: @accent; border-radius: 2px; }

QLabel { background: transparent; }
QLabel[role="secondary"] { color: @secondary; }
QLabel[role="caps"] { color: @secondary; }
QLabel[role="error"] { color: @error; }
QLabel[role="warning"] { color: @warning; }
QLabel[role="link"] { color: @accent; }
QWidget[surface="panel"] { background: @panel; }
QWidget[surface="window"] { background: @window; }
QFrame[role="line"] { background: @border; border: none; max-height: 1px; min-height: 1px; }
QFrame[role="vline"] { background: @border; border: none; max-width: 1px; min-width: 1px; }
QFrame[role="notice"] { background: @warning-wash; border: none; border-bottom: 1px solid @border; border-left: 3px solid @warning; }
QKeySequenceEdit QLineEdit { min-width: 160px; }
QFrame[role="problem"] { border: none; border-radius: 0 8px 8px 0; }
QFrame[role="problem"][severity="error"] { background: @error-wash; border-left: 3px solid @error; border-top-right-radius: 8px; border-bottom-right-radius: 8px; }
QFrame[role="problem"][severity="warning"] { background: @warning-wash; border-left: 3px solid @warning; border-top-right-radius: 8px; border-bottom-right-radius: 8px; }
QFrame[role="problem"][severity="note"] { background: @accent-12; border-left: 3px solid @accent; border-top-right-radius: 8px; border-bottom-right-radius: 8px; }
QLabel[role="badge"] { background: @error; color: @badge-text; border-radius: 8px; padding: 1px 6px; font-weight: 600; }
QLabel[role="badge"][severity="warning"] { background: @warning; }
QLabel[role="badge"][severity="note"] { background: @accent; }
QLabel[role="modelled"] { background: @warning-18; color: @warning-ink; border-radius: 8px; padding: 2px 8px; font-weight: 600; }
)";

QString opaque(const QColor& color) { return color.name(QColor::HexRgb); }

QString rgba(const QColor& color, int percent) {
    return QStringLiteral("rgba(%1,%2,%3,%4%)")
        .arg(color.red())
        .arg(color.green())
        .arg(color.blue())
        .arg(percent);
}

} // namespace

QString styleSheet(const Theme& theme) {
    const QColor hover = theme.isDark ? theme.raised.lighter(118) : theme.window;
    const QColor field = theme.canvas;
    const QColor strongBorder = theme.isDark ? theme.border.lighter(140) : theme.border.darker(116);
    const QColor accentHover = theme.isDark ? theme.accent.lighter(108) : theme.accent.darker(112);
    const QColor scroll = theme.isDark ? theme.border.lighter(115) : theme.border;

    // Longer names first, so that "@accent" does not match the beginning of "@accent-22".
    const std::pair<const char*, QString> tokens[] = {
        {"@accent-hover", opaque(accentHover)},
        {"@accent-12", rgba(theme.accent, theme.isDark ? 10 : 8)},
        {"@accent-18", rgba(theme.accent, theme.isDark ? 18 : 13)},
        {"@accent-22", rgba(theme.accent, theme.isDark ? 22 : 16)},
        {"@accent-40", rgba(theme.accent, 40)},
        {"@raised-hover", opaque(hover)},
        {"@border-strong", opaque(strongBorder)},
        {"@error-wash", rgba(theme.error, theme.isDark ? 13 : 8)},
        {"@warning-wash", rgba(theme.warning, theme.isDark ? 11 : 9)},
        {"@warning-ink", opaque(theme.warningInk())},
        {"@warning-18", rgba(theme.warning, theme.isDark ? 22 : 16)},
        {"@badge-text", opaque(theme.isDark ? theme.window : theme.panel)},
        {"@onAccent", opaque(theme.onAccent)},
        {"@accent", opaque(theme.accent)},
        {"@window", opaque(theme.window)},
        {"@panel", opaque(theme.panel)},
        {"@raised", opaque(theme.raised)},
        {"@border", opaque(theme.border)},
        {"@field", opaque(field)},
        {"@scroll", opaque(scroll)},
        {"@secondary", opaque(theme.secondaryText)},
        {"@disabled", opaque(theme.disabledText)},
        {"@error", opaque(theme.error)},
        {"@warning", opaque(theme.warning)},
        {"@text", opaque(theme.text)},
        {"@theme", theme.isDark ? QStringLiteral("dark") : QStringLiteral("light")},
    };
    QString sheet = QString::fromUtf8(kSheet);
    for (const auto& [name, value] : tokens) sheet.replace(QLatin1String(name), value);
    return sheet;
}

} // namespace twb
