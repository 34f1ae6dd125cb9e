-- What reading a checkpoint back found, restores that wait for their turn, and how often they are rehearsed.
-- AlterTable
ALTER TABLE "Checkpoint" ADD COLUMN "damage" TEXT;
ALTER TABLE "Checkpoint" ADD COLUMN "damagedAt" DATETIME;
ALTER TABLE "Checkpoint" ADD COLUMN "verifiedAt" DATETIME;

-- AlterTable
ALTER TABLE "Profile" ADD COLUMN "restoresAtOnce" INTEGER;

-- CreateTable
CREATE TABLE "QueuedRestore" (
    "transferId" TEXT NOT NULL PRIMARY KEY,
    "requestId" TEXT NOT NULL,
    "batchId" TEXT NOT NULL,
    "nodeId" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "checkpointId" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "mayFallBack" BOOLEAN NOT NULL,
    "position" INTEGER NOT NULL,
    "createdAt" DATETIME NOT NULL,
    "releasedAt" DATETIME,
    CONSTRAINT "QueuedRestore_transferId_fkey" FOREIGN KEY ("transferId") REFERENCES "Transfer" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "DrillRule" (
    "run" TEXT NOT NULL PRIMARY KEY,
    "everyMs" BIGINT NOT NULL,
    "setAt" DATETIME NOT NULL,
    "setBy" TEXT NOT NULL
);

-- CreateIndex
CREATE UNIQUE INDEX "QueuedRestore_requestId_key" ON "QueuedRestore"("requestId");

-- CreateIndex
CREATE INDEX "QueuedRestore_releasedAt_createdAt_idx" ON "QueuedRestore"("releasedAt", "createdAt");

-- CreateIndex
CREATE INDEX "QueuedRestore_batchId_idx" ON "QueuedRestore"("batchId");

-- CreateIndex
CREATE INDEX "QueuedRestore_profileId_releasedAt_idx" ON "QueuedRestore"("profileId", "releasedAt");
