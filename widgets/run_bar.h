#pragma once

#include "widgets/document.h"
#include "widgets/run_controller.h"

#include <QWidget>

#include <functional>

class QComboBox;
class QHBoxLayout;
class QLabel;
class QMenu;
class QPushButton;
class QSpinBox;

namespace twb {

class ElidedLabel;

/// The bar on top: what is open, run and stop, how often, by which policy, and what stands behind each GPU.
class RunBar : public QWidget {
    Q_OBJECT

public:
    RunBar(Document& document, RunController& runs, QWidget* parent = nullptr);

    /// Room for the search field.
    void setTrailing(QWidget* widget);
    /// Of the bar with its labels and long names left out, as a narrow window has it.
    QSize minimumSizeHint() const override;
    std::int64_t iterations() const;
    void focusIterations();

Q_SIGNALS:
    void runRequested();
    void continuousRequested();
    void stepRequested(); ///< of a run that stands still; runRequested() is for it to go on
    void stopRequested();
    void iterationsChosen(std::int64_t iterations);
    void policyChosen(twb::Policy policy);
    void deviceChosen(const twb::DeviceChoice& choice);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void setIcons();
    void refresh();
    void refreshDevices();
    void refreshRun();
    void choosePolicy(Policy::Kind kind);
    void fit();
    void leaveOut(int brevity);

    Document& m_document;
    RunController& m_runs;
    QWidget* m_name; ///< the title, and whether it is edited
    ElidedLabel* m_title;
    QLabel* m_edited;
    QPushButton* m_run;
    QPushButton* m_continuous;
    QPushButton* m_step; ///< in its place while the run stands still
    QPushButton* m_stop;
    QLabel* m_iterationsLabel;
    QSpinBox* m_iterations;
    QLabel* m_policyLabel;
    QComboBox* m_policy;
    QHBoxLayout* m_devices;
    QHBoxLayout* m_layout;
};

/// What can stand behind `device`, for a menu: the real one and each profile, the present one checked.
void addDeviceChoices(QMenu& menu, const Document& document, Device device,
                      const std::function<void(const DeviceChoice&)>& choose);

} // namespace twb
