-- What links did: every probe and transfer, minutes of nodes packed by the shelf, histograms of hours and days.
-- DropTable
PRAGMA foreign_keys=off;
DROP TABLE "Sample";
PRAGMA foreign_keys=on;

-- CreateTable
CREATE TABLE "LinkRecord" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "at" DATETIME NOT NULL,
    "kind" TEXT NOT NULL,
    "subjectId" TEXT NOT NULL,
    "node" INTEGER NOT NULL,
    "seriesId" INTEGER NOT NULL,
    "run" TEXT,
    "outcome" TEXT NOT NULL,
    "fault" TEXT,
    "rttMs" REAL,
    "up" REAL,
    "down" REAL,
    "effective" REAL,
    "rampMs" REAL,
    "tookMs" REAL,
    "isSteady" BOOLEAN,
    "sizeBytes" BIGINT,
    "sentBytes" BIGINT,
    "parts" INTEGER,
    "partBytes" BIGINT,
    "connections" INTEGER,
    "retries" INTEGER,
    CONSTRAINT "LinkRecord_seriesId_fkey" FOREIGN KEY ("seriesId") REFERENCES "HistorySeries" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "HistorySeries" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "node" INTEGER NOT NULL,
    "profileId" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "bucketRegion" TEXT NOT NULL,
    "nodeRegion" TEXT NOT NULL,
    "engine" TEXT NOT NULL,
    "wholeId" INTEGER NOT NULL
);

-- CreateTable
CREATE TABLE "HistoryNode" (
    "number" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "nodeId" TEXT NOT NULL
);

-- CreateTable
CREATE TABLE "HistoryMinute" (
    "shelf" INTEGER NOT NULL,
    "minute" INTEGER NOT NULL,
    "body" BLOB NOT NULL,

    PRIMARY KEY ("shelf", "minute")
);

-- CreateTable
CREATE TABLE "FleetMinute" (
    "minute" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "upBytesPerSecond" REAL NOT NULL,
    "downBytesPerSecond" REAL NOT NULL,
    "atRiskBytes" REAL NOT NULL,
    "lossMs" REAL NOT NULL,
    "rttSumMs" REAL NOT NULL,
    "rttCount" INTEGER NOT NULL
);

-- CreateTable
CREATE TABLE "HistoryRoll" (
    "level" INTEGER NOT NULL,
    "shelf" INTEGER NOT NULL,
    "stretch" INTEGER NOT NULL,
    "body" BLOB NOT NULL,

    PRIMARY KEY ("level", "shelf", "stretch")
);

-- CreateTable
CREATE TABLE "HistoryMark" (
    "level" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "through" INTEGER NOT NULL
);

-- CreateTable
CREATE TABLE "RegionRule" (
    "position" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "kind" TEXT NOT NULL,
    "pattern" TEXT NOT NULL,
    "region" TEXT NOT NULL
);

-- CreateIndex
CREATE INDEX "LinkRecord_at_id_idx" ON "LinkRecord"("at", "id");

-- CreateIndex
CREATE INDEX "LinkRecord_node_at_id_idx" ON "LinkRecord"("node", "at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "HistorySeries_node_profileId_nodeRegion_engine_provider_bucketRegion_key" ON "HistorySeries"("node", "profileId", "nodeRegion", "engine", "provider", "bucketRegion");

-- CreateIndex
CREATE UNIQUE INDEX "HistoryNode_nodeId_key" ON "HistoryNode"("nodeId");

-- CreateIndex
CREATE INDEX "HistoryMinute_minute_idx" ON "HistoryMinute"("minute");

-- CreateIndex
CREATE INDEX "HistoryRoll_level_stretch_idx" ON "HistoryRoll"("level", "stretch");

-- History begins with what is known already.
INSERT INTO "HistoryNode" ("nodeId") SELECT "id" FROM "Node" ORDER BY "enrolledAt";
INSERT INTO "HistorySeries" ("node", "profileId", "provider", "bucketRegion", "nodeRegion", "engine", "wholeId")
SELECT 0, "id", "provider", "region", '', 'tidemark', 0 FROM "Profile";
INSERT INTO "HistorySeries" ("node", "profileId", "provider", "bucketRegion", "nodeRegion", "engine", "wholeId")
SELECT h."number", w."profileId", w."provider", w."bucketRegion", '', 'tidemark', w."id"
FROM "Node" n JOIN "HistoryNode" h ON h."nodeId" = n."id" JOIN "HistorySeries" w ON w."node" = 0 AND w."profileId" = n."profileId";
INSERT INTO "LinkRecord" ("at", "kind", "subjectId", "node", "seriesId", "run", "outcome", "fault", "effective", "tookMs", "sizeBytes", "sentBytes", "connections", "retries")
SELECT t."endedAt", t."direction", t."id", h."number", s."id", t."run", t."state", json_extract(t."fault", '$.code'),
  CASE WHEN t."state" = 'done' AND t."sentBytes" > 0 AND t."endedAt" > t."startedAt" THEN t."sentBytes" * 1000.0 / (t."endedAt" - t."startedAt") END,
  t."endedAt" - t."startedAt", t."bytesTotal", t."sentBytes", t."connections", t."retries"
FROM "Transfer" t JOIN "HistoryNode" h ON h."nodeId" = t."nodeId" JOIN "HistorySeries" s ON s."node" = h."number"
WHERE t."endedAt" IS NOT NULL AND (t."state" IN ('done', 'failed') OR (t."state" = 'cancelled' AND t."sentBytes" > 0))
ORDER BY t."endedAt";
INSERT INTO "LinkRecord" ("at", "kind", "subjectId", "node", "seriesId", "outcome", "rttMs", "up", "down", "tookMs")
SELECT q."at", 'probe', q."id", h."number", s."id", q."outcome", q."rttMs", q."up", q."down", q."tookMs"
FROM "Probe" q JOIN "HistoryNode" h ON h."nodeId" = q."nodeId" JOIN "HistorySeries" s ON s."node" = h."number" AND s."profileId" = q."profileId"
ORDER BY q."at";
