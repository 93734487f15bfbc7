#pragma once

#include "widgets/training_run.h"

#include <QWidget>

#include <functional>

class QAction;
class QLabel;
class QPushButton;
class QSpinBox;
class QStackedLayout;

namespace twb {

class FactRows;
class LossPlot;

/// The loss of a training over its steps, its figures, and its controls.
class TrainingPanel : public QWidget {
    Q_OBJECT

public:
    TrainingPanel(Document& document, TrainingRun& training, QWidget* parent = nullptr);
    /// For the corner of the panel's tab.
    QWidget* controls() const noexcept { return m_controls; }

    /// The steps with their losses, and the figures of the epochs that they end.
    QByteArray csv() const;
    /// As PNG, at twice the size. False if the file cannot be written.
    bool savePicture(const QString& path) const;

Q_SIGNALS:
    void learnRequested(); ///< "Make it learn"
    void failed(const QString& title, const QString& sentence);

protected:
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    QWidget* makeControls();
    void toggle();
    void refresh();
    void refreshControls();
    void refreshFacts();
    void exportWeights();
    void exportCsv();
    void exportPicture();
    /// Asks for a file and writes it; an Error is reported.
    void write(const QString& title, const QString& filter, const QString& suffix,
               const std::function<void(const QString& path)>& content);

    Document& m_document;
    TrainingRun& m_training;
    QStackedLayout* m_pages;
    LossPlot* m_plot;
    FactRows* m_facts;
    QLabel* m_empty;
    QPushButton* m_learn;
    QSpinBox* m_epochs;
    QPushButton* m_go;
    QPushButton* m_stop;
    QPushButton* m_log;
    QAction* m_weights = nullptr;
    QWidget* m_controls;
};

} // namespace twb
