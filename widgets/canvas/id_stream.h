#pragma once

#include "graph/ids.h"

#include <QDataStream>

namespace twb {

// Qt needs stream operators for all types in signals. Its generic operator for enumerations does not support
// the 64-bit integer type of the ids; these do.
inline QDataStream& operator<<(QDataStream& s, NodeId id) { return s << static_cast<quint64>(id); }
inline QDataStream& operator<<(QDataStream& s, LaneId id) { return s << static_cast<quint64>(id); }
inline QDataStream& operator<<(QDataStream& s, NoteId id) { return s << static_cast<quint64>(id); }

template <class Id> QDataStream& readId(QDataStream& s, Id& id) {
    quint64 number = 0;
    s >> number;
    id = Id(number);
    return s;
}
inline QDataStream& operator>>(QDataStream& s, NodeId& id) { return readId(s, id); }
inline QDataStream& operator>>(QDataStream& s, LaneId& id) { return readId(s, id); }
inline QDataStream& operator>>(QDataStream& s, NoteId& id) { return readId(s, id); }

} // namespace twb
