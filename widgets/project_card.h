#pragma once

#include <QAbstractButton>
#include <QImage>

namespace twb {

/// A project as a picture with its name below, to be clicked.
class ProjectCard : public QAbstractButton {
    Q_OBJECT

public:
    static constexpr int kWidth = 224;

    explicit ProjectCard(const QString& path, QWidget* parent = nullptr);
    QString path() const { return m_path; }
    void setWords(const QString& title, const QString& detail);
    /// Null: there is none to be shown.
    void setPicture(const QImage& picture);
    void forgetPicture() { m_isDrawn = false; }
    bool isDrawn() const noexcept { return m_isDrawn; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QString m_path;
    QString m_detail;
    QImage m_picture;
    bool m_isDrawn = false;
};

} // namespace twb
