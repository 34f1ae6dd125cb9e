-- What nodes found out about their links, and when machines were given back for it.
-- CreateTable
CREATE TABLE "Probe" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "nodeId" TEXT NOT NULL,
    "machine" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "outcome" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "rttMs" REAL,
    "clockSkewMs" REAL,
    "up" REAL,
    "down" REAL,
    "leastUp" REAL,
    "leastDown" REAL,
    "attempts" INTEGER NOT NULL,
    "tookMs" REAL NOT NULL
);

-- CreateTable
CREATE TABLE "Reallocation" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "at" DATETIME NOT NULL,
    "nodeId" TEXT NOT NULL,
    "machine" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "isGranted" BOOLEAN NOT NULL,
    "reason" TEXT NOT NULL,
    "up" REAL,
    "down" REAL
);

-- CreateIndex
CREATE INDEX "Probe_profileId_at_idx" ON "Probe"("profileId", "at");

-- CreateIndex
CREATE INDEX "Probe_machine_profileId_at_idx" ON "Probe"("machine", "profileId", "at");

-- CreateIndex
CREATE INDEX "Probe_at_idx" ON "Probe"("at");

-- CreateIndex
CREATE INDEX "Reallocation_isGranted_at_idx" ON "Reallocation"("isGranted", "at");

-- CreateIndex
CREATE INDEX "Reallocation_machine_profileId_at_idx" ON "Reallocation"("machine", "profileId", "at");
