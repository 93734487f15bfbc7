#include "profile/report_wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace twb {
namespace {

constexpr double kClear = 5; ///< px between a wire and a card
constexpr double kStub = 14; ///< px of straight wire before a turn
constexpr double kRound = 8; ///< radius of a turn, in px
constexpr int kCurveSteps = 24;
constexpr std::size_t kMostRows = 120; ///< maximum number of tries

struct Point {
    double x = 0;
    double y = 0;
};

bool isInside(const PictureCard& card, const Point& a, const Point& b) {
    return std::max(a.x, b.x) > card.x - kClear && std::min(a.x, b.x) < card.x + card.width + kClear &&
           std::max(a.y, b.y) > card.y - kClear && std::min(a.y, b.y) < card.y + card.height + kClear;
}

class Router {
public:
    Router(const std::vector<PictureCard>& cards, std::size_t from, std::size_t to)
        : m_from(&cards[from]),
          m_to(&cards[to]), m_start{m_from->x + m_from->width, m_from->y + m_from->height / 2},
          m_end{m_to->x, m_to->y + m_to->height / 2} {
        const double left = std::min(m_start.x, m_end.x) - 4 * kStub;
        const double right = std::max(m_start.x, m_end.x) + 4 * kStub;
        for (const PictureCard& card : cards)
            if (card.x < right && card.x + card.width > left) m_near.push_back(&card);
    }

    std::string path() const {
        if (isCurveFree()) return curve();
        // Turns may be at several distances from the ends, so that columns next to a card's column can be
        // used.
        constexpr std::array kStubs{kStub, 2 * kStub, 3 * kStub};
        for (const double row : rows())
            for (const double out : kStubs)
                for (const double in : kStubs) {
                    const std::array<Point, 4> turns{Point{m_start.x + out, m_start.y},
                                                     Point{m_start.x + out, row}, Point{m_end.x - in, row},
                                                     Point{m_end.x - in, m_end.y}};
                    if (isFree(turns)) return line(turns);
                }
        return curve();
    }

private:
    double bend() const { return std::max(30.0, std::abs(m_end.x - m_start.x) / 2); }

    std::string curve() const {
        return fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", m_start.x, m_start.y,
                           m_start.x + bend(), m_start.y, m_end.x - bend(), m_end.y, m_end.x, m_end.y);
    }

    bool isCurveFree() const {
        const auto at = [&](double t) {
            const double u = 1 - t;
            const auto mix = [&](double a, double b, double c, double d) {
                return u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c + t * t * t * d;
            };
            return Point{mix(m_start.x, m_start.x + bend(), m_end.x - bend(), m_end.x),
                         mix(m_start.y, m_start.y, m_end.y, m_end.y)};
        };
        for (int i = 0; i < kCurveSteps; ++i) {
            const Point a = at(double(i) / kCurveSteps);
            const Point b = at(double(i + 1) / kCurveSteps);
            for (const PictureCard* card : m_near)
                if (card != m_from && card != m_to && isInside(*card, a, b)) return false;
        }
        return m_end.x > m_start.x;
    }

    /// Heights at which a wire may run from left to right, the shortest path first: those of its ends, and
    /// just above and below each card.
    std::vector<double> rows() const {
        std::vector<double> out{m_start.y, m_end.y};
        for (const PictureCard* card : m_near) {
            out.push_back(card->y - 2 * kClear);
            out.push_back(card->y + card->height + 2 * kClear);
        }
        const auto detour = [this](double row) {
            return std::abs(row - m_start.y) + std::abs(row - m_end.y);
        };
        std::sort(out.begin(), out.end(),
                  [&](double a, double b) { return std::pair(detour(a), a) < std::pair(detour(b), b); });
        out.erase(std::unique(out.begin(), out.end()), out.end());
        if (out.size() > kMostRows) out.resize(kMostRows);
        return out;
    }

    static double distance(const Point& a, const Point& b) { return std::hypot(a.x - b.x, a.y - b.y); }

    bool isFree(const std::array<Point, 4>& turns) const {
        // A wire touches its own cards, but never runs behind them.
        return std::none_of(m_near.begin(), m_near.end(), [&](const PictureCard* card) {
            return (card != m_from && isInside(*card, m_start, turns[0])) ||
                   (card != m_to && isInside(*card, turns[3], m_end)) ||
                   isInside(*card, turns[0], turns[1]) || isInside(*card, turns[1], turns[2]) ||
                   isInside(*card, turns[2], turns[3]);
        });
    }

    /// Rounds the turns.
    std::string line(const std::array<Point, 4>& turns) const {
        std::string out = fmt::format("M{:.1f} {:.1f}", m_start.x, m_start.y);
        for (std::size_t i = 0; i < turns.size(); ++i) {
            const Point before = i == 0 ? m_start : turns[i - 1];
            const Point after = i + 1 == turns.size() ? m_end : turns[i + 1];
            const double radius =
                std::min({kRound, distance(before, turns[i]) / 2, distance(turns[i], after) / 2});
            const auto towards = [&](const Point& other) {
                const double length = distance(turns[i], other);
                const double part = length > 0 ? radius / length : 0;
                return Point{turns[i].x + (other.x - turns[i].x) * part,
                             turns[i].y + (other.y - turns[i].y) * part};
            };
            const Point in = towards(before);
            const Point away = towards(after);
            out += fmt::format("L{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}", in.x, in.y, turns[i].x,
                               turns[i].y, away.x, away.y);
        }
        return out + fmt::format("L{:.1f} {:.1f}", m_end.x, m_end.y);
    }

    const PictureCard* m_from;
    const PictureCard* m_to;
    std::vector<const PictureCard*> m_near; ///< cards that the wire could cross
    const Point m_start;
    const Point m_end;
};

} // namespace

std::string wirePath(const std::vector<PictureCard>& cards, std::size_t from, std::size_t to) {
    return Router(cards, from, to).path();
}

} // namespace twb
