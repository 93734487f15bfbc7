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

/// The toolbar: the title, run and stop, the number of iterations, the policy, and the hardware of each GPU.
class RunBar : public QWidget {
    Q_OBJECT

public:
    RunBar(Document& document, RunController& runs, QWidget* parent = nullptr);

    /// Space for the search field.
    void setTrailing(QWidget* widget);
    /// The minimum width of the bar with labels and long names hidden, as in a narrow window.
    QSize minimumSizeHint() const override;
    std::int64_t iterations() const;
    void focusIterations();
    /// Lists the hardware anew, after a profile was kept.
    void refreshDevices();

Q_SIGNALS:
    void runRequested();
    void continuousRequested();
    void stepRequested(); ///< of a stopped run; runRequested() then continues it
    void stopRequested();
    void iterationsChosen(std::int64_t iterations);
    void policyChosen(twb::Policy policy);
    void deviceChosen(const twb::DeviceChoice& choice);
    void thereRequested(); ///< a run on another machine
    void ranksRequested(); ///< a prediction for several ranks

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void setIcons();
    void refresh();
    void refreshRun();
    void choosePolicy(Policy::Kind kind);
    void fit();
    void fitIterations();
    void leaveOut(int brevity);

    Document& m_document;
    RunController& m_runs;
    QWidget* m_name; ///< the title, and whether it is modified
    ElidedLabel* m_title;
    QLabel* m_edited;
    QPushButton* m_run;
    QPushButton* m_continuous;
    QPushButton* m_step; ///< replaces it while the run is stopped
    QPushButton* m_stop;
    QLabel* m_iterationsLabel;
    QSpinBox* m_iterations;
    QLabel* m_policyLabel;
    QComboBox* m_policy;
    QHBoxLayout* m_devices;
    QHBoxLayout* m_layout;
};

/// The hardware choices for `device`, for a menu: the real one and each profile, with the current one
/// checked.
void addDeviceChoices(QMenu& menu, const Document& document, Device device,
                      const std::function<void(const DeviceChoice&)>& choose);

} // namespace twb
