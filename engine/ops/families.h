#pragma once

#include "ops/op.h"

#include <vector>

namespace twb {

/// Each function adds the ops of one family to the table. A family's file has the schema, inference, cost and
/// host kernel of its ops.
void addSources(std::vector<Op>& table);
void addRandomSources(std::vector<Op>& table);
void addGenerators(std::vector<Op>& table);
void addMovement(std::vector<Op>& table);
void addLinearAlgebra(std::vector<Op>& table);
void addActivations(std::vector<Op>& table);
void addSoftmax(std::vector<Op>& table);
void addPointwise(std::vector<Op>& table);
void addVariadic(std::vector<Op>& table);
void addMath(std::vector<Op>& table);
void addLogic(std::vector<Op>& table);
void addReductions(std::vector<Op>& table);
void addArgReductions(std::vector<Op>& table);
void addCumulative(std::vector<Op>& table);
void addDropout(std::vector<Op>& table);
void addLosses(std::vector<Op>& table);
void addEinsum(std::vector<Op>& table);
void addDeterminant(std::vector<Op>& table);
void addWindows(std::vector<Op>& table);
void addFourier(std::vector<Op>& table);
void addRandomLike(std::vector<Op>& table);
void addOptimizers(std::vector<Op>& table);
void addUpdates(std::vector<Op>& table);
void addBatches(std::vector<Op>& table);
void addQuantization(std::vector<Op>& table);
void addQuantizedMatMul(std::vector<Op>& table);
void addShapeOps(std::vector<Op>& table);
void addViewOps(std::vector<Op>& table);
void addSliceOps(std::vector<Op>& table);
void addPadOps(std::vector<Op>& table);
void addGatherOps(std::vector<Op>& table);
void addScatterOps(std::vector<Op>& table);
void addRearrangeOps(std::vector<Op>& table);
void addSelectionOps(std::vector<Op>& table);
void addOrderingOps(std::vector<Op>& table);
void addNonMaxSuppression(std::vector<Op>& table);
void addCast(std::vector<Op>& table);
void addConvolutions(std::vector<Op>& table);
void addCausalConvolution(std::vector<Op>& table);
void addPooling(std::vector<Op>& table);
void addRegionPooling(std::vector<Op>& table);
void addNormalizations(std::vector<Op>& table);
void addRowNormalizations(std::vector<Op>& table);
void addLocalResponse(std::vector<Op>& table);
void addRecurrent(std::vector<Op>& table);
void addAttention(std::vector<Op>& table);
void addLinearAttention(std::vector<Op>& table);
void addRotaryEmbedding(std::vector<Op>& table);
void addResize(std::vector<Op>& table);
void addSampling(std::vector<Op>& table);
void addFolding(std::vector<Op>& table);
void addNGrams(std::vector<Op>& table);
void addMlFeatures(std::vector<Op>& table);
void addMlEncoders(std::vector<Op>& table);
void addMlLinear(std::vector<Op>& table);
void addCollectives(std::vector<Op>& table);
void addControlFlow(std::vector<Op>& table);
void addOpaque(std::vector<Op>& table);
void addSinks(std::vector<Op>& table);

} // namespace twb
