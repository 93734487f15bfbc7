#pragma once

#include <QAbstractButton>
#include <QImage>

namespace twb {

/// A clickable card of a project: a picture with its name below.
class ProjectCard : public QAbstractButton {
    Q_OBJECT

public:
    static constexpr int kWidth = 224;

    explicit ProjectCard(const QString& path, QWidget* parent = nullptr);
    static QSize pictureSize();
    QString path() const { return m_path; }
    void setWords(const QString& title, const QString& detail);
    /// A null image means that there is no picture.
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
