#pragma once

#include "core/shape.h"
#include "ops/op.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <set>
#include <string_view>

namespace twb {

/// How likely an op or composite is the next consumer of a tensor, from 0 to 100; `type` is empty if unknown.
/// Ops that are rare in real networks have 0.
int readerUsage(const QString& op, const std::optional<TensorType>& type);
/// The ops with a usage for some tensor.
std::set<std::string_view> rankedReaders();
/// How likely an op is the producer for an input.
int producerUsage(const QString& op);

/// The recently added ops, the latest first; stored in the settings.
QStringList recentOps();
void rememberOp(const QString& op);
/// The bonus of a recently added op: 60 for the latest, less for earlier ones, 0 for all others.
int recency(const QString& op, const QStringList& recent);

} // namespace twb
