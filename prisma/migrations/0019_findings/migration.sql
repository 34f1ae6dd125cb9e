-- What reading checkpoints back found stands in line for their buckets.
-- CreateTable
CREATE TABLE "FindingToKeep" (
    "key" TEXT NOT NULL PRIMARY KEY,
    "checkpointId" TEXT NOT NULL,
    "profileId" TEXT NOT NULL,
    "bucket" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL,
    CONSTRAINT "FindingToKeep_checkpointId_fkey" FOREIGN KEY ("checkpointId") REFERENCES "Checkpoint" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE INDEX "FindingToKeep_checkpointId_idx" ON "FindingToKeep"("checkpointId");
