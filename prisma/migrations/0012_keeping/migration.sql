-- What is said about keeping checkpoints, and the policies by which they go.
-- CreateTable
CREATE TABLE "KeepRecord" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "run" TEXT NOT NULL,
    "checkpointId" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "by" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "ends" TEXT NOT NULL,
    "endedById" TEXT,
    "until" DATETIME,
    "removingAt" DATETIME,
    "fault" TEXT,
    "tryAt" DATETIME
);

-- CreateTable
CREATE TABLE "KeepPolicy" (
    "run" TEXT NOT NULL PRIMARY KEY,
    "body" TEXT,
    "version" INTEGER NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    "updatedBy" TEXT NOT NULL
);

-- CreateIndex
CREATE INDEX "KeepRecord_run_kind_idx" ON "KeepRecord"("run", "kind");

-- CreateIndex
CREATE INDEX "KeepRecord_checkpointId_idx" ON "KeepRecord"("checkpointId");

-- CreateIndex
CREATE INDEX "KeepRecord_kind_endedById_until_idx" ON "KeepRecord"("kind", "endedById", "until");
