#pragma once

#include "widgets/training_run.h"

#include <QWidget>

#include <functional>

class QAction;
class QComboBox;
class QLabel;
class QListWidget;
class QPushButton;
class QScrollArea;
class QSpinBox;
class QStackedLayout;
class QStackedWidget;

namespace twb {

class ConfusionTable;
class FactRows;
class HeatScale;
class HeatTable;
class LossPlot;
class ParameterTable;

/// A training: the loss over its steps beside that of earlier runs, the gradients and updates of its
/// parameters, the confusion matrix of a classifier, its figures, and its controls.
class TrainingPanel : public QWidget {
    Q_OBJECT

public:
    TrainingPanel(Document& document, TrainingRun& training, QWidget* parent = nullptr);
    /// For the corner of the panel's tab.
    QWidget* controls() const noexcept { return m_controls; }

    /// The content of the current view: the steps of all runs with their losses and the figures of the epochs
    /// that they end, or one of the tables.
    QByteArray csv() const;
    /// The loss of the shown runs; the path's extension selects .png (at twice the size) or .svg. False if
    /// the file cannot be written.
    bool savePicture(const QString& path) const;

Q_SIGNALS:
    void learnRequested(); ///< "Add training…"
    void failed(const QString& title, const QString& sentence);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    enum View { LossView, ParameterView, ConfusionView, NoView };

    QWidget* makeControls();
    QWidget* makeSide();
    void toggle();
    View view() const;
    void refresh();
    void refreshControls();
    void refreshRuns();
    void refreshView();
    void refreshFacts();
    std::vector<bool> shownRuns() const;
    std::vector<const TrainingCourse*> runsOf(bool all) const;
    void exportWeights();
    void exportCsv();
    void exportPicture();
    /// Asks for a file and writes it; an Error is reported.
    void write(const QString& title, const QStringList& filters, const QString& suffix,
               const std::function<void(const QString& path)>& content);

    Document& m_document;
    TrainingRun& m_training;
    QStackedLayout* m_pages;
    LossPlot* m_plot;
    ParameterTable* m_parameters;
    ConfusionTable* m_confusion;
    QStackedWidget* m_left;
    QLabel* m_message; ///< why the current view is empty
    QListWidget* m_runs;
    HeatScale* m_scale;
    HeatScale* m_updateScale; ///< of the parameters' updates
    QLabel* m_cell;           ///< describes a cell of a table
    QLabel* m_caption;
    FactRows* m_facts;
    QScrollArea* m_side;
    QLabel* m_empty;
    QPushButton* m_learn;
    QSpinBox* m_epochs;
    QPushButton* m_go;
    QPushButton* m_stop;
    QComboBox* m_views;
    QPushButton* m_log;
    QComboBox* m_smoothing;
    QAction* m_weights = nullptr;
    QAction* m_clear = nullptr;
    QWidget* m_controls;
};

} // namespace twb
