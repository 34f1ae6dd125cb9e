-- Engines compared on many nodes at once.
-- CreateTable
CREATE TABLE "ProfileBenchKey" (
    "profileId" TEXT NOT NULL PRIMARY KEY,
    "sealed" TEXT NOT NULL,
    "keyVersion" INTEGER NOT NULL DEFAULT 1,
    "accessKeyHint" TEXT,
    "hasGrant" BOOLEAN NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    CONSTRAINT "ProfileBenchKey_profileId_fkey" FOREIGN KEY ("profileId") REFERENCES "Profile" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Benchmark" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "settings" TEXT NOT NULL,
    "targets" TEXT NOT NULL,
    "perBucket" INTEGER NOT NULL,
    "seed" BIGINT NOT NULL,
    "actor" TEXT NOT NULL,
    "startedAt" DATETIME NOT NULL,
    "endedAt" DATETIME
);

-- CreateTable
CREATE TABLE "BenchTurn" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "benchmarkId" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "nodeId" TEXT NOT NULL,
    "nodeName" TEXT NOT NULL,
    "nodeRegion" TEXT,
    "profileId" TEXT NOT NULL,
    "profileName" TEXT NOT NULL,
    "storeRegion" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "commandId" TEXT,
    "rttMs" REAL,
    "engines" TEXT NOT NULL DEFAULT '[]',
    "fault" TEXT,
    "startedAt" DATETIME,
    "heardAt" DATETIME,
    "endedAt" DATETIME,
    "cleanAt" DATETIME,
    CONSTRAINT "BenchTurn_benchmarkId_fkey" FOREIGN KEY ("benchmarkId") REFERENCES "Benchmark" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "BenchCase" (
    "turnId" TEXT NOT NULL,
    "engine" TEXT NOT NULL,
    "direction" TEXT NOT NULL,
    "round" INTEGER NOT NULL,
    "bytes" BIGINT NOT NULL,
    "tookMs" REAL NOT NULL,
    "loadMs" REAL,
    "bytesPerSecond" REAL,
    "peakBytes" BIGINT,
    "fault" TEXT,
    "log" TEXT NOT NULL,
    "at" DATETIME NOT NULL,

    PRIMARY KEY ("turnId", "engine", "direction", "round"),
    CONSTRAINT "BenchCase_turnId_fkey" FOREIGN KEY ("turnId") REFERENCES "BenchTurn" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE INDEX "Benchmark_startedAt_id_idx" ON "Benchmark"("startedAt", "id");

-- CreateIndex
CREATE INDEX "Benchmark_state_idx" ON "Benchmark"("state");

-- CreateIndex
CREATE INDEX "BenchTurn_state_idx" ON "BenchTurn"("state");

-- CreateIndex
CREATE INDEX "BenchTurn_cleanAt_idx" ON "BenchTurn"("cleanAt");

-- CreateIndex
CREATE UNIQUE INDEX "BenchTurn_benchmarkId_nodeId_profileId_key" ON "BenchTurn"("benchmarkId", "nodeId", "profileId");
