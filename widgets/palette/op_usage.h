#pragma once

#include "core/shape.h"
#include "ops/op.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <set>
#include <string_view>

namespace twb {

/// How likely an op or composite is to be the next reader of a tensor, from 0 to 100; `type` nothing: not
/// known. Ops that real networks hardly use have 0.
int readerUsage(const QString& op, const std::optional<TensorType>& type);
/// The ops that have a usage for some tensor.
std::set<std::string_view> rankedReaders();
/// How likely an op is to be what an input is given.
int producerUsage(const QString& op);

/// The ops that were added last, the latest first; kept in the settings.
QStringList recentOps();
void rememberOp(const QString& op);
/// What a recent choice adds to a usage: 60 for the latest, less for those before it, 0 for others.
int recency(const QString& op, const QStringList& recent);

} // namespace twb
